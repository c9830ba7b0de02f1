"""Moves of reversible jumps under the partial likelihood: detailed balance from the definitions.

The intercept has a normal prior at the mean of the columns. Its precision is far too large for densities to
be compared by differences, and 3 here.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from balance_oracle import Oracle, check_flips_and_swaps, check_updates
from glm_kit import Case, columns_of, terms_of

from pyrjsel.families import Cox
from pyrjsel.families import cox as cox_family
from pyrjsel.model_space import BetaBinomial, ModelSpace
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.regression.glm import Regression

PRECISION = 3.0
PRIORS = {
    "g null": GPrior(9.0, information="null", intercept="flat"),
    "normal raw": Normal(0.8, mean=0.3, intercept="flat"),
    "normal standardized": Normal(0.9, standardize=True, intercept="flat"),
}
SPACES = {"free": {}, "size": {"max_size": 1}, "strong heredity": {"heredity": "strong"}}


class CoxOracle(Oracle):
    """The partial likelihood, a product over events, and the normal density of the mean linear predictor."""

    def __init__(self, case, fixed=None, t=1.0):
        super().__init__(case, fixed, t)
        y, shares = case.y, []
        for time in np.unique(y[y > 0]):
            events = np.flatnonzero(y == time)
            for rank, row in enumerate(events):
                share = (np.abs(y) >= time).astype(float)
                share[events] = 1 - case.likelihood.efron * rank / events.size
                shares.append((row, share))
        self.rows = np.array([row for row, _ in shares])
        self.shares = np.array([share for _, share in shares])
        # What is without a product over rows: the mean of the predictor has no offset.
        self.offset = self.offset - self.offset.mean()

    def risks(self, eta):
        """Probabilities (events, n) that an event is that of a row."""
        part = self.shares * np.exp(eta)
        return part / part.sum(axis=1, keepdims=True)

    def log_likelihood(self, eta):
        value = np.sum(eta[self.rows] - np.log(self.shares @ np.exp(eta)))
        return value - 0.5 * PRECISION * eta.mean() ** 2

    def score(self, eta):
        counts = np.bincount(self.rows, minlength=eta.size)
        return counts - self.risks(eta).sum(axis=0) - PRECISION * eta.mean() / eta.size

    def information(self, x, eta):
        p, mean = self.risks(eta), x.mean(axis=0)
        found = (x.T * p.sum(axis=0)) @ x - (p @ x).T @ (p @ x)
        return found + PRECISION * np.outer(mean, mean)

    def null_gram(self, x):
        """The information of columns at coefficients of 0, which has nothing of the intercept."""
        x = x - x.mean(axis=0)
        return self.information(x, self.offset)


def make_case(names, prior, ties, **space):
    rng = np.random.default_rng(8)
    n, parts = 24, columns_of(names, 24, rng)
    sizes, x = [parts[name].shape[1] for name in names], np.hstack([parts[name] for name in names])
    time = np.ceil(3 * rng.exponential(np.exp(-0.5 * (x[:, 0] - x[:, 0].mean()))))
    y, offset = np.where(rng.random(n) < 0.7, time, -time), rng.normal(size=n)
    regression = Regression.build(x, y, sizes, PRIORS[prior], offset=offset, family=Cox(ties))
    made = ModelSpace.build(
        terms_of(names, sizes),
        prior=BetaBinomial(1, 1),
        n_observations=float(n),
        data_columns=[name for name in names if ":" not in name],
        **space,
    )
    likelihood = SimpleNamespace(reach=0.7, efron=float(ties == "efron"))
    return Case(regression, made, x, y, None, offset, PRIORS[prior], sizes, likelihood)


@pytest.mark.parametrize("t", [1.0, 0.5])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("prior", PRIORS)
def test_flips_swaps_and_updates(monkeypatch, prior, space, t):
    """Between all pairs of models, and of coefficients within each."""
    monkeypatch.setattr(cox_family, "PRECISION", PRECISION)
    case = make_case(["a", "f3", "a:f3"], prior, "breslow" if space == "size" else "efron", **SPACES[space])
    rng = np.random.default_rng(9)
    seen = check_flips_and_swaps(case, rng, t=t, oracle=CoxOracle)
    assert seen["birth"] == seen["death"] > 0
    assert (seen["refused"] > 0) == (space != "free")
    check_updates(case, rng, 1.0, t, oracle=CoxOracle)
    check_updates(case, rng, 0.25, t, oracle=CoxOracle)
