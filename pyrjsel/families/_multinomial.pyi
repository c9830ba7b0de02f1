from typing import Final

from pyrjsel.families._family import Passes

MULTINOMIAL: Final[Passes]
