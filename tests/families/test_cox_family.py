"""The partial likelihood of Cox models against its definition and statsmodels."""

import numpy as np
import pytest
from statsmodels.duration.hazard_regression import PHReg

from pyrjsel.families import Cox
from pyrjsel.families._binary import evaluated
from pyrjsel.families._cox import COX
from pyrjsel.families.cox import PRECISION, RiskSets

TIES = ["efron", "breslow"]


def times(n, rng, ties=True):
    """Responses (n,): most times are those of events, and, with ties, several rows have each."""
    time = rng.exponential(size=n) + 0.01
    if ties:
        time = np.ceil(12 * time) / 4
    y = np.where(rng.random(n) < 0.7, time, -time)
    y[0] = abs(y[0])
    return y


def terms(y, ties):
    """Row of each event, and weights (n,) of the rows in its denominator, from the definitions."""
    time, found = np.abs(y), []
    for each in np.unique(time[y > 0]):
        events = np.flatnonzero((time == each) & (y > 0))
        for rank, row in enumerate(events):
            share = (time >= each).astype(float)
            if ties == "efron":
                share[events] = 1 - rank / events.size
            found.append((row, share))
    return found


def by_definition(y, eta, ties):
    """Log partial likelihood, gradient (n,) and minus the second derivatives (n, n) in eta."""
    value, slope, curve = 0.0, np.zeros(y.size), np.zeros((y.size, y.size))
    for row, share in terms(y, ties):
        part = share * np.exp(eta - eta.max())
        p = part / part.sum()
        value += eta[row] - eta.max() - np.log(part.sum())
        slope[row] += 1
        slope -= p
        curve += np.diag(p) - np.outer(p, p)
    return value, slope, curve


# More rows than a block of the loop, few, and one.
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("n", [300, 9, 1])
def test_likelihood_gradient_and_information(n, ties, tied):
    """Of the family and of the compiled passes; these add the log density of a normal mean."""
    rng = np.random.default_rng(n)
    family, y, eta = Cox(ties), times(n, rng, tied), rng.normal(0, 2, n)
    value, slope, curve = by_definition(y, eta, ties)
    # Sums of n numbers of both signs, of size 1 to 10.
    digits = {"rtol": 1e-11, "atol": 1e-12}
    assert family.log_likelihood(y, eta) == pytest.approx(value, rel=1e-11, abs=1e-12)
    residual, expected = family.working(y, eta, np.ones(n))
    np.testing.assert_allclose(residual, slope, **digits)
    np.testing.assert_allclose((y > 0) - residual, expected, **digits)
    columns = rng.normal(size=(3, n))
    pooled = family.pooled(columns, y, eta)
    np.testing.assert_allclose(
        (columns * expected) @ columns.T - pooled @ pooled.T, columns @ curve @ columns.T, **digits
    )
    mean = columns.mean(axis=1)
    information = family.information(columns, y, eta, np.ones(n))
    rest = information - PRECISION * np.outer(mean, mean)
    # Rounding of numbers of the size of the precision.
    np.testing.assert_allclose(rest, columns @ curve @ columns.T, atol=1e-15 * PRECISION)

    order, m = family.order(y), eta.mean()
    wy, w, offset = family.rows(y[order], None, eta[order])
    np.testing.assert_allclose(offset, eta[order] - m, atol=1e-14)
    moved = offset + 3e-7
    shifted, worked, gradient, weight = evaluated(COX, moved, wy, w)
    normal = -0.5 * PRECISION * moved.mean() ** 2
    assert shifted == worked == pytest.approx(value + normal, rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(gradient, slope[order] - PRECISION * moved.mean() / n, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(weight, expected[order], **digits)


@pytest.mark.parametrize("ties", TIES)
def test_statsmodels_has_the_same_likelihood(ties):
    rng = np.random.default_rng(2)
    y, x = times(80, rng), rng.normal(size=(80, 3))
    theirs = PHReg(np.abs(y), x, status=(y > 0).astype(float), ties=ties)
    for b in rng.normal(size=(5, 3)):
        assert Cox(ties).log_likelihood(y, x @ b) == pytest.approx(theirs.loglike(b), rel=1e-12)
        residual = Cox(ties).working(y, x @ b, np.ones(80))[0]
        np.testing.assert_allclose(x.T @ residual, theirs.score(b), rtol=1e-9, atol=1e-10)
        information = Cox(ties).information(x.T - x.mean(axis=0)[:, None], y, x @ b, np.ones(80))
        np.testing.assert_allclose(information, -theirs.hessian(b), rtol=1e-9, atol=1e-9)


def test_ties_make_no_difference_without_ties():
    rng = np.random.default_rng(3)
    y, eta = times(50, rng, ties=False), rng.normal(size=50)
    assert Cox("efron").log_likelihood(y, eta) == Cox("breslow").log_likelihood(y, eta)
    # A censored row at the time of an event is still at risk.
    y = np.array([1.0, -1.0, 2.0])
    assert Cox().log_likelihood(y, np.zeros(3)) == pytest.approx(-np.log(3) - np.log(1), rel=1e-15)


def test_far_linear_predictors():
    """Denominators up to exp(650), and beyond what numbers hold."""
    y = np.array([1.0, 2.0, 3.0, 4.0])
    eta = np.array([650.0, 0.0, 0.0, -650.0])
    order = Cox().order(y)
    wy, w, _ = Cox().rows(y[order], None, np.zeros(4))
    value = evaluated(COX, eta[order], wy, w)[:2]
    assert value[0] == value[1] == pytest.approx(-np.log(2), rel=1e-14)
    assert Cox().log_likelihood(y, eta) == pytest.approx(-np.log(2), rel=1e-14)
    # Both ways: the largest number is too large, or the last risk set is too small.
    assert evaluated(COX, 2 * eta[order], wy, w)[0] == -np.inf
    assert evaluated(COX, np.array([-2100.0, 700.0, 700.0, 700.0]), wy, w)[0] == -np.inf
    assert Cox().log_likelihood(y, np.array([700.0, 700.0, 700.0, -2100.0])) == pytest.approx(
        -np.log(6), rel=1e-14
    )


def test_sums_over_risk_sets():
    """Those of events, and by row those of the events that have it at risk, of each other the transpose."""
    rng = np.random.default_rng(4)
    y = times(40, rng)
    sets = RiskSets.of(y, efron=True)
    shares = np.array([sets.sums(row) for row in np.eye(40)]).T  # (events, rows in order)
    rows = sets.order[sets.event]
    assert sorted(np.abs(y[rows]), reverse=True) == list(np.abs(y[rows]))
    want = {tuple(np.round(share[sets.order], 12)) for _, share in terms(y, "efron")}
    assert {tuple(np.round(share, 12)) for share in shares} == want
    # Events at one time take turns by rank: which of them leaves first changes no sum.
    values = rng.random(rows.size)
    ends = sets.last
    found, direct = sets.since(values), values @ shares
    for end in np.unique(ends):
        tied = np.flatnonzero(sets.event & (np.abs(y[sets.order]) == np.abs(y[sets.order][end])))
        assert found[tied].sum() == pytest.approx(direct[tied].sum(), rel=1e-12)
    np.testing.assert_allclose(found[~sets.event], direct[~sets.event], rtol=1e-12)


def test_the_score_of_concordance():
    y = np.array([1.0, 2.0, -2.0, -3.0, 4.0])
    # Comparable pairs: 4 of the first event, and 3 of the second, one of them censored then.
    hazard = np.array([5.0, 1.0, 1.0, 0.5, 2.0])
    assert Cox().error(y, hazard, np.ones(5)) == pytest.approx((4 + 0.5 + 1) / 7, rel=1e-15)
    assert np.isnan(Cox().error(-np.abs(y), hazard, np.ones(5)))


def test_a_model_says_who_comes_next():
    """Probabilities of draws by row, whose logarithms sum to the likelihood."""
    rng = np.random.default_rng(5)
    y, eta = times(30, rng), rng.normal(size=(30, 4))
    found = Cox().log_density(y, eta, np.ones(30), {})
    assert np.all(found[y < 0] == 0)
    assert np.all(found <= 0)
    for k in range(4):
        assert found[:, k].sum() == pytest.approx(by_definition(y, eta[:, k], "efron")[0], rel=1e-12)
