"""Splits of sums, against the closed form and quadrature in many digits, and against the joint law."""

import mpmath
import numpy as np
import pytest
from scipy import stats

import pyrjsel as rj

DIGITS = 80  # Poles are as near as 1e-16 and quantiles as far as 1e34 scales: terms cancel to 60 digits.


def law(x, s, a, b):
    """P(part <= x) in many digits: the formula of the article, and its limit where the poles meet."""
    x, s, a, b = (mpmath.mpf(float(value)) for value in (x, s, a, b))
    half = mpmath.pi / 2
    if a == b and s == 0:
        return (mpmath.atan(x / a) + half + a * x / (x * x + a * a)) / mpmath.pi
    q = ((a - b) ** 2 + s * s) * ((a + b) ** 2 + s * s)
    first, second = (s * s - a * a + b * b) / (a * q), (s * s + a * a - b * b) / (b * q)
    total = s / q * mpmath.log((x * x + a * a) / ((x - s) ** 2 + b * b))
    total += first * (mpmath.atan(x / a) + half) + second * (mpmath.atan((x - s) / b) + half)
    return total / (mpmath.pi * (first + second))


def both_tails(part, rest, s, a, b):
    """P(part <= .) and P(part > .) at the smaller of part and rest, on which doubles are finer."""
    if abs(part) <= abs(rest):
        return law(part, s, a, b), law(-part, -s, a, b)
    return law(-rest, -s, b, a), law(rest, s, b, a)


def cases(count, seed):
    """Sums and scales over the whole range: ratios to 1e8, sums to 1e8 scales, poles as near as 1e-16."""
    rng = np.random.default_rng(seed)
    a = 10 ** rng.uniform(-8, 8, count)
    near = a * (1 + rng.choice([-0.5, 0.5], count) * 10 ** rng.uniform(-16, 0, count))
    b = np.where(rng.random(count) < 0.4, near, a * 10 ** rng.uniform(-8, 8, count))
    larger = np.maximum(a, b)
    s = np.where(rng.random(count) < 0.3, 3 * rng.normal(size=count), 10 ** rng.uniform(-20, 8, count))
    s *= larger * rng.choice([-1, 1], count) * (rng.random(count) > 0.05)
    b[:20], s[:10] = a[:20], 0.0
    return s, a, b


def chances(count, seed):
    """Probabilities in the middle and in both tails."""
    rng = np.random.default_rng(seed)
    middle, tail = rng.random(count), 10 ** rng.uniform(-100, 0, count)
    upper = 1 - 10 ** rng.uniform(-15, 0, count)
    return np.choose(rng.integers(3, size=count), [middle, tail, upper])


def test_the_formula_is_the_law():
    with mpmath.workdps(30):
        for x, s, a, b in ((-1, 2, 1, 0.5), (2, 2, 1, 0.5), (0.3, -1, 2, 3), (4, 0, 1, 1), (9, 10, 1, 0.1)):

            def density(t, s=s, a=a, b=b):
                return 1 / ((t * t + a * a) * ((t - s) ** 2 + b * b))

            places = sorted({-mpmath.inf, mpmath.mpf(0), mpmath.mpf(s), mpmath.inf})
            left = [place for place in places if place < x] + [mpmath.mpf(x)]
            expected = mpmath.quad(density, left) / mpmath.quad(density, places)
            # What mpmath's quadrature leaves beside the narrowest peak.
            assert abs(law(x, s, a, b) - expected) < 1e-15


def test_distribution_function():
    s, a, b = cases(1000, 1)
    # Where it rises, and anywhere.
    rng = np.random.default_rng(2)
    x = rj.split_cauchy_ppf(rng.random(1000), s, a, b)
    x[::3] = a[::3] * 10 ** rng.uniform(-3, 12, 334) * rng.choice([-1, 1], 334)
    found = rj.split_cauchy_cdf(x, s, a, b)
    with mpmath.workdps(DIGITS):
        for i in range(1000):
            expected = law(x[i], s[i], a[i], b[i])
            # A dozen roundings of terms of order one; in the lower tail terms cancel to 1e-3 before the
            # quadrature takes over.
            assert abs(found[i] - expected) < 2e-15
            assert abs(found[i] - expected) < 1e-12 * expected


def test_quantiles():
    s, a, b = cases(1500, 3)
    u = chances(1500, 4)
    part = rj.split_cauchy_ppf(u, s, a, b)
    rest = rj.split_cauchy_ppf(1 - u, s, b, a)
    with mpmath.workdps(2 * DIGITS):
        for i in range(1500):
            exact = mpmath.mpf(u[i])
            if abs(part[i]) <= abs(rest[i]):
                below, above = both_tails(part[i], rest[i], s[i], a[i], b[i])
                # The bound that the docstring names; cells are linear to half of 2^-44 = 6e-14.
                assert abs(below - exact) < 1e-13
                assert min(abs(below - exact) / exact, abs(above - (1 - exact)) / (1 - exact)) < 1e-12
            else:
                # The larger part is what the smaller leaves: the nearest double, or next to it.
                ends = [law(np.nextafter(part[i], way), s[i], a[i], b[i]) for way in (-np.inf, np.inf)]
                assert ends[0] - 1e-13 < exact < ends[1] + 1e-13


def test_the_narrow_part_is_resolved():
    # F jumps from .19 to .81 over two doubles next to s: the rest is what can be solved for.
    s, a, b = 1e8, 1.0, 1e-8
    part, rest = rj.split_cauchy(s, a, b, rng=1, size=5000)
    assert np.unique(part).size < 500
    assert np.unique(rest).size == 5000
    with mpmath.workdps(DIGITS):
        assert law(np.nextafter(s, np.inf), s, a, b) - law(np.nextafter(s, 0), s, a, b) > 0.6
        levels = np.array([float(law(value, s, b, a)) for value in rest[:500]])
    # False alarms: 1e-6.
    assert stats.kstest(levels, "uniform").pvalue > 1e-6


def test_quantiles_never_fall():
    rng = np.random.default_rng(5)
    s, a, b = cases(60, 6)
    s[20:26], a[20:26], b[20:26] = [1e8, 1e8, 1e8, -1e8, 2.0, 2.0 + 1e-15], 1.0, [1, 1e-8, 1e8, 1, 1, 1]
    for i in range(60):
        knots = rj.split_cauchy_cdf([0.0, s[i] / 2, s[i]], s[i], a[i], b[i])
        knots = np.clip([*knots, 0.5, rng.random(), 1e-5 * rng.random()], 1e-150, 1 - 1e-9)
        # Doubles that follow each other, where one branch gives way to another and elsewhere.
        next_ones = knots[:, None] + np.spacing(knots)[:, None] * np.arange(-100, 101)
        u = np.sort(np.concatenate([next_ones.ravel(), rng.random(1000), 10 ** rng.uniform(-199, 0, 1000)]))
        part, rest = rj.split_cauchy_ppf(u, s[i], a[i], b[i]), rj.split_cauchy_ppf(1 - u, s[i], b[i], a[i])
        assert np.all(part[1:] >= part[:-1])
        assert np.all(rest[1:] <= rest[:-1])


def test_where_the_poles_meet():
    u = np.array([1e-12, 0.01, 0.3, 0.5, 0.9])
    for s, b in ((0.0, 2.0), (1e-15, 2.0), (1e-18, np.nextafter(2.0, 3))):
        found = rj.split_cauchy_ppf(u, s, 2.0, b)
        # The limit is within a distance of 1e-15 of the law; quantiles of t are good to 1e-13.
        assert found == pytest.approx(2 / np.sqrt(3) * stats.t.ppf(u, 3), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("method", ["inversion", "rejection"])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (3.0, 0.01), (0.2, 1.0)])
def test_parts_of_cauchy_sums_are_cauchy(method, a, b):
    rng = np.random.default_rng(7)
    s = (a + b) * rng.standard_cauchy(20_000)
    part, rest = rj.split_cauchy(s, a, b, rng=rng, method=method)
    levels = [stats.cauchy.cdf(part, scale=a), stats.cauchy.cdf(rest, scale=b)]
    # Parts and rests are Cauchy variables, and independent: 3 tests of level 1e-7 in each of 6 cases.
    for level in levels:
        assert stats.kstest(level, "uniform").pvalue > 1e-7
    table = np.histogram2d(*levels, bins=5, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(table.ravel()).pvalue > 1e-7


@pytest.mark.parametrize("method", ["inversion", "rejection"])
@pytest.mark.parametrize("case", [(0.0, 1.0, 1.0), (4.0, 1.0, 0.5), (-100.0, 1.0, 3.0), (1e3, 1e-3, 1.0)])
def test_draws_of_one_sum(method, case):
    part, rest = rj.split_cauchy(*case, rng=8, size=20_000, method=method)
    assert part + rest == pytest.approx(case[0], abs=1e-15 * np.abs([part, rest]).max())
    s, a, b = case
    # Levels of the smaller of part and rest, as one cannot tell large parts apart.
    small = np.abs(part) <= np.abs(rest)
    level = np.where(small, rj.split_cauchy_cdf(part, s, a, b), 1 - rj.split_cauchy_cdf(rest, s, b, a))
    # 8 tests of level 1e-7.
    assert stats.kstest(level, "uniform").pvalue > 1e-7


def test_parts_of_normal_sums_are_normal():
    rng = np.random.default_rng(9)
    for a, b in ((1.0, 1.0), (3.0, 0.01), (0.2, 1.0)):
        s = np.hypot(a, b) * rng.standard_normal(20_000)
        part, rest = rj.split_gaussian(s, a, b, rng=rng)
        levels = [stats.norm.cdf(part, scale=a), stats.norm.cdf(rest, scale=b)]
        # 9 tests of level 1e-7.
        for level in levels:
            assert stats.kstest(level, "uniform").pvalue > 1e-7
        table = np.histogram2d(*levels, bins=5, range=[[0, 1], [0, 1]])[0]
        assert stats.chisquare(table.ravel()).pvalue > 1e-7
        assert part + rest == pytest.approx(s, abs=1e-15 * np.abs([part, rest]).max())


def test_quantiles_and_probabilities_at_the_ends():
    assert rj.split_cauchy_ppf([0, 1], 3, 1, 2).tolist() == [-np.inf, np.inf]
    assert rj.split_cauchy_cdf([-np.inf, -1e300, 1e300, np.inf], 3, 1, 2).tolist() == [0, 0, 1, 1]


def test_scales_far_apart():
    # Lengths are in units of the larger scale, so that squares neither overflow nor vanish.
    part, rest = rj.split_cauchy([1e-120, 1e60], [1e-125, 1e-3], [1e-120, 1e-8], rng=1)
    assert part + rest == pytest.approx([1e-120, 1e60], rel=1e-15)
    assert rj.split_cauchy_cdf(2e-120, 1e-120, 1e-125, 1e-120) == pytest.approx(
        rj.split_cauchy_cdf(2, 1, 1e-5, 1), rel=1e-14
    )
    with pytest.raises(rj.ParameterError, match=r"within a factor of 1e\+70"):
        rj.split_cauchy(1.0, 1e-80, 1.0)


def test_shapes():
    part, rest = rj.split_cauchy(np.ones((3, 1)), [1.0, 2.0], 1.0, rng=1)
    assert part.shape == rest.shape == (3, 2)
    assert rj.split_gaussian(1.0, 1, 1, rng=1, size=(2, 0))[0].shape == (2, 0)
    assert rj.split_cauchy(np.ones(3), 1, 1, rng=1, size=(2, 3))[0].shape == (2, 3)
    assert rj.split_cauchy_cdf([[0.0], [1.0]], [1.0, 2.0, 3.0], 1, 1).shape == (2, 3)
    assert all(isinstance(value, float) for value in rj.split_cauchy(1, 1, 1, rng=1))
    assert rj.split_cauchy(1, 1, 1, rng=5) == rj.split_cauchy(1, 1, 1, rng=5)


@pytest.mark.parametrize("split", [rj.split_gaussian, rj.split_cauchy])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.inf, 1, 1), "'s' parameter .* must be finite numbers"),
        ((np.nan, 1, 1), "'s' parameter .* must be finite numbers"),
        (("a", 1, 1), "'s' parameter"),
        ((1.0, -1, 1), "'(sd1|scale1)' parameter .* above 0. Got -1"),
        ((1.0, [1, 0], 1), "'(sd1|scale1)' parameter .* above 0"),
        ((1.0, 1, 0), "'(sd2|scale2)' parameter .* above 0. Got 0"),
        ((1.0, 1, np.nan), "'(sd2|scale2)' parameter"),
        ((1.0, 1, [1, -2]), "'(sd2|scale2)' parameter"),
        ((1.0, 1, np.inf), "'(sd2|scale2)' parameter"),
        (([1.0, 2.0], [1, 2, 3], 1), "shapes that broadcast"),
        (([[1.0], [2.0, 3.0]], 1, 1), "'s' parameter"),
    ],
)
def test_errors(split, arguments, message):
    with pytest.raises(rj.ParameterError, match=message):
        split(*arguments)


@pytest.mark.parametrize("size", [-1, 2.5, (2,), "a"])
def test_errors_of_size(size):
    with pytest.raises(rj.ParameterError, match="'size' parameter of split_cauchy"):
        rj.split_cauchy([1.0, 2.0, 3.0], 1, 1, size=size)


def test_errors_of_probabilities_and_methods():
    with pytest.raises(rj.ParameterError, match="'u' parameter"):
        rj.split_cauchy_ppf(1.5, 1, 1, 1)
    with pytest.raises(rj.ParameterError, match="'x' parameter"):
        rj.split_cauchy_cdf(np.nan, 1, 1, 1)
    with pytest.raises(rj.ParameterError, match="'method' parameter"):
        rj.split_cauchy(1, 1, 1, method="slice")


def test_distribution_functions_are_at_most_one():
    """One was 1.0000000000000004; the others are near its arguments."""
    x, scale = 3595195304.782941, 1.3083331533808227e-06
    at = x * (1 + 1e-3 * np.arange(-50, 50))
    found = rj.split_cauchy_cdf(at, 0.0, scale, 2223589680.9691663)
    assert found.max() <= 1.0
    assert found.min() > 0.9
    assert rj.split_cauchy_cdf(x, 0.0, scale, 2223589680.9691663) == 1.0
    assert rj.split_cauchy_cdf(-at, 0.0, scale, 2223589680.9691663).min() >= 0.0
