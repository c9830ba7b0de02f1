"""Log-likelihoods with Student-t errors given sigma, in one pass over pairs of points."""

import numpy as np
import pytest
from scipy import stats

from pyrjsel.families.student import Student


@pytest.mark.parametrize(
    ("n", "outlier"), [(1, 0.0), (7, 0.0), (8, 3.0), (300, 1e3), (300, 1e25), (1000, 1e120)]
)
@pytest.mark.parametrize("df", [0.7, 4])
def test_values_of_pairs(n, outlier, df):
    """Many factors have one logarithm, unless residuals are so large that their product overflows."""
    rng = np.random.default_rng(n)
    y, eta, image = rng.normal(size=(3, n))
    y[n // 2] += outlier
    t, radius = np.array([0.3, -0.4, 1.0, 0.3]), np.array([1.3, 0.2])
    family = Student(df=df)
    found = family.joint_pairs(y, np.ones(n), eta, np.stack([image, -2.0 * image]), radius, t)
    steps = [1.3 * image, -1.3 * image, -0.4 * image, 0.4 * image]
    for value, at, step in zip(found, t, steps, strict=True):
        want = stats.t.logpdf(y, df, eta + step, np.exp(at)).sum() + np.log(2.0)
        assert value == pytest.approx(want, rel=1e-12, abs=1e-12)
        if outlier < 1e50:
            there = family.joint(y, np.ones(n), eta + step, at)[0]
            assert value == pytest.approx(there + np.log(2.0), rel=1e-12, abs=1e-12)


def test_arrays_that_do_not_fit_are_refused():
    family, y = Student(), np.zeros(5)
    for images, t in (((1, 4), 2), ((2, 5), 2), ((1, 5), 3)):
        with pytest.raises(ValueError, match="do not fit"):
            family.joint_pairs(y, np.ones(5), y, np.zeros(images), np.zeros(1), np.zeros(t))
