from typing import final

from pyrjsel.model_space._space import Space

@final
class Trades:
    def __init__(self, space: Space) -> None: ...
