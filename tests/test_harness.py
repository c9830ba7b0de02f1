"""The strict harness itself: what it must catch, it catches."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

BAD_TESTS = {
    "numpy's global state": "import numpy as np\ndef test():\n    np.random.random()\n",
    "numpy's global seed": "import numpy as np\ndef test():\n    np.random.seed(1)\n",
    "the global state of `random`": "import random\ndef test():\n    random.random()\n",
    "an open figure": "import matplotlib.pyplot as plt\ndef test():\n    plt.figure()\n",
    "a warning": "import warnings\ndef test():\n    warnings.warn('unexpected')\n",
    "a marker nobody declared": "import pytest\n@pytest.mark.slowly\ndef test():\n    pass\n",
    "an empty parametrisation": "import pytest\n@pytest.mark.parametrize('x', [])\ndef test(x):\n    pass\n",
    "an expected failure that passes": "import pytest\n@pytest.mark.xfail\ndef test():\n    pass\n",
}
GOOD_TEST = """
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

def test():
    assert np.random.default_rng(1).random() < 1
    assert matplotlib.get_backend().lower() == "agg"
    plt.close(plt.figure())

@pytest.mark.statistical
def test_deselected():
    raise AssertionError
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The short summary of one run of all these files under the project's settings."""
    folder = tmp_path_factory.mktemp("harness")
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copy(ROOT / "tests" / "conftest.py", folder / "tests")
    for number, text in enumerate([*BAD_TESTS.values(), GOOD_TEST]):
        (folder / "tests" / f"test_{number}.py").write_text(text)
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "-rA"]
    command.append("--continue-on-collection-errors")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("number", range(len(BAD_TESTS)), ids=BAD_TESTS)
def test_the_harness_refuses(number, report):
    assert re.search(rf"^(FAILED|ERROR) tests/test_{number}\.py\b", report, re.M)


def test_the_harness_allows(report):
    good = rf"tests/test_{len(BAD_TESTS)}\.py"
    assert re.search(rf"^PASSED {good}::test$", report, re.M)
    assert not re.search(rf"^(FAILED|ERROR) {good}", report, re.M)
    assert " 1 deselected" in report.splitlines()[-1]
