from typing import final

from pyrjsel._typing import FloatArray

@final
class StudentCdf:
    df: float
    def __init__(self, df: float) -> None: ...
    def cdf(self, t: FloatArray) -> FloatArray: ...

def log_cosh(x: FloatArray) -> FloatArray: ...
