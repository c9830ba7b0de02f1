"""Makes the helper module of this folder importable by its tests, under importlib mode too."""

import importlib.util
import sys
from pathlib import Path

if "exact_sums" not in sys.modules:
    _spec = importlib.util.spec_from_file_location("exact_sums", Path(__file__).parent / "exact_sums.py")
    sys.modules["exact_sums"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["exact_sums"])
