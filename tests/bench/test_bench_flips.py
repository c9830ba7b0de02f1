"""The cost of one proposal of the reversible-jump sampler, against the least that it can cost.

The floor is one pass that forms eta + delta x and sums the log-likelihood, in C with vectorised
exponentials (``floor.c``); beside it the same pass with the scalar functions of libm, and the package's
own pass. Columns are visited at random everywhere, as the sampler does.

How proposals are timed: the compiled loop runs whole iterations (deriving the state, J flips, swaps,
one update of all coefficients), so that

- *flips, mixed*: a chain of the full cohort without budget, at equilibrium and without swaps; less what an
  iteration takes when there is no free term and the model is of the same size (interpolated between two
  sizes); divided by J. Accepted flips and what they cost are in it.
- *birth*: the same with ten terms always in and 73 free terms that the prior over models keeps out;
  every proposal is a birth and is rejected.
- *death*: ten free terms that the prior keeps in; every proposal is a death and is rejected.
- *swap*: a chain with 40 swaps an iteration less one with none, at equilibrium, divided by 40.
"""

import numpy as np
import pytest

import pyrjsel as rj
from pyrjsel.model_space import Space
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump

PRIORS = {
    "GPrior('4n')": rj.GPrior("4n"),
    "Normal(2, standardize)": rj.Normal(2, standardize=True),
}
ITERATIONS = 60
ROUNDS = 25
# Ten indicators of the published models, in the model from the start.
INSIDE = ["sbp", "age", "bun", "coma", "albumin", "septic", "temperature"]
INSIDE += ["apache_respiratory_rate", "body_systems", "apache_ph"]
SURE = 1e-9  # prior inclusion probability of what is to stay out


class Chain:
    """A compiled chain of a model, at the posterior mode of the given terms."""

    def __init__(self, model, inside, n_swaps=0):
        self.model, self.rng = model, np.random.default_rng(1)
        gamma = np.isin(model.space.names, inside).astype(np.uint8)
        regression = model.regression
        mode = MarginalLikelihood(regression, b"", 2, regression.n_columns).mode(gamma)
        self.args = regression.compiled, Space(model.space)
        self.options = {"max_columns": regression.n_columns, "raw_shift": regression.raw_shift}
        self.options["n_swaps"] = n_swaps
        self.loop = ReversibleJump(*self.args, gamma, mode, **self.options)

    def settle(self, iterations):
        self.loop.run(self.rng, iterations)
        self.loop.set_counts(np.zeros((2, 4), dtype=np.int64))

    def run(self):
        self.loop.run(self.rng, ITERATIONS)

    @property
    def size(self):
        return int(self.loop.state()[0].sum())

    def acceptance(self, move):
        proposed, accepted = self.loop.counts()[:, move]
        return f"{accepted / max(proposed, 1):.3f} accepted"


@pytest.fixture
def floor(cohort, make_floor):
    model = rj.LogitSelection(cohort.data["mortality"], cohort.data[INSIDE])
    regression = model.regression
    mode = MarginalLikelihood(regression, b"", 2, regression.n_columns).mode(np.ones(len(INSIDE)))
    full = rj.logit("mortality ~ .", cohort.data).regression
    return make_floor(full.columns, mode @ regression.columns, full.y)


def test_floor_is_right(floor):
    """The passes agree with numpy: a floor that computed something else would be none."""
    x = floor.columns[7]
    eta = floor.eta + 0.01 * x
    expected = float(np.sum(floor.y * eta - np.logaddexp(0, eta)))
    for which in ("floor", "scalar", "shift"):
        value, out = floor.value(which, 7, 0.01)
        # A sum of 2,532 terms, each to a few ulps.
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(out, eta, rtol=1e-13, atol=1e-13)
    both = float(x @ floor.residual + (x * x) @ floor.weight)
    np.testing.assert_allclose(floor.value("floor_dots", 7, 0.0)[0], both, rtol=1e-11)


def test_bench_passes(floor, table):
    order = np.random.default_rng(1).integers(1, floor.columns.shape[0], 400)
    found = {which: [] for which in ("floor", "scalar", "shift", "working", "dot", "dot3", "floor_dots")}
    for _ in range(ROUNDS):
        for which, times in found.items():
            times.append(floor.seconds(which, order))
    words = {
        "floor": "floor: eta + delta x and log-likelihood",
        "scalar": "the same with libm's exp and log1p",
        "shift": "the same in the package",
        "working": "log-likelihood, residual and weight in the package",
        "dot": "dot product",
        "dot3": "weighted dot product",
        "floor_dots": "both of these in one reading, this machine alone",
    }
    for which, times in found.items():
        table.series("passes over 2,532 rows", words[which], times, "µs", scale=1e6)


@pytest.mark.parametrize("prior", PRIORS)
def test_bench_flips(prior, cohort, floor, table, take_turns):
    coef_prior = PRIORS[prior]
    y, x = cohort.data["mortality"], cohort.data.drop(columns="mortality")
    full = rj.LogitSelection(y, x, coef_prior=coef_prior)
    outside = rj.LogitSelection(y, x, coef_prior=coef_prior, always=INSIDE, model_prior=rj.Bernoulli(SURE))
    inside = rj.LogitSelection(y, x[INSIDE], coef_prior=coef_prior, model_prior=rj.Bernoulli(1 - SURE))
    fixed = rj.LogitSelection(y, x[INSIDE], coef_prior=coef_prior, always=INSIDE)
    more = list(x.columns[:15])
    wider = rj.LogitSelection(y, x[more], coef_prior=coef_prior, always=more)

    chains = {
        "mixed": Chain(full, INSIDE),
        "swap": Chain(full, INSIDE, n_swaps=40),
        "birth": Chain(outside, INSIDE),
        "death": Chain(inside, INSIDE),
        "none": Chain(fixed, INSIDE),
        "wider": Chain(wider, more),
    }
    for chain in chains.values():
        chain.settle(200)
    sizes = {"mixed": [], "swap": []}

    def run(name):
        chains[name].run()
        if name in sizes:
            sizes[name].append(chains[name].size)

    times = take_turns({name: lambda name=name: run(name) for name in chains}, ROUNDS)
    times = {name: values / ITERATIONS for name, values in times.items()}
    order = np.random.default_rng(1).integers(1, floor.columns.shape[0], 400)
    passes = {w: min(floor.seconds(w, order) for _ in range(ROUNDS)) for w in ("floor", "scalar", "shift")}

    def rest(size, pick):
        """Return the time of an iteration without free terms in a model of `size` terms."""
        slope = (pick(times["wider"]) - pick(times["none"])) / (len(more) - len(INSIDE))
        return pick(times["none"]) + slope * (size - len(INSIDE))

    group = f"proposals, {prior}, n = 2,532, p = 83"
    mean_size = float(np.mean(sizes["mixed"]))
    flips = {}
    for pick, name in ((np.min, "least"), (np.median, "median")):
        flips[name] = {
            "mixed": (pick(times["mixed"]) - rest(mean_size, pick)) / full.space.n_terms,
            "birth": (pick(times["birth"]) - pick(times["none"])) / (full.space.n_terms - len(INSIDE)),
            "death": (pick(times["death"]) - pick(times["none"])) / len(INSIDE),
            "swap": (pick(times["swap"]) - pick(times["mixed"])) / 40,
        }
    notes = {
        "mixed": f"births {chains['mixed'].acceptance(0)}, {mean_size:.1f} terms in",
        "birth": f"10 terms in, {chains['birth'].acceptance(0)}",
        "death": f"10 terms in, {chains['death'].acceptance(1)}",
        "swap": chains["swap"].acceptance(2),
    }
    for name, seconds in flips["least"].items():
        words = name if name == "swap" else f"flip, {name}"
        table.add(group, words, 1e6 * seconds, "µs", median=1e6 * flips["median"][name], note=notes[name])
        for against, limit in (("floor", 3), ("shift", None), ("scalar", None)):
            label = {"floor": "the floor", "shift": "the package's pass", "scalar": "the libm pass"}[against]
            target = limit if name != "swap" else None
            table.add(group, f"  {words} / {label}", seconds / passes[against], "ratio", target=target)
    table.series(group, "update of 11 coefficients and refresh", times["none"], "µs", scale=1e6)
    table.series(group, "update of 16 coefficients and refresh", times["wider"], "µs", scale=1e6)
    table.series(group, "iteration, 83 flips, no swaps", times["mixed"], "µs", scale=1e6)
