"""Predictions: linear predictors of new cases have the law of all coefficients, compressed or not."""

import numpy as np
import pandas as pd
import pytest
from pattern_cases import make_features
from reference_groups import list_patterns
from scipy import stats

import pyrjsel as rj
from pyrjsel.patterns import find_groups
from pyrjsel.patterns.matching import match
from pyrjsel.patterns.prediction import class_probabilities, linear_predictors, predict_probabilities

KINDS = ["interactions", "sequence"]
FAMILIES = ["cauchy", "gaussian"]


def small(kind):
    """Twelve cases of four features, and three that they do not have."""
    rng = np.random.default_rng(11)
    codes = rng.integers(0, 2, size=(12, 4))
    codes[0], codes[1] = 0, 1
    if kind == "interactions":
        codes[:, 2] = codes[:, 1]
        new = [[0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, -1]]
    else:
        codes[codes[:, 2] == 1, 1] = 0
        new = [[0, 1, 1, 1], [0, 1, 1, 0], [-1, 1, 1, 0]]
    return make_features(codes, kind, 4 if kind == "sequence" else 3), np.array(new, dtype=np.int32)


@pytest.mark.parametrize("unseen_levels", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
def test_predictors_have_the_law_of_all_coefficients(kind, family, unseen_levels):
    features, new = small(kind)
    groups = find_groups(features)
    rng, n_draws = np.random.default_rng(12), 20_000
    sigma = np.exp(rng.normal(-1, 0.5, size=(n_draws, features.order + 1)))
    # Coefficients of all patterns, those of the three cases too, drawn from their prior.
    homes = {tuple(groups.extent(g)): g for g in range(groups.n_groups)}
    home = {pattern: homes[extent] for pattern, extent in list_patterns(features).items()}
    sums, direct = np.zeros((n_draws, 1, groups.n_groups)), np.zeros((n_draws, 3))
    wanted = {pattern: [] for pattern in home}
    for i, case in enumerate(new):
        known = np.where(case < 0, 2, case)  # the unseen level is one more
        every = make_features(np.vstack([known, 1 - np.minimum(known, 1)]), kind, features.order)
        for pattern, extent in list_patterns(every).items():
            if 0 in extent and (unseen_levels or 2 not in pattern):
                wanted.setdefault(pattern, []).append(i)
    for pattern, cases in wanted.items():
        order = int((np.array(pattern) >= 0).sum())
        noise = rng.standard_cauchy(n_draws) if family == "cauchy" else rng.standard_normal(n_draws)
        if pattern in home:
            sums[:, 0, home[pattern]] += sigma[:, order] * noise
        for i in cases:
            direct[:, i] += sigma[:, order] * noise
    (matches,) = match(groups, features, new, unseen_levels=unseen_levels)
    assert len(matches.inside) > 0
    assert matches.unseen.any()
    # Jointly with what is known of the sums: 3 cases x 3 tests of level 1e-7 (of 8 such tests). Half of the
    # draws are split, the others are those of the coefficients themselves.
    half = n_draws // 2
    split = np.concatenate(list(linear_predictors(sums[:half], sigma[:half], family, matches, rng)))
    for i in range(3):
        (whole,) = np.nonzero(matches.part[matches.indptr[i] : matches.indptr[i + 1]] >= 0)
        known = (
            sums[:, 0, matches.group[matches.indptr[i] + whole]].sum(axis=1) if whole.size else sums[:, 0, 1]
        )
        for weight in (0.0, 1.0, -1.0):
            first = split[i, :, 0] + weight * known[:half]
            second = direct[half:, i] + weight * known[half:]
            assert stats.ks_2samp(first, second).pvalue > 1e-7


def test_gaussian_predictors_have_the_mean_and_variance_of_the_formula():
    features, new = small("interactions")
    groups = find_groups(features)
    rng, n_draws = np.random.default_rng(13), 40_000
    sums = np.tile(rng.normal(size=(1, 2, groups.n_groups)), (n_draws, 1, 1))
    sigma = np.tile([2.0, 1.0, 0.5, 0.3], (n_draws, 1))
    (matches,) = match(groups, features, new)
    found = np.concatenate(list(linear_predictors(sums, sigma, "gaussian", matches, rng)))
    for i in range(3):
        mean, variance = np.zeros(2), matches.unseen[i] @ sigma[0] ** 2
        for k in range(matches.indptr[i], matches.indptr[i + 1]):
            s, row = sums[0, :, matches.group[k]], matches.part[k]
            if row < 0:
                mean += s
                continue
            inside, outside = matches.inside[row] @ sigma[0] ** 2, matches.outside[row] @ sigma[0] ** 2
            mean += s * inside / (inside + outside)
            variance += inside * outside / (inside + outside)
        # Six standard errors.
        assert found[i].mean(axis=0) == pytest.approx(mean, abs=6 * np.sqrt(variance / n_draws) + 1e-12)
        assert found[i].var(axis=0) == pytest.approx(variance, rel=6 * np.sqrt(2 / n_draws))


@pytest.mark.parametrize("kind", KINDS)
def test_uncompressed_predictors_need_no_split(kind):
    features, new = small(kind)
    groups = find_groups(features, compress=False)
    rng = np.random.default_rng(14)
    sums, sigma = rng.normal(size=(5, 3, groups.n_groups)), np.zeros((5, features.order + 1))
    found = np.concatenate(
        [
            p
            for block in match(groups, features, new)
            for p in linear_predictors(sums, sigma, "gaussian", block, rng)
        ]
    )
    expressed = ((groups.shortest == new[:, None, :]) | (groups.shortest < 0)).all(axis=2)
    expected = np.einsum("mg,dcg->mdc", expressed.astype(float), sums)
    assert found == pytest.approx(expected, abs=1e-12)


def test_probabilities():
    assert class_probabilities(np.array([[0.0], [800.0]])).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    three = class_probabilities(np.array([1.0, 2.0, 3.0]))
    assert three == pytest.approx(np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum())


def test_blocks_of_cases_and_repeats_agree():
    features, _ = small("sequence")
    groups = find_groups(features)
    rng = np.random.default_rng(15)
    sums = rng.normal(size=(60_000, 1, groups.n_groups))
    sigma = np.full((60_000, 5), 0.1)
    # Twelve cases of 60,000 draws are more than one block; cases of the fit have nothing to split.
    (matches,) = match(groups, features, features.codes)
    blocks = list(linear_predictors(sums, sigma, "cauchy", matches, rng))
    assert len(blocks) == 1
    wide = np.tile(features.codes, (2, 1))
    (matches,) = match(groups, features, wide)
    blocks = list(linear_predictors(sums, sigma, "cauchy", matches, rng))
    assert len(blocks) == 2
    one, two = (
        predict_probabilities(
            sums, sigma, "cauchy", groups, features, wide, np.random.default_rng(1), repeats
        )
        for repeats in (1, 2)
    )
    assert one == pytest.approx(two, abs=1e-12)
    assert one[:12] == pytest.approx(one[12:], abs=1e-12)
    assert one.sum(axis=1) == pytest.approx(np.ones(24))


def test_no_rows():
    features, _ = small("interactions")
    groups = find_groups(features)
    sums, sigma = np.zeros((4, 3, groups.n_groups)), np.ones((4, 4))
    empty = np.empty((0, 4), dtype=np.int32)
    assert predict_probabilities(
        sums, sigma, "cauchy", groups, features, empty, np.random.default_rng(1)
    ).shape == (0, 3)


@pytest.mark.filterwarnings("ignore:The run has")
def test_all_missing_columns_are_listed():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.choice(list("pq"), (40, 4)), columns=list("abcy"))
    results = rj.pattern_logit("y ~ interactions(a, b, c, order=2)", data).fit(
        draws=20, chains=1, rng=1, progress=False
    )
    with pytest.raises(rj.UnknownNameError, match="needs 2 columns that the data do not have: 'a', 'c'"):
        results.predict(data[["b"]])
