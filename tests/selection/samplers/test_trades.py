"""Trades: transitions of the compiled walk against all paths of the reference implementation."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import reference_walk
from reference_trades import TradeTwin
from scipy import stats
from scipy.linalg import expm

from pyrjsel.model_space import BetaBinomial, ModelSpace, Space, Uniform
from pyrjsel.selection.evidence._table_evidence import TableEvidence
from pyrjsel.selection.samplers._walk import Walk

LEVEL = 1e-6  # false-alarm rate of each statistical test

# Terms and constraints. One variable at the price of several, prices shared by interactions, heredity and
# bounds together, and terms that are always in.
PRICES = {"a": 4.0, "b": 1.0, "c": 1.0, "d": 2.0, "e": 1.0}
SPACES = {
    "free": (["a", "b", "c", "d"], {}),
    "budget": (["a", "b", "c", "d", "e"], {"costs": PRICES, "budget": 4.0}),
    "size": (["a", "b", "c", "d", "e", "f"], {"max_size": 3, "always": ("f",)}),
    "strong, budget": (
        ["a", "b", "d", "a:b", "b:d"],
        {"heredity": "strong", "costs": PRICES, "budget": 5.0},
    ),
    "strong, three variables": (
        ["a", "b", "c", "a:b", "b:c", "a:c", "a:b:c"],
        {"heredity": "strong", "always": ("b",)},
    ),
    "weak, size": (["a", "b", "c", "a:b", "b:c", "a:b:c"], {"heredity": "weak", "max_size": 3}),
    "weak, budget": (
        ["a", "b", "d", "a:b", "a:b:d"],
        {"heredity": "weak", "costs": PRICES, "budget": 6.0},
    ),
}


def term(name, names):
    """A term with its parents among the others."""
    variables = name.split(":")
    parts = [":".join(part) for part in itertools.combinations(variables, len(variables) - 1)]
    parents = tuple(names.index(part) for part in parts if part in names)
    return SimpleNamespace(
        name=name, columns=(name,), variables=tuple(variables), parents=parents, near_parents=parents
    )


class World:
    """A small space with marginal likelihoods at random."""

    def __init__(self, which, power=1.0, seed=4, spread=1.5, holes=0):
        names, options = SPACES[which]
        terms = [term(name, names) for name in names]
        options = {**options}
        if "costs" in options:
            options["costs"] = {name: PRICES[name] for name in names if name in PRICES}
        prior = BetaBinomial(1, 1) if "heredity" not in options else Uniform()
        self.space = ModelSpace.build(terms, prior=prior, n_observations=50, **options)
        self.n_terms = len(names)
        self.gamma = (np.arange(2**self.n_terms)[:, None] >> np.arange(self.n_terms) & 1).astype(np.uint8)
        self.values = spread * np.random.default_rng(seed).normal(size=len(self.gamma))
        # Models without a coefficient prior, as when columns are dependent.
        self.values[len(self.values) - holes :] = -np.inf
        self.log_mass = self.values + np.asarray(self.space.log_prior(self.gamma), dtype=float)
        self.possible = np.flatnonzero(np.isfinite(self.log_mass))
        self.twin = TradeTwin(self.space, lambda gamma: power * self.log_mass[self.number(gamma)])

    def number(self, gamma):
        return int(np.asarray(gamma, dtype=np.int64) @ (1 << np.arange(self.n_terms)))

    def walk(self, start, **options):
        powers = options.pop("powers", (1.0,))
        gamma = np.repeat(self.gamma[start][None], len(powers), axis=0)
        return Walk([TableEvidence(self.values) for _ in powers], Space(self.space), gamma, powers, **options)

    def matrix(self):
        """Transitions of one trade between all models, those without mass left alone."""
        whole = np.eye(len(self.gamma))
        whole[np.ix_(self.possible, self.possible)] = self.twin.matrix(self.gamma[self.possible])
        return whole


@pytest.mark.parametrize("which", SPACES)
def test_transitions_of_trades(which):
    """In the time of a draw there are about two trades, and few flips beside them."""
    world = World(which, holes=1)
    trades, time = 20.0, 0.1
    rates = reference_walk.flips(world.log_mass) + trades * (world.matrix() - np.eye(len(world.gamma)))
    matrix = expm(time * (rates - np.diag(rates.sum(axis=1))))
    walk = world.walk(world.possible[0], trades=trades)
    n = 60_000
    words, log_mass = np.zeros((n, 1), dtype=np.uint64), np.zeros(n)
    walk.run(np.random.default_rng(3), n, time, words=words, log_mass=log_mass)
    models = words[:, 0].astype(np.int64)
    np.testing.assert_allclose(log_mass, world.log_mass[models], rtol=1e-13)
    proposed, accepted = walk.counts()[0][:, 3]
    # A Poisson count: six standard deviations, 2e-9.
    assert abs(proposed - n * time * trades) < 6 * np.sqrt(n * time * trades)
    assert 0 < accepted < proposed
    statistic = freedom = 0
    for state in np.unique(models[:-1]):
        counts = np.bincount(models[1:][models[:-1] == state], minlength=len(matrix))
        expected = counts.sum() * matrix[state]
        few = expected < 10
        cells = [*zip(counts[~few], expected[~few], strict=True), (counts[few].sum(), expected[few].sum())]
        cells = [(count, mean) for count, mean in cells if mean >= 10]
        statistic += sum((count - mean) ** 2 / mean for count, mean in cells)
        freedom += len(cells) - 1
    assert freedom > 40
    assert stats.chi2.sf(statistic, freedom) > LEVEL


# A power is part of the log masses that trades are told, whatever the space: by turns.
@pytest.mark.parametrize(("which", "power"), [(which, (1.0, 0.4)[k % 2]) for k, which in enumerate(SPACES)])
def test_trades_have_detailed_balance(which, power):
    """By all paths and those backwards, whose probabilities are found independently."""
    world = World(which, power)
    models = world.gamma[world.possible]
    matrix = world.twin.matrix(models)
    # Rows of probabilities: what comes to nothing stays.
    assert matrix.min() >= 0
    flow = np.exp(power * world.log_mass[world.possible])[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, rtol=1e-12, atol=1e-300)
    # Every path has its reverse, and probabilities of single paths are those of the enumeration of all.
    for gamma in models[:: max(1, len(models) // 6)]:
        every = list(world.twin.paths(gamma))
        assert sum(p for _, p in every) == pytest.approx(1, abs=1e-12)
        for path, p in every:
            if path is not None:
                assert np.exp(world.twin.log_probability(gamma, path)) == pytest.approx(p, rel=1e-9)
                assert path.back().back() == path
