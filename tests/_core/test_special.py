"""Functions beside those of scipy."""

import numpy as np
import scipy

from pyrjsel._core import special


def test_log_beta_where_subnormal_numbers_are_flushed(monkeypatch):
    """There scipy's function is -inf near 170, whose reciprocal gamma functions are subnormal."""
    a = np.array([0.4, 3.6, 2.0, 171.5, 1e6, 1e-3])
    b = np.array([171.2, 168.0, 169.6, 5.5e-3, 1e8, 40.0])
    want = scipy.special.betaln(a, b)
    np.testing.assert_array_equal(special.log_beta(a, b), want)
    flushed = np.maximum(a, b) < 200
    monkeypatch.setattr(scipy.special, "betaln", lambda a, b: np.where(flushed, -np.inf, want))
    # Logarithms of gamma functions of numbers below 200 are below 900, with errors of 2e-13.
    np.testing.assert_allclose(special.log_beta(a, b), want, atol=1e-12)
