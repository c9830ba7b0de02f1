"""Runs that stop by themselves and the errors of integrals, which more draws do not lower."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.report.mixing import SHARE, inclusion_figures
from pyrjsel.selection.samplers.collapsed import sampler as walk_posterior

TEXT = (
    r"The MCSE of the inclusion of x\d( \(and of \d other terms?\))? is [\d.]+, above [\d.]+: the errors of"
)


def model(n=40, seed=0, prior=None):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    data = pd.DataFrame(x).add_prefix("x")
    data["y"] = (0.7 * x[:, 0] + rng.logistic(size=n) > 0).astype(int)
    return rj.logit("y ~ x0 + x1 + x2 + x3", data, coef_prior=prior or rj.Normal(1.0))


def fit(model, **options):
    """Return results and the texts of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = model.fit(**{"sampler": "collapsed", "rng": 1, "progress": False, **options})
    return results, [str(warning.message) for warning in caught]


def test_figures():
    """Draws make up for small integration errors; large ones are left to a warning."""
    free, names = np.ones(4, dtype=np.uint8), ["a", "b", "c", "d"]
    mcse = np.array([0.0045, 0.0045, 0.0045, 0.006])
    other = np.array([0.001, 0.003, 0.0045, 0.02])
    found = inclusion_figures(mcse, free, names, 1000, 0.005, other)
    assert [figure.text for figure in found] == [
        "the MCSE of the inclusion of b is 0.0054, above 0.005",
        "the MCSE of the inclusion of d is 0.006, above 0.005",
    ]
    # After so many times the draws the whole is what was asked for.
    for figure, j, kept in ((found[0], 1, 0.003), (found[1], 3, 0.0)):
        assert np.hypot(mcse[j] / np.sqrt(figure.needed), kept) == pytest.approx(0.005)
    assert [figure.text for figure in inclusion_figures(mcse, free, names, 1000, 0.005)] == [found[1].text]
    most = inclusion_figures(np.array([0.005]), free[:1], names[:1], 1000, 0.005, np.array([SHARE * 0.005]))
    assert most[0].needed == pytest.approx(1 / (1 - SHARE**2))


@pytest.mark.parametrize("share", [0.0, 0.75, 0.9])
def test_draws_make_up_for_errors_of_integrals(monkeypatch, share):
    """Up to a share of what was asked for; beyond that it is said where the error comes from."""
    asked = 0.004
    monkeypatch.setattr(walk_posterior, "inclusion_error", lambda gamma, *_: np.full(4, share * asked))
    results, texts = fit(model(), mcse=asked)
    said = [text for text in texts if re.match(TEXT, text)]
    # The first round is as accurate as was asked for but for the integrals.
    assert (results.settings.draws > 200) == (share == 0.75)
    if share <= SHARE:
        assert (results.posterior.inclusion_mcse <= asked).all()
        assert not said
        return
    assert (results.posterior.inclusion_mcse > asked).any()
    (text,) = said
    assert f"above {asked}: the errors of marginal likelihoods contribute 0.0036, which more draws" in text
    assert text.endswith("Increase 'pairs' (now 32), or use sampler='rjmcmc'.")
    assert text in results.posterior.notes
    assert not any(
        "Errors of the marginal likelihoods are a large part" in note for note in results.posterior.notes
    )


@pytest.mark.parametrize(("pairs", "seed"), [(2, 0), (2, 1), (8, 2), (64, 0)])
def test_no_printed_error_above_what_was_asked_is_left_unexplained(pairs, seed):
    asked = 0.005
    results, texts = fit(model(20, seed, rj.Normal(25.0)), pairs=pairs, max_draws=800)
    above = bool((results.posterior.inclusion_mcse > asked).any())
    of_draws = any(text.startswith("The run stopped at") for text in texts)
    of_integrals = any(re.match(TEXT, text) for text in texts)
    assert above <= (of_draws or of_integrals)
    assert of_integrals <= above
    if pairs == 2:
        assert of_integrals
    if pairs == 64:
        assert not above


def test_runs_of_a_number_of_draws_were_asked_for_no_accuracy():
    results, texts = fit(model(20, 0, rj.Normal(25.0)), pairs=2, draws=200)
    assert (results.posterior.inclusion_mcse > 0.005).any()
    assert not any(re.match(TEXT, text) for text in texts)
