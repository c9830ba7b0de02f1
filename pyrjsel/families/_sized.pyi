from typing import Final

from pyrjsel.families._family import JointPass

NEGBIN: Final[JointPass]
GAMMA: Final[JointPass]
