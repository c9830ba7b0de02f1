from typing import Final

from pyrjsel.families._family import Passes

COX: Final[Passes]
