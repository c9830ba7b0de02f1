from typing import Final, final

@final
class Passes:
    quadratic: bool

LOGIT: Final[Passes]
LOG: Final[Passes]
NORMAL: Final[Passes]
