"""Compiled marginal likelihoods of gaussian models against their twin in plain numpy."""

import numpy as np
import pytest
from reference_linear import LinearTwin

from pyrjsel._errors import DataError
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.evidence.gaussian import evidence_of, provider_of, score_of
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.criteria import EmpiricalBayes
from pyrjsel.selection.priors.g_mixtures import HyperG, ZellnerSiow
from pyrjsel.selection.regression._gram import ColumnGram, FullGram
from pyrjsel.selection.regression.gaussian import GaussianRegression

SIZES = (1, 2, 1, 3, 1)


def truth(case):
    return {bytes(gamma): case.twin.value(gamma) for gamma in case.models}


def check_neighbours(evidence, case, values):
    for gamma in case.models:
        base = values[bytes(gamma)]
        if base == -np.inf:
            with pytest.raises(ValueError, match="no coefficient prior"):
                evidence.changes_at(gamma)
            continue
        want = []
        for j in range(gamma.size):
            other = gamma.copy()
            other[j] ^= 1
            want.append(values[bytes(other)] - base)
        np.testing.assert_allclose(evidence.changes_at(gamma), want, rtol=0, atol=1e-9)


def check_walk(evidence, case, values, seed):
    """Values after each of many flips; a flip to a model without prior changes nothing."""
    gamma = np.zeros(case.regression.n_terms, dtype=np.uint8)
    evidence.values(gamma[None])
    flips = np.random.default_rng(seed).integers(0, gamma.size, 3000).astype(np.intc)
    found, want = evidence.walk(flips), []
    for j in flips:
        gamma[j] ^= 1
        value = values[bytes(gamma)]
        want.append(value if value > -np.inf else np.nan)
        if value == -np.inf:
            gamma[j] ^= 1
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-9)
    end, value = evidence.model()
    np.testing.assert_array_equal(end, gamma)
    assert value == pytest.approx(values[bytes(gamma)], abs=1e-9)


@pytest.mark.parametrize("sigma", [None, (1.5, 0.8)], ids=["flat", "inverse gamma"])
@pytest.mark.parametrize("dependent", [False, True])
def test_values_changes_and_walks(linear_kit, closed_prior, sigma, dependent):
    sigma = None if sigma is None else linear_kit.inverse_gamma(*sigma)
    case = linear_kit.case(SIZES, closed_prior, sigma=sigma, weighted=True, dependent=dependent)
    values = truth(case)
    assert (min(values.values()) == -np.inf) == (dependent and case.regression.prior.rank_tol > 0)
    evidence = evidence_of(case.regression)
    np.testing.assert_allclose(evidence.values(case.models), list(values.values()), rtol=0, atol=1e-9)
    check_neighbours(evidence, case, values)
    check_walk(evidence, case, values, 1)


@pytest.mark.parametrize("dependent", [False, True])
def test_values_of_all_patterns_of_some_terms(linear_kit, closed_prior, dependent):
    case = linear_kit.case(SIZES, closed_prior, weighted=True, dependent=dependent)
    values, evidence = truth(case), evidence_of(case.regression)
    rng, known = np.random.default_rng(7), 0
    for gamma in case.models:
        if values[bytes(gamma)] == -np.inf:
            continue
        evidence.values(gamma[None])
        terms = rng.permutation(gamma.size)[: int(rng.integers(1, gamma.size + 1))].astype(np.intc)
        found = evidence.patterns_of(terms)
        others = np.repeat(gamma[None], 1 << terms.size, axis=0)
        others[:, terms] = np.arange(1 << terms.size)[:, None] >> np.arange(terms.size) & 1
        want = [values[bytes(other)] for other in others]
        if found is None:  # left to flips, by which doubtful models are decided
            assert case.regression.prior.rank_tol > 0
            assert min(want) == -np.inf
            continue
        known += 1
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-9)
        end, value = evidence.model()  # where it was
        np.testing.assert_array_equal(end, gamma)
        assert value == pytest.approx(values[bytes(gamma)], abs=1e-9)
    assert known > (0 if dependent else len(case.models) - 1)


def test_patterns_of_many_columns_are_left_to_flips(linear_kit):
    evidence = evidence_of(linear_kit.case((9, 8, 1), GPrior("n"), n=60).regression)
    evidence.values(np.zeros((1, 3), dtype=np.uint8))
    assert evidence.patterns_of(np.array([0, 1], dtype=np.intc)) is None
    assert evidence.patterns_of(np.array([0, 2], dtype=np.intc)) is not None


@pytest.mark.parametrize("prior", [EmpiricalBayes(), HyperG(3), ZellnerSiow()], ids=repr)
def test_changes_of_columns_that_explain_from_nothing_to_nearly_all(prior):
    """R^2 from 0 to 1 - 1e-6 side by side: a mixture's interpolants are on many panels, g at its bounds."""
    rng = np.random.default_rng(8)
    y = rng.normal(size=30)
    x = y[:, None] * np.append(0.0, np.geomspace(1e-2, 300.0, 69)) + rng.normal(size=(30, 70))
    regression = GaussianRegression.build(x, y, [1] * 70, prior)
    evidence, fresh = evidence_of(regression), evidence_of(regression)
    for inside in ([], [0], [1, 20, 40]):
        gamma = np.zeros(70, dtype=np.uint8)
        gamma[inside] = 1
        want = fresh.values(gamma ^ np.eye(70, dtype=np.uint8)) - fresh.values(gamma[None])
        # 1 - R^2 > 1e-6 has a relative rounding error of some 1e-10, and its power is nu / 2 < 15.
        np.testing.assert_allclose(evidence.changes_at(gamma), want, rtol=0, atol=1e-8)


@pytest.mark.parametrize("dependent", [False, True])
def test_changes_of_many_lone_columns(linear_kit, closed_prior, dependent):
    """Changes by all terms, found in one vectorised pass, against the models one by one.

    Forty terms of one column: more than a vector has, of no multiple of its length once some are in.
    """
    case = linear_kit.case((1,) * 40, closed_prior, n=60, dependent=dependent)
    evidence, fresh = evidence_of(case.regression), evidence_of(case.regression)
    rng = np.random.default_rng(6)
    for size in (0, 1, 3, 12, 37):
        gamma = np.zeros(40, dtype=np.uint8)
        gamma[rng.permutation(39)[:size]] = 1
        others = gamma ^ np.eye(40, dtype=np.uint8)
        want = fresh.values(others) - fresh.values(gamma[None])
        np.testing.assert_allclose(evidence.changes_at(gamma), want, rtol=0, atol=1e-9)


@pytest.mark.parametrize("sizes", [[1] * 5000, [2] + [1] * 4999], ids=["one", "two"])
def test_changes_of_thousands_of_columns(sizes):
    """Beyond 4,096 terms changes are computed in parts, where a term of the model may be in any."""
    rng = np.random.default_rng(9)
    y, x = rng.normal(size=20), rng.normal(size=(20, sum(sizes)))
    regression = GaussianRegression.build(x, y, sizes, Normal(0.8))
    evidence, fresh = evidence_of(regression), evidence_of(regression)
    gamma = np.zeros(len(sizes), dtype=np.uint8)
    gamma[[7, 4095, 4096, 4999]] = 1
    found, value = evidence.changes_at(gamma), fresh.values(gamma[None])[0]
    for term in (0, 7, 8, 4094, 4095, 4096, 4097, 4998, 4999):
        gamma[term] ^= 1
        np.testing.assert_allclose(found[term], fresh.values(gamma[None])[0] - value, rtol=0, atol=1e-9)
        gamma[term] ^= 1


@pytest.mark.parametrize("prior", [GPrior("n"), Normal(0.8)], ids=["g", "normal"])
def test_cross_products_on_demand_give_the_same(linear_kit, prior):
    case = linear_kit.case(SIZES, prior)
    r = case.regression
    evidence = evidence_of(r, ColumnGram(r.rooted, r.prior.precision, 3))
    values = truth(case)
    np.testing.assert_allclose(evidence.values(case.models), list(values.values()), rtol=0, atol=1e-9)
    check_walk(evidence, case, values, 2)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("kind", ["full", "g", "diagonal"])
def test_a_quadratic_log_likelihood_with_a_base_column(linear_kit, kind, flat):
    """Known variance, an intercept that every model has, and a prior that is any matrix."""
    case = linear_kit.case(SIZES, GPrior("n"), dependent=kind == "g")
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(len(case.x)), case.x / case.x.std(axis=0)])
    weight = rng.uniform(0.2, 1.5, len(x))
    h, c = (x.T * weight) @ x, x.T @ rng.normal(size=len(x))
    start = case.regression.term_start
    mean = rng.normal(size=len(c)) * 0.3
    if kind == "full":
        root = rng.normal(size=h.shape)
        p = root @ root.T + np.eye(len(c))
    elif kind == "g":
        centred = x - np.where(np.arange(len(c)) > 0, x.mean(axis=0), 0)
        p = centred.T @ centred / 20
    else:
        p = np.diag(rng.uniform(0.5, 2, len(c)))
    if flat:
        p[0], p[:, 0], mean[0] = 0.0, 0.0, 0.0
    if kind != "diagonal":
        mean[:] = 0.0
    tol = 1e-10 if kind != "diagonal" else 0.0
    given = {"prior": FullGram(np.ascontiguousarray(p)), "flat": int(flat), "rank_tol": tol}
    if kind == "diagonal":
        weights = np.log(np.where(np.diag(p) > 0, np.diag(p), 1.0))
        given = {"log_weights": weights, "penalty": np.diag(p) * mean**2}
    evidence = ConjugateEvidence(GaussianScore.known(), FullGram(h + p), c + p @ mean, start, **given)
    twin = LinearTwin(h, c, 0.0, start, 0, precision=p, mean=mean, flat=int(flat), known=True, rank_tol=tol)
    values = {bytes(gamma): twin.value(gamma) for gamma in case.models}
    assert (min(values.values()) == -np.inf) == (kind == "g")
    np.testing.assert_allclose(evidence.values(case.models), list(values.values()), rtol=0, atol=1e-9)
    check_neighbours(evidence, case, values)
    check_walk(evidence, case, values, 3)


def test_models_have_no_more_columns_than_rows_allow(linear_kit):
    """With n = 6, a g-prior allows 5 columns; a normal prior any number."""
    case = linear_kit.case((1,) * 8, GPrior(4.0), n=6)
    values = evidence_of(case.regression).values(case.models)
    np.testing.assert_array_equal(np.isinf(values), case.models.sum(axis=1) > 5)
    gamma = np.array([1, 1, 1, 1, 1, 0, 0, 0], dtype=np.uint8)
    changes = evidence_of(case.regression).changes_at(gamma)
    np.testing.assert_array_equal(np.isinf(changes), gamma == 0)
    case = linear_kit.case((1,) * 8, Normal(1.0), n=6)
    assert np.isfinite(evidence_of(case.regression).values(case.models)).all()


def test_what_rounding_has_eaten_is_an_error(linear_kit):
    """Dependent columns under a normal prior that is all but flat: the determinant is rounding."""
    case = linear_kit.case((1, 1, 1), Normal(1e9), dependent=True)
    evidence = evidence_of(case.regression)
    with pytest.raises(DataError, match="smaller scale"):
        evidence.values(case.models)
    case = linear_kit.case((1, 1, 1), Normal(1e3), dependent=True)
    # A share of 1e-8 is left: 8 digits of the determinant.
    np.testing.assert_allclose(
        evidence_of(case.regression).values(case.models), [case.twin.value(g) for g in case.models], atol=1e-6
    )


def test_arguments_that_do_not_fit_are_refused(linear_kit):
    case = linear_kit.case((1, 2), GPrior("n"))
    r = case.regression
    with pytest.raises(ValueError, match="fit together"):
        ConjugateEvidence(score_of(r, 3), provider_of(r), r.right[:2], r.starts)
    with pytest.raises(ValueError, match="replaces log_weights"):
        ConjugateEvidence(
            score_of(r, 3), provider_of(r), r.right, r.starts, prior=provider_of(r), log_weights=np.zeros(3)
        )
    with pytest.raises(ValueError, match="2 terms"):
        evidence_of(r).values(np.zeros((1, 3), dtype=np.uint8))
