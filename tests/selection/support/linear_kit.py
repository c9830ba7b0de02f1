"""Small gaussian problems over small model spaces."""

from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace

import numpy as np
from reference_linear import LinearTwin

from pyrjsel.distributions import InverseGamma
from pyrjsel.model_space import BetaBinomial, ModelSpace
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, UnknownG, ZellnerSiow
from pyrjsel.selection.priors.gaussian import FixedG
from pyrjsel.selection.regression.gaussian import GaussianRegression

PRIORS = {
    "g": GPrior("n"),
    "g 5": GPrior(5.0, intercept="flat"),
    "hyper-g": HyperG(3),
    "hyper-g/n": HyperGN(4),
    "zellner-siow": ZellnerSiow(),
    "normal": Normal(0.8),
    "normal, mean": Normal(1.2, mean=0.4, standardize=True),
    "unscaled": Normal(0.9, scaled=False),
    "unscaled, mean": Normal(0.7, mean=-0.3, standardize=True, scaled=False),
}
CLOSED = {name: prior for name, prior in PRIORS.items() if "unscaled" not in name}


@dataclass(frozen=True)
class Case:
    """A problem with what it was made of."""

    regression: GaussianRegression
    space: ModelSpace
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    offset: np.ndarray | None
    prior: object

    @property
    def models(self):
        """All models over the terms, feasible or not."""
        return np.array(list(product((0, 1), repeat=self.regression.n_terms)), dtype=np.uint8)

    @property
    def twin(self):
        """The twin of the compiled marginal likelihoods, on the internal scale."""
        r = self.regression
        if isinstance(r.prior, FixedG):
            own = {"g": r.prior.g}
        elif isinstance(r.prior, UnknownG):
            own = {"mixture": r.prior.mixture, "n": r.n}
        else:
            own = {"precision": np.diag(r.prior.precision), "mean": r.prior.mean}
        return LinearTwin(
            r.gram, r.cross, r.square, r.starts, r.rows, r.a, r.b,
            rank_tol=r.prior.rank_tol, **own,
        )  # fmt: skip


def make_case(sizes, prior, *, n=25, seed=0, weighted=False, with_offset=False, sigma=None, model_prior=None,
              names=None, dependent=False, signal=1.0, **space):  # fmt: skip
    """A problem with terms of the given sizes, correlated columns far from centred."""
    rng = np.random.default_rng(seed)
    d = sum(sizes)
    x = rng.uniform(-3, 3, d) + rng.uniform(0.3, 3, d) * (
        rng.normal(size=(n, d)) + 0.6 * rng.normal(size=(n, 1))
    )
    if dependent:
        x[:, -1] = x[:, 0] - 2 * x[:, 1]
    y = 2 + signal * (x / x.std(axis=0))[:, ::2].sum(axis=1) + rng.normal(size=n)
    weights = rng.integers(1, 5, n).astype(float) if weighted else None
    offset = rng.normal(size=n) if with_offset else None
    regression = GaussianRegression.build(
        x, y, list(sizes), prior, sigma_prior=sigma, weights=weights, offset=offset
    )
    names = [f"t{j}" for j in range(len(sizes))] if names is None else names
    factors = [frozenset(name.split(":")) for name in names]
    terms = [
        SimpleNamespace(
            name=name,
            columns=tuple(f"{name}[{i}]" for i in range(size)),
            variables=tuple(sorted(own)),
            parents=tuple(j for j, other in enumerate(factors) if other < own),
            near_parents=tuple(j for j, other in enumerate(factors) if other < own),
        )
        for name, own, size in zip(names, factors, sizes, strict=True)
    ]
    model_space = ModelSpace.build(
        terms, prior=BetaBinomial(1, 1) if model_prior is None else model_prior, n_observations=n,
        data_columns=[name for name in names if ":" not in name], **space,
    )  # fmt: skip
    return Case(regression, model_space, x, y, weights, offset, prior)


KIT = SimpleNamespace(case=make_case, priors=PRIORS, closed=CLOSED, inverse_gamma=InverseGamma)
