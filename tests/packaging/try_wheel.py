"""Install a wheel where there is no compiler, fit one model of each kind, and print its size and import time.

Run by ``make wheel`` as ``python tests/packaging/try_wheel.py dist/pyrjsel-....whl``.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROUNDS = 5
IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
BELOW = "numpy, pandas, scipy.linalg, statsmodels.iolib.summary"

FITS = """
import warnings
warnings.simplefilter("error")
import numpy as np
import pandas as pd
import pyrjsel as rj

warnings.simplefilter("ignore", rj.ConvergenceWarning)  # runs are short
births = rj.datasets.birthwt().data
hald = rj.datasets.hald().data
rows = pd.DataFrame({"x": np.linspace(-3, 3, 40)})
rows["y"] = np.sinc(rows["x"]) + 0.1 * np.random.default_rng(1).normal(size=40)
fits = [
    rj.linear("y ~ .", hald).fit(),
    rj.logit("low ~ age + smoke", births).fit(rng=1),
    rj.logit("low ~ age + smoke", births).fit(sampler="population", draws=50, rng=1),
    rj.pattern_logit("low ~ interactions(smoke, ht, order=2)", births).fit(draws=100, rng=1),
    rj.kernel_regression("y ~ x", rows).fit(particles=100, rng=1),
    rj.mixture_classifier("low ~ age + lwt", births).fit(draws=100, chains=1, rng=1),
]
for fit in fits:
    assert str(fit.summary()), fit
print(rj.__file__)
"""


def main(wheel: Path) -> None:
    """Try one wheel in an environment of its own, whose PATH holds no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "env"
        venv.create(place, with_pip=True)
        python = str(place / "bin" / "python")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        alone = kept | {"PATH": str(place / "bin"), "CC": "false"}

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [python, *arguments], cwd=folder, env=alone, stdout=subprocess.PIPE, text=True, check=True
            )
            return done.stdout.strip()

        def seconds(modules: str) -> float:
            return min(float(run("-c", IMPORT.format(modules))) for _ in range(ROUNDS))

        run("-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel.resolve()))
        installed = Path(run("-c", FITS).splitlines()[-1]).parent
        if not installed.is_relative_to(place):
            raise SystemExit(f"the fits ran with {installed}, not with the wheel")
        size = sum(path.stat().st_size for path in installed.rglob("*") if path.suffix != ".pyc")
        own, below = seconds("pyrjsel"), seconds(BELOW)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, installed {size / 1e6:.1f} MB")
    print(f"import: {own:.2f} s, {own / below:.2f} times that of {BELOW}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
