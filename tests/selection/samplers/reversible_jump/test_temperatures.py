"""The laws of temperatures against scipy's, normalising constants against those of normal targets."""

import numpy as np
import pytest
from scipy import stats

from pyrjsel.selection.samplers.reversible_jump.temperatures import (
    COLD_BOUNDS,
    EXCHANGE_RATE,
    HOT_BOUNDS,
    PARAMETER_BOUNDS,
    POINTS,
    Law,
    log_constants,
)

HOT = [Law("hot", 7.0, 3.0), Law("hot", 1.0, 1.0), Law("hot", 0.5, 2.5), Law("hot", 40.0, 60.0)]
COLD = [Law("cold", 2.0, 4.0), Law("cold", 1.0, 0.5), Law("cold", 9.0, 3.0), Law("cold", 1.0, 20.0)]


def scipys(law):
    return stats.beta(law.a, law.b) if law.kind == "hot" else stats.gamma(law.a, loc=1, scale=1 / law.b)


@pytest.mark.parametrize("law", HOT + COLD, ids=str)
class TestLaw:
    def test_density(self, law):
        grid = law.grid()
        weights = law.logpdf(grid) - np.log(np.gradient(grid)) - scipys(law).logpdf(grid)
        # Up to a constant; values up to a few hundred, a few roundings each.
        np.testing.assert_allclose(weights, weights[0], rtol=0, atol=1e-11)

    def test_mean(self, law):
        own = scipys(law).mean()
        assert law.mean == pytest.approx(own if law.kind == "hot" else own - 1, rel=1e-13)

    def test_the_grid_holds_the_law(self, law):
        grid = law.grid()
        assert grid.shape == (POINTS,)
        assert np.all(np.diff(grid) > 0)
        assert grid[0] > (0 if law.kind == "hot" else 1)
        assert law.kind == "cold" or grid[-1] < 1
        weights = np.exp(law.logpdf(grid))
        weights /= weights.sum()
        # Tuning can move the law to where few are exchanged.
        assert law.kind == "hot" or grid[-1] > 1 + 10 * max(law.mean, 0.5)
        # Sixty points: the midpoint rule errs by half a cell where the density has a pole, at most.
        assert weights @ grid == pytest.approx(scipys(law).mean(), abs=0.02)
        assert np.sqrt(weights @ (grid - weights @ grid) ** 2) == pytest.approx(scipys(law).std(), rel=0.06)

    def test_tuning_goes_the_right_way(self, law):
        bounds = law.bounds()
        assert law.moved(EXCHANGE_RATE, 1, bounds).mean == pytest.approx(law.mean, rel=1e-12)
        more, less = law.moved(0.5, 4, bounds), law.moved(0.05, 4, bounds)
        away = -1 if law.kind == "hot" else 1  # from t = 1: hot laws sink, cold ones rise
        assert away * more.mean > away * law.mean > away * less.mean
        # Later steps are smaller.
        assert abs(law.moved(0.5, 100, bounds).mean - law.mean) < abs(more.mean - law.mean)
        # The spread of the law is kept: a + b of a Beta, the shape of a Gamma.
        kept = (lambda x: x.a + x.b) if law.kind == "hot" else (lambda x: x.a)
        assert kept(more) == pytest.approx(kept(law), rel=1e-12)

    @pytest.mark.parametrize("fixed", [False, True])
    def test_tuning_stays_within_bounds(self, law, fixed):
        low, high = law.bounds(fixed=fixed)
        if fixed:
            assert (low, high) == (HOT_BOUNDS if law.kind == "hot" else COLD_BOUNDS)
        for rate in (0.0, 1.0):
            moved = law
            for _ in range(40):
                moved = moved.moved(rate, 1, (low, high))
            end = high if (rate == 0.0) == (law.kind == "hot") else low
            assert moved.mean == pytest.approx(end, rel=1e-12)
            assert moved.a > 0
            assert moved.b > 0

    def test_the_grid_holds_the_law_that_tuning_has_moved_furthest(self, law):
        grid, (_, high) = law.grid(), law.bounds()
        if law.kind == "hot":
            assert high == HOT_BOUNDS[1]
        else:
            furthest = Law("cold", law.a, law.a / high)
            assert furthest.mean > law.mean
            # 99 % but for half a cell at the end of the grid, a sixtieth of its range.
            assert scipys(furthest).cdf(grid[-1]) > 0.985
            weights = np.exp(furthest.logpdf(grid))
            # The mean of an exponential law given that it is below its 99 % quantile is 5 % less.
            assert weights @ grid / weights.sum() - 1 == pytest.approx(high, rel=0.06)


@pytest.mark.parametrize("kind", ["hot", "cold"])
def test_grids_hold_all_laws_that_are_allowed(kind):
    low, high = HOT_BOUNDS if kind == "hot" else COLD_BOUNDS
    parameters = np.geomspace(*PARAMETER_BOUNDS, 9)
    laws = [law for a in parameters for b in parameters if low <= (law := Law(kind, a, b)).mean <= high]
    assert len(laws) > 20
    for law in laws:
        grid = law.grid()
        assert np.all(np.diff(grid) > 0)
        for each in (law, *(law.moved(rate, 1, law.bounds()) for rate in (0.0, 1.0))):
            logs = each.logpdf(grid)
            assert np.all(np.isfinite(logs))
        weights = np.exp(law.logpdf(grid) - law.logpdf(grid).max())
        found, excess = weights @ grid / weights.sum(), float(kind == "cold")
        # Poles are worst, and the midpoint rule can miss some half of what is in them.
        assert found - excess == pytest.approx(law.mean, abs=0.15 if kind == "hot" else 0.4 * law.mean)


# ---------------------------------------------------------------------- normalising constants

# A normal target in d dimensions with log pi = top at its mode: Z(t) is t^(-d/2) exp(t top), up to a
# constant, and log pi has the mean top - d / (2 t) at t.
TOP = -37.5


def truth(grid, d):
    return -0.5 * d * np.log(grid) + grid * TOP


def check(grid, found, d):
    """Trapezoids of width h err by h^2 / 12 times the rise of the slope d / (2 t^2), from t = 0.25 on."""
    use = grid > 0.25
    wrong = (found - truth(grid, d))[use]
    steps = np.diff(grid).max()
    assert np.ptp(wrong) < steps**2 / 12 * 0.5 * d / 0.25**2 * 1.05


@pytest.mark.parametrize("law", [Law("hot", 7.0, 3.0), Law("cold", 2.0, 4.0)], ids=str)
@pytest.mark.parametrize("d", [1, 6, 20])
class TestConstants:
    def test_everything_visited(self, law, d):
        grid = law.grid()
        visits = np.arange(1.0, POINTS + 1)
        # `columns` and `start` are of no account then.
        check(grid, log_constants(grid, visits * (TOP - d / (2 * grid)), visits, 3.0, 1e6), d)

    def test_gaps(self, law, d):
        grid = law.grid()
        visits = np.where(np.arange(POINTS) % 7 == 3, 4.0, 0.0)
        check(grid, log_constants(grid, visits * (TOP - d / (2 * grid)), visits, d, 1e6), d)

    def test_nothing_visited(self, law, d):
        grid, none = law.grid(), np.zeros(POINTS)
        check(grid, log_constants(grid, none, none, d, TOP - d / 2), d)

    def test_noise(self, law, d):
        """Means of ten draws each; they are made to rise, so that log Z is convex."""
        grid, rng = law.grid(), np.random.default_rng(3)
        visits = np.full(POINTS, 10.0)
        sums = (TOP - 0.5 * rng.chisquare(d, size=(10, POINTS)) / grid).sum(axis=0)
        found = log_constants(grid, sums, visits, d, 0.0)
        slopes = np.diff(found) / np.diff(grid)
        assert np.all(np.diff(slopes) > -1e-9)  # rounding of sums of size 1e2, over steps of 1e-3
        use = grid > 0.25
        wrong = (found - truth(grid, d))[use]
        # The sum of the errors sqrt(d / 20) / t of cells of width h has a standard deviation below
        # sqrt(60 d / 20) max(h / t); 6 of them either way have a probability below 1e-8, also of the
        # highest of sixty sums.
        assert np.ptp(wrong) < 12 * np.sqrt(3 * d) * np.max(np.gradient(grid)[use] / grid[use]) + 0.01 * d
