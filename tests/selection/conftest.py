"""Makes the helper modules of this folder importable by its tests, under importlib mode too."""

import importlib.util
import sys
from pathlib import Path

# In the order in which they import one another.
for _name in ("state_files", "selection_oracle", "selection_cases", "selection_checks", "selection_world"):
    if _name not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_name, Path(__file__).parent / f"{_name}.py")
        _module = importlib.util.module_from_spec(_spec)
        sys.modules[_name] = _module
        _spec.loader.exec_module(_module)
