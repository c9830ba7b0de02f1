"""Surrogate jumps: against plain numpy, against enumeration, at the edges, in fits."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import reference_jumps
from reference_surrogate import Jumps
from turns import every

import pyrjsel as rj
from pyrjsel._errors import ParameterError
from pyrjsel.model_space import Bernoulli
from pyrjsel.selection.evidence import surrogate
from pyrjsel.selection.evidence.surrogate import Surrogate
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import JumpMoves, RJMCMCChain
from pyrjsel.selection.samplers.reversible_jump.surrogate_jumps import (
    DF,
    PAIRS,
    TIME,
    SurrogateJumps,
    SurrogateLoop,
    learn_surrogate,
)

NAMES = ["a", "f3", "b", "f4", "c"]
PRICES = {"a": 1, "f3": 1, "b": 2, "f4": 1, "c": 2}
TREE = ["a", "b", "c", "a:b", "b:c"]
CASES = {
    "g": (NAMES, {"coef_prior": GPrior("n")}),
    "null information": (NAMES, {"coef_prior": GPrior("n", information="null"), "family": "poisson"}),
    "raw, weights, offset": (NAMES, {"coef_prior": Normal(0.8), "weighted": True, "with_offset": True}),
    "a mean": (NAMES, {"coef_prior": Normal(0.6, mean=0.3, standardize=True)}),
    "budget": (NAMES, {"coef_prior": GPrior("n"), "costs": PRICES, "budget": 3}),
    "strong heredity, size": (TREE, {"coef_prior": Normal(0.8), "heredity": "strong", "max_size": 3}),
    "weak heredity, always": (TREE, {"coef_prior": GPrior("4n"), "heredity": "weak", "always": ["b"]}),
    "always, everything": (NAMES, {"coef_prior": Normal(0.5), "always": NAMES}),
    "no term": ([], {"coef_prior": GPrior("n")}),
}  # fmt: skip


def bad_surrogate(case):
    """Far from the posterior, so that the acceptance probability has something to mend."""
    at = np.full(case.regression.n_columns, 0.2)
    return Surrogate(at, 0.4 * (-1.0) ** np.arange(case.space.n_terms))


@pytest.mark.parametrize("name", [name for name in CASES if name != "no term"])
def test_products_on_demand_are_those_stored(kit, monkeypatch, name):
    """The surrogate of every model, whichever way its products of columns come; to rounding."""
    names, made = CASES[name]
    case = kit.case(names, seed=3, signal=0.5, **made)
    (stored,) = bad_surrogate(case).evidences(case.regression, 1)
    monkeypatch.setattr(surrogate, "STORED", 0)
    (demanded,) = bad_surrogate(case).evidences(case.regression, 1)
    for inside in product((0, 1), repeat=case.space.n_terms):
        gamma = np.array(inside, dtype=np.uint8)
        np.testing.assert_allclose(demanded.changes_at(gamma), stored.changes_at(gamma), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_jumps_are_those_of_the_reference(kit, name):
    """Same models and draws. The scale of the draws is that of the last step of Newton's method, which is at
    most 1e-5 standard deviations long: that is the relative error of scales, and draws are some standard
    deviations, of at most one, away.
    """
    names, made = CASES[name]
    case = kit.case(names, seed=3, signal=0.5, **made)
    jumps = SurrogateJumps(case.regression, case.space, bad_surrogate(case))
    transition = reference_jumps.Transition(case.regression, case.space, 1)
    twin = Jumps(transition, bad_surrogate(case), SurrogateJumps(
        case.regression, case.space, bad_surrogate(case)
    ).walk, TIME, PAIRS, DF)  # fmt: skip
    one, two = np.random.default_rng(8), np.random.default_rng(8)
    gamma = case.space.empty_model()
    b = np.zeros(case.regression.n_columns)
    b[0] = 0.3
    models, accepted = set(), 0
    for _ in range(60):
        found, beta, log_ratio = twin.jump(two, gamma, b)
        gamma, b, taken = jumps.jump(one, gamma, b)
        np.testing.assert_array_equal(gamma, found)
        np.testing.assert_allclose(b, beta, rtol=1e-5, atol=1e-4)
        assert np.isfinite(log_ratio)
        accepted += taken
        models.add(gamma.tobytes())
    assert accepted > 5
    assert len(models) > 4 or case.space.free.sum() == 0
    assert one.bit_generator.state == two.bit_generator.state


def test_models_without_a_prior_or_a_mode_are_never_entered_nor_left(kit):
    case = kit.case(["a", "a+b", "b"], coef_prior=GPrior("n"), model_prior=Bernoulli(0.7), seed=4)
    jumps = SurrogateJumps(case.regression, case.space, learn_surrogate(case.regression, case.space))
    gamma, b, rng = case.space.empty_model(), np.zeros(4), np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        gamma, b, _ = jumps.jump(rng, gamma, b)
        seen.add(tuple(gamma))
    assert len(seen) > 4
    assert (1, 1, 1) not in seen
    dependent = np.ones(3, dtype=np.uint8)
    assert jumps.mode(dependent) is None
    assert jumps.place(dependent) is None
    assert jumps.jump(rng, dependent, b) == (dependent, b, False)
    # A proposal without a mode is refused.
    jumps.mode = {gamma.tobytes(): SurrogateJumps.mode(jumps, gamma)}.get
    jumps.mode = lambda model, known=jumps.mode: known(model.tobytes())
    for _ in range(50):
        after, _, accepted = jumps.jump(rng, gamma, b)
        np.testing.assert_array_equal(after, gamma)
        assert not accepted or after.tobytes() == gamma.tobytes()


def test_modes_do_not_depend_on_what_is_remembered(kit):
    case = kit.case(NAMES, coef_prior=GPrior("n"), seed=5, signal=0.5)
    found = []
    for most in (1, 1000):
        jumps = SurrogateJumps(case.regression, case.space, bad_surrogate(case))
        jumps.most = most
        gamma, b, rng = (
            case.space.empty_model(),
            np.zeros(case.regression.n_columns),
            np.random.default_rng(2),
        )
        draws = []
        for _ in range(80):
            gamma, b, _ = jumps.jump(rng, gamma, b)
            draws.append(np.concatenate([gamma, b]))
        assert len(jumps.modes) <= most
        found.append(np.array(draws))
    np.testing.assert_array_equal(*found)


def test_surrogates_are_functions_of_the_problem(kit):
    case = kit.case(NAMES, coef_prior=GPrior("n"), seed=5, signal=0.5)
    one, two = (learn_surrogate(case.regression, case.space) for _ in range(2))
    np.testing.assert_array_equal(one.at, two.at)
    np.testing.assert_array_equal(one.correction, two.correction)
    assert np.any(one.correction != 0)


# ---------------------------------------------------------------------- chains


def run(job, *parts):
    """Run a chain, written down and begun anew between the parts; return it and all that was drawn."""
    runner, found = job.start(np.random.SeedSequence(5), 1), []
    for k, n in enumerate(parts):
        if k:
            found.append(runner.finish(True))
            runner = RJMCMCChain(job, runner.state(), number=1)
        runner.advance(n)
    found.append(runner.finish(True))
    models = np.concatenate([part.words[part.index] for part in found])
    return runner, models, np.concatenate([part.coefficients for part in found])


@pytest.mark.parametrize("name", ["g", "budget"])
def test_chains_go_on_to_the_same_draws(kit, name):
    names, made = CASES[name]
    case = kit.case(names, seed=21, signal=0.4, **made)
    moves = JumpMoves(swaps=2, surrogate=2, learnt=learn_surrogate(case.regression, case.space))
    job = Job(RJMCMCChain, moves, case.regression, case.space, 40, 20, 3, None, 2)
    whole, models, coefficients = run(job, job.total)
    assert whole.counts().shape == (2, 5)
    assert whole.counts()[0, 4] == 2 * 120
    assert 0 < whole.counts()[1, 4] < 2 * 120
    assert len(np.unique(models)) > 3
    for stop in (0, 7, 20, 21, 97, job.total - 1):
        other, *drawn = run(job, stop, job.total - stop)
        np.testing.assert_array_equal(drawn[0], models)
        np.testing.assert_array_equal(drawn[1], coefficients)
        np.testing.assert_array_equal(other.counts(), whole.counts())
    cut = job.start(np.random.SeedSequence(5), 1)
    for n in [1] * 50 + [job.total - 50]:
        cut.advance(n)
    np.testing.assert_array_equal(cut.collector.sums, whole.collector.sums)


@pytest.mark.parametrize("accepted", list(product([False, True], repeat=3)))
def test_a_chain_goes_on_from_the_last_jump_that_was_accepted(accepted):
    """Of several jumps in an iteration, whichever are accepted; of none, the chain stays untouched."""

    class Loop:
        now, moved = (np.array([0]), np.array([0.0])), 0

        def state(self):
            return self.now

        def set_state(self, gamma, b):
            self.now, self.moved = (gamma, b), self.moved + 1

        def run(self, rng, n, **places):
            return 0, 0

    class Stub:
        answers = iter(enumerate(accepted, 1))

        def jump(self, rng, gamma, b):
            number, taken = next(self.answers)
            return (np.array([number]), np.array([float(number)]), True) if taken else (gamma, b, False)

    loop = Loop()
    chain = SurrogateLoop(loop, Stub(), 3)
    chain.run(np.random.default_rng(0), 1)
    last = max((number for number, taken in enumerate(accepted, 1) if taken), default=0)
    assert loop.now == (np.array([last]), np.array([float(last)]))
    assert loop.moved == any(accepted)
    np.testing.assert_array_equal(chain.made, [3, sum(accepted)])


def frame(n=80, seed=0, p=6, signal=1.0):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    x["x1"] += 0.8 * x["x0"]
    x["f"] = rng.choice(list("abc"), size=n)
    eta = signal * (1.5 * x["x0"] - x["x2"] + 0.8 * (x["f"] == "a"))
    return x.assign(y=(eta + rng.logistic(size=n) > 0).astype(int))


COSTS = {"x0": 3, "x1": 1, "x2": 1, "x3": 1, "f": 2}
MODELS = {
    "budget": ("y ~ x0 + x1 + x2 + x3 + f", {"costs": COSTS, "budget": 3}),
    "heredity": ("y ~ x0 * x1 + x2 * f", {"heredity": "strong", "max_size": 4}),
    "wide": ("y ~ x0 + x1 + x2 + x3 + x4 + f", {"coef_prior": rj.Normal(25.0)}),
}  # fmt: skip


@pytest.mark.parametrize("name", every(3, MODELS))
def test_fits_are_right(name):
    """Against enumeration: Student errors of 30 batches in each of four chains, beyond 6.5 of which is a
    chance of 1e-8 for some 7 numbers; and errors of integrals, which are a hundredth of these.
    """
    formula, made = MODELS[name]
    model = rj.logit(formula, frame(signal=0.3 if name == "budget" else 1.0), **made)
    exact = model.fit(sampler="enumerate", rng=1).inclusion["posterior"]
    found = model.fit(
        sampler="rjmcmc",
        surrogate=1 + (name == "wide"),
        draws=2000,
        burn_in=100,
        rng=2,
        progress=False,
        swaps=0,
        trades=0,
    ).inclusion
    free = found["mcse"] > 0
    assert free.sum() >= 4
    assert (np.abs(found["posterior"] - exact)[free] < 6.5 * found["mcse"][free]).all()
    assert found["mcse"].max() < 0.02


def test_workers_extensions_and_files_change_nothing(tmp_path):
    model = rj.logit("y ~ x0 + x1 + x2 + x3 + f", frame(40))
    made = {"sampler": "rjmcmc", "surrogate": 1, "burn_in": 10, "chains": 2, "rng": 4, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        whole = model.fit(draws=60, n_jobs=2, **made)
        half = model.fit(draws=30, n_jobs=1, **made)
        half.save(tmp_path / "fit.rjs", data=True)
        again = [half.extend(30), rj.load(tmp_path / "fit.rjs").extend(30)]
    for other in again:
        pd.testing.assert_frame_equal(other.inclusion, whole.inclusion)
        pd.testing.assert_frame_equal(
            other.diagnostics.filter(like="acceptance"), whole.diagnostics.filter(like="acceptance")
        )
    assert "acceptance_surrogate" in whole.diagnostics


def test_what_cannot_be_is_refused():
    data = frame()
    for wrong in (-1, 0.5, True, None):
        with pytest.raises(ParameterError, match="'surrogate' parameter"):
            rj.logit("y ~ x0", data).fit(sampler="rjmcmc", surrogate=wrong)
    with pytest.raises(ParameterError, match="must be 0 for linear models"):
        rj.linear("x0 ~ x1 + x2", data).fit(sampler="rjmcmc", surrogate=1, draws=10)
    with pytest.raises(rj.PyrjselError, match="surrogate"):
        rj.logit("y ~ x0", data).fit(sampler="population", surrogate=1)
