"""Coverage of the intervals of the regression function, on many data sets of the article's sinc curve."""

import numpy as np
import pytest

import pyrjsel as rj

SETS = 200


@pytest.mark.statistical
@pytest.mark.parametrize("options", [{}, {"sampler": "mcmc", "draws": 500, "chains": 2}])
@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_intervals_of_the_mean_cover(options):
    """The share of points of the curve in 95 % intervals, over 200 data sets.

    It need not be 0.95, since the curve is none of the prior's. 0.945 is expected, with a standard error of
    0.005: a share below 0.93 has a chance of 1e-3 at other seeds, and these are fixed.
    """
    x = np.linspace(-10.0, 10.0, 50)
    new = np.linspace(-10.0, 10.0, 200)
    curve = np.sinc(new / np.pi)
    shares = []
    for seed in range(SETS):
        y = np.sinc(x / np.pi) + 0.1 * np.random.default_rng(seed).standard_normal(50)
        model = rj.KernelRegression(y, x[:, None], width=1.6, mean_kernels=5.0, standardize=False)
        results = model.fit(rng=seed, progress=False, n_jobs=1, **options)
        frame = results.get_prediction(new[:, None]).summary_frame()
        inside = (frame["mean_ci_lower"] <= curve) & (curve <= frame["mean_ci_upper"])
        shares.append(inside.mean())
    error = np.std(shares, ddof=1) / np.sqrt(SETS)
    print(f"coverage {np.mean(shares):.3f} ({error:.3f})")
    assert 0.93 <= np.mean(shares) < 0.98
