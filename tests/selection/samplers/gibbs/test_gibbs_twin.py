"""The compiled Gibbs sampler against its twin in plain numpy, on the same random numbers."""

import gibbs_kit
import numpy as np
import pytest
from turns import by_turns

from pyrjsel.distributions import InverseGamma
from pyrjsel.model_space import Bernoulli
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperGN
from pyrjsel.selection.regression import gaussian

SIZES, NAMES = (1, 2, 1, 1, 1), ["a", "b", "c", "a:c", "d"]
BY_SIZE = InverseGamma([2.0, 2.2, 2.4, 2.6, 2.8, 3.0], [1.0, 1.5, 0.7, 2.0, 0.4, 1.0])
SPACES = {
    "free": {"model_prior": Bernoulli(0.4)},
    "budget, heredity": {
        "costs": {"a": 1.0, "b": 1.0, "c": 2.0, "d": 1.5}, "budget": 4.0, "heredity": "strong",
    },
    "always, size": {"always": ("c",), "max_size": 3},
}  # fmt: skip
KINDS = {
    "scaled spikes": (gibbs_kit.SPIKES["scaled"], False),
    "scaled spikes, classical": (gibbs_kit.SPIKES["scaled"], True),
    "unscaled spikes": (gibbs_kit.SPIKES["unscaled"], False),
    "unscaled spikes, classical": (gibbs_kit.SPIKES["unscaled"], True),
    "unscaled normal": (gibbs_kit.UNSCALED_NORMAL, False),
    "normal": (Normal(0.8), False),
    "g": (GPrior("n"), False),
    "hyper-g/n": (HyperGN(4), False),
}


SIGMAS = {"proper": InverseGamma(1.5, 0.8), "flat": None, "by size": BY_SIZE}
# Priors of sigma^2 that depend on the size go with spikes and slabs; the twin's quadrature is slow.
PAIRS = [(kind, sigma) for kind in KINDS for sigma in SIGMAS if sigma != "by size" or "spikes" in kind]
PAIRS.remove(("hyper-g/n", "flat"))
STEPS = 50


def case_of(linear_kit, kind, space, n=25, sigma=None):
    prior, classical = KINDS[kind]
    case = linear_kit.case(SIZES, prior, n=n, sigma=sigma, names=NAMES, weighted=True, **SPACES[space])
    return case, classical


def run_both(case, classical, steps=STEPS, swaps=2, seed=3, trades=0):
    """The records of both, iteration by iteration: model, sigma^2, coefficients, log posterior, inclusion."""
    regression = case.regression
    closed = None if regression.prior.in_state else case.twin.value
    gamma = case.space.empty_model()
    more = {"classical": classical, "swaps": swaps, "drawn": 2, "trades": trades}
    job = gibbs_kit.job_of(case, draws=steps, **more)
    runner = gibbs_kit.runner_at(job, gamma, 1.7, seed)
    twin = gibbs_kit.twin_of(case, gamma, 1.7, closed=closed, **more)
    rng = np.random.Generator(np.random.PCG64(seed))
    want = []
    for _ in range(steps):
        inclusion = twin.iterate(rng)
        if closed is None:
            with_density = classical or not twin.scaled
            log_posterior = twin.log_joint() if with_density else twin.log_mass(twin.gamma)
            spread = np.sqrt(twin.variance / regression.total_weight)
            intercept = regression.centre + spread * rng.standard_normal()
            b = np.concatenate([[intercept], twin.b])
        else:
            log_posterior, b = twin.log_mass(twin.gamma), np.zeros(0)
        want.append((twin.gamma, twin.variance, b, log_posterior, inclusion))
    runner.advance(steps)
    return runner, want


@pytest.mark.parametrize(("space", "pair"), by_turns(list(SPACES), PAIRS), ids=str)
def test_same_chain(linear_kit, space, pair):
    kind, sigma = pair
    case, classical = case_of(linear_kit, kind, space, sigma=SIGMAS[sigma])
    check(*run_both(case, classical))


@pytest.mark.parametrize(
    ("space", "kind"),
    by_turns(list(SPACES), ["scaled spikes", "unscaled spikes, classical", "g", "unscaled normal"]),
)
def test_same_chain_with_trades(linear_kit, kind, space):
    case, classical = case_of(linear_kit, kind, space, n=9, sigma=SIGMAS["proper"])
    # Trades under unscaled priors are rarely accepted; the twin's quadrature is slow.
    steps = 100 if "unscaled spikes" in kind else 40 if kind == "unscaled normal" else 25
    runner, want = run_both(case, classical, steps=steps, swaps=1, trades=2)
    check(runner, want)
    proposed, accepted = runner.counts()[:, -1]
    assert proposed == 2 * steps
    assert accepted > 0


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kind", [name for name in KINDS if "spikes" in name or name == "unscaled normal"])
def test_same_chain_with_fewer_rows_than_columns(linear_kit, kind, many, monkeypatch):
    case, classical = case_of(linear_kit, kind, "free", n=5, sigma=InverseGamma(1.5, 0.8))
    _, want = run_both(case, classical)
    if many:
        monkeypatch.setattr(gaussian, "SMALL_GRAM", 0)
        case, classical = case_of(linear_kit, kind, "free", n=5, sigma=InverseGamma(1.5, 0.8))
        assert not case.regression.held
    runner = gibbs_kit.runner_at(
        gibbs_kit.job_of(case, classical=classical, swaps=2, draws=STEPS), case.space.empty_model(), 1.7, 3
    )
    runner.advance(STEPS)
    check(runner, want)


def check(runner, want):
    found = runner.finish(True)
    models = runner.collector.table.gamma()[found.index]
    np.testing.assert_array_equal(models, [row[0] for row in want])
    assert len(np.unique(models, axis=0)) > 1
    offset = found.log_posterior - [row[3] for row in want]
    # Differences are rounding of numbers up to 1e3.
    np.testing.assert_allclose(offset, offset[0], rtol=0, atol=1e-8)
    averages = found.averages.means(1)  # sums, since a constant 1 grows by 1 with each draw
    np.testing.assert_allclose(averages[0], np.sum([row[4] for row in want], axis=0), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(averages.sum(axis=0), len(want), rtol=1e-12)
    if want[0][2].size:
        np.testing.assert_allclose(found.nuisance["variance"], [row[1] for row in want], rtol=1e-8)
        np.testing.assert_allclose(found.coefficients, [row[2] for row in want], rtol=1e-7, atol=1e-9)
        check_sums(found, models, runner.job.regression)


def check_sums(found, models, regression):
    """Sums over draws against the draws, intercepts those of the columns as they are, from the mean on."""
    b = found.coefficients.copy()
    b[:, 0] -= b[:, 1:] @ regression.raw_shift[1:]
    inside = np.repeat(models, np.diff(regression.term_start), axis=1)
    inside = np.column_stack([np.ones(len(b)), inside])
    positive = b > 0
    b[:, 0] -= regression.centre
    rows = [b, b**2, positive, inside, b * inside, b**2 * inside]
    np.testing.assert_allclose(found.sums, [row.sum(axis=0) for row in rows], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["scaled spikes", "unscaled spikes"])
def test_coefficients_of_the_twin_have_the_moments_of_the_textbook(linear_kit, kind):
    """The twin draws u and v in turn; beta = u + v must be N(V X'y / s, V) of all columns at once.

    Draws are linear in the normal numbers they are made of: mean and covariance follow from the map itself.
    """
    case, _ = case_of(linear_kit, kind, "free")
    gamma = np.array([1, 1, 0, 0, 1], dtype=np.uint8)
    twin = gibbs_kit.twin_of(case, gamma, 1.7)
    inside = np.repeat(gamma, SIZES).astype(bool)
    count = inside.sum() + inside.size

    def draw(numbers):
        twin.draw(Numbers(numbers))
        return twin.b

    mean = draw(np.zeros(count))
    map_ = np.column_stack([draw(row) - mean for row in np.eye(count)])
    precision = twin.precision / np.where(inside, twin.ratio, 1.0)
    if twin.scaled:
        v = np.linalg.inv(twin.gram + np.diag(precision))
        want_mean, want = v @ twin.cross, 1.7 * v
    else:
        want = np.linalg.inv(twin.gram / 1.7 + np.diag(precision))
        want_mean = want @ twin.cross / 1.7
    np.testing.assert_allclose(mean, want_mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(map_ @ map_.T, want, rtol=0, atol=1e-11 * np.abs(want).max())


class Numbers:
    """Gives out normal numbers that were chosen."""

    def __init__(self, values):
        self.left = list(values)

    def standard_normal(self, size):
        out, self.left = np.array(self.left[:size]), self.left[size:]
        return out
