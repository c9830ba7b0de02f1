from typing import Final

from pyrjsel.families._family import JointPass, Passes

STUDENT: Final[Passes]
STUDENT_JOINT: Final[JointPass]
