"""Fits beside others: chains and enumeration, and fits and what their files give back."""

import numpy as np
import pandas as pd

import pyrjsel as rj


def inclusion_z(found, exact):
    """Differences of inclusion probabilities over the Monte Carlo errors of both."""
    error = np.hypot(found.posterior.inclusion_mcse, exact.posterior.inclusion_mcse)
    return np.abs((found.posterior.inclusion - exact.posterior.inclusion) / error)


def assert_long_chains_agree(found, exact):
    """Inclusion by z < 6 (2e-9 a comparison, by the normal law), and moments of coefficients.

    Moments of tens of thousands of draws are to be within a twentieth of a standard deviation.
    """
    assert inclusion_z(found, exact).max() < 6
    for name in ("mean", "sd"):
        near = found.coefficients[name] - exact.coefficients[name]
        assert np.abs(near / exact.coefficients["sd"]).max() < 0.05


def assert_saved_alike(fit, frame, path):
    """Tables, predictions and summaries of a file of `fit`, with the data and without."""
    fit.save(path)
    for loaded in (rj.load(path), rj.load(path, data=frame)):
        pd.testing.assert_frame_equal(loaded.coefficients, fit.coefficients)
        if fit.model.regression.nuisance.names:
            pd.testing.assert_frame_equal(loaded.nuisance, fit.nuisance)
        one, other = (each.get_prediction(frame.head(2)).summary_frame() for each in (loaded, fit))
        pd.testing.assert_frame_equal(one, other)
        assert type(loaded.model) is type(fit.model)
        assert loaded.model._family == fit.model._family
        assert str(loaded.summary()) == str(fit.summary())
