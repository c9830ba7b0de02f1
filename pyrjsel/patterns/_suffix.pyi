from pyrjsel._typing import IntArray
from pyrjsel.patterns.features import CaseArray, CodeArray

def suffix_groups(
    codes: CodeArray, order: int
) -> tuple[IntArray, CaseArray, CaseArray, CaseArray, CaseArray]: ...
