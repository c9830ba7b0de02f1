"""Models that separate the classes, whose likelihoods have no maximum."""

from __future__ import annotations

import numpy as np
import scipy

from pyrjsel._called import warn
from pyrjsel._errors import DataError, SeparationWarning
from pyrjsel._typing import ByteArray
from pyrjsel._validate import listed
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SelectionModel, SingleModel
from pyrjsel.selection.regression.columns import independent
from pyrjsel.selection.regression.glm import Regression


def separated(regression: Regression, gamma: ByteArray) -> list[int]:
    """Return the terms of model `gamma` (J,) whose likelihood has no maximum; empty if it has one.

    Linear programming (Konis, 2007) finds a direction b along which the likelihood increases without bound.
    In a logistic model, ``x_i'b >= 0`` for every success, ``<= 0`` for every failure, and not all 0: the
    classes are separated. In a Poisson model, ``x_i'b <= 0`` for rows without events and 0 for all others.
    """
    columns = regression.model_columns(gamma)
    weights = np.ones(regression.y.size) if regression.weights is None else regression.weights
    used = weights > 0
    y, x = regression.y[used], regression.columns[columns][:, used].T
    outer, both = regression.family.recession_rows(y, x)
    found = scipy.optimize.linprog(
        -outer.sum(axis=0),
        A_ub=-outer,
        b_ub=np.zeros(len(outer)),
        A_eq=both if len(both) else None,
        b_eq=np.zeros(len(both)) if len(both) else None,
        bounds=(-1.0, 1.0),
        method="highs",
    )
    # The solver's feasibility tolerance is 1e-7 per row.
    if not found.success or -found.fun <= 1e-6 * len(y):
        return []
    sizes = np.diff(regression.term_start)
    column_terms = np.repeat(np.arange(-1, regression.n_terms), [regression.leading, *sizes])
    return sorted({int(t) for t in column_terms[columns[np.abs(found.x) > 1e-6]] if t >= 0})


def separated_completely(regression: Regression, gamma: ByteArray) -> bool:
    """Return whether linear predictors of model `gamma` (J,) tell all successes and failures apart."""
    weights = np.ones(regression.y.size) if regression.weights is None else regression.weights
    used = weights > 0
    x = regression.columns[regression.model_columns(gamma)][:, used].T
    signed, both = regression.family.recession_rows(regression.y[used], x)
    if len(both):
        return False
    zero, least = np.zeros(signed.shape[1]), np.ones(len(signed))
    return bool(
        scipy.optimize.linprog(zero, A_ub=-signed, b_ub=-least, bounds=(None, None), method="highs").success
    )


def separated_models(
    regression: Regression, finder: ModeFinder, gammas: ByteArray
) -> dict[int, tuple[int, ...]]:
    """Return, for the separated models (rows of `gammas`), sets of terms that separate by themselves.

    A model with a separating set of terms is separated: smaller models are checked first, and linear programs
    are solved only for models without a known separating set.
    """
    found: dict[int, tuple[int, ...]] = {}
    known: list[tuple[int, ...]] = []
    for row in np.argsort(gammas.sum(axis=1), kind="stable").tolist():
        gamma = np.ascontiguousarray(gammas[row], dtype=np.uint8)
        terms = next((each for each in known if gamma[list(each)].all()), None)
        if terms is None:
            _, *extremes = finder.maximum_likelihood(gamma)
            suspect = regression.family.strays(*extremes)
            terms = _fewest(regression, separated(regression, gamma)) if suspect else ()
            if not terms:
                continue
            known.append(terms)
        found[row] = terms
    return dict(sorted(found.items()))


def _fewest(regression: Regression, terms: list[int]) -> tuple[int, ...]:
    """Remove, one by one, terms without which the others still separate the classes."""
    for term in list(terms):
        gamma = np.zeros(regression.n_terms, dtype=np.uint8)
        gamma[[other for other in terms if other != term]] = 1
        if term in terms and gamma.any():
            terms = separated(regression, gamma) or terms
    return tuple(terms)


# Powers of 1 / g as in ``Mixture.tail``, for one intercept, up to which separated classes leave no posterior.
HEAVIEST = 0.5
# Terms of which a largest model is made: the rank of each of its parts takes the cube of their number.
MOST_TERMS = 256
# Models with at least this posterior probability are checked, up to a limit.
MASS, MODELS = 0.005, 50

Separated = dict[tuple[str, ...], tuple[str, ...]]


def look_for_separation(model: SelectionModel, posterior: Posterior, single: SingleModel) -> Separated:
    """Return the best models that separate the classes, and the terms that cause the separation.

    Raises
    ------
    DataError
        If one of the best models or a largest one has no posterior, see ``_refuse_infinite``.

    Warns
    -----
    SeparationWarning
        If there are any.
    """
    if not isinstance(single, MarginalLikelihood):  # least squares estimates are finite
        return {}
    some = max(int(np.sum(posterior.probability[:MODELS] >= MASS)), 1)
    found = separated_models(single.regression, single.finder, posterior.packed[:some])
    names = model.term_names
    result = {
        model.space.terms_of(posterior.packed[row]): tuple(names[j] for j in terms)
        for row, terms in found.items()
    }
    mixture, models = single.regression.prior.mixture, [posterior.packed[row] for row in found]
    if mixture is not None and mixture.tail <= _growth(single.regression):
        _refuse_infinite(model, single, models)
    if result:
        culprits = list(dict.fromkeys(name for terms in result.values() for name in terms))
        best = f"{len(result)} of the {some} best models" if some > 1 else "the best model"
        warn(
            f"{model.regression.family.apart} by {listed(culprits)} in {best}: maximum likelihood "
            "estimates are infinite there, and the posterior depends strongly on the coefficient prior."
            + _missing_moments(model, single, models),
            SeparationWarning,
        )
    return result


def _growth(regression: Regression) -> float:
    """Return the power of g as which likelihoods under complete separation grow, integrated given g.

    They are integrals over L flat intercepts. Without any, as of the partial likelihood, they have an upper
    bound.
    """
    return HEAVIEST * regression.leading if regression.family.has_intercept else 0.0


def _missing_moments(model: SelectionModel, single: MarginalLikelihood, separated: list[ByteArray]) -> str:
    """Return a sentence on moments of coefficients that do not exist or are hard to estimate, or nothing.

    Under complete separation the posterior density of log g decreases as the power ``tail - L / 2`` of 1 / g
    with L intercepts, and moments of order k of coefficients given g increase as the power k / 2 of g.
    Estimates of standard deviations have finite variances if the fourth moments exist.
    """
    regression = single.regression
    mixture = regression.prior.mixture
    power = np.inf if mixture is None else mixture.tail - _growth(regression)
    if power > 2.0 or not any(separated_completely(regression, gamma) for gamma in separated):
        return ""
    if power <= 0.5:
        said = "have no posterior means or standard deviations"
    elif power <= 1.0:
        said = "have no posterior standard deviations, and their means are imprecise"
    else:
        said = "have heavy-tailed posteriors, whose means and standard deviations are imprecise"
    return (
        f" Under {model.coef_prior!r}, coefficients of models that separate the classes completely {said}: "
        "use another 'coef_prior', as GPrior(g) or Normal(sd), for them."
    )


def _refuse_infinite(model: SelectionModel, single: MarginalLikelihood, separated: list[ByteArray]) -> None:
    """Raise :class:`DataError` if a model separates the classes completely under a heavy-tailed mixture.

    Given g, likelihoods integrated over L flat intercepts then increase as the power L / 2 of g, and the
    prior of g decreases no faster: the marginal likelihood is infinite. More columns separate what fewer do,
    so a largest model is tried too, where chains would hardly ever get.
    """
    regression = single.regression
    largest = _largest(model, regression)
    _, *extremes = single.finder.maximum_likelihood(largest)
    if regression.family.strays(*extremes):
        separated = [*separated, largest]
    for gamma in separated:
        if separated_completely(regression, gamma):
            shown = " + ".join(model.space.terms_of(gamma))
            raise DataError(
                f"The model {shown} separates the classes completely: under {model.coef_prior!r} its "
                "marginal likelihood is infinite, and there is no posterior. Use another 'coef_prior', as "
                f"GPrior(g), Normal(sd), or HyperG(a) or HyperGN(a) with a > {2 + regression.leading} (with "
                f"a > {6 + regression.leading} for reliable "
                "standard deviations), or leave out terms, or set 'max_size'."
            )


def _largest(model: SelectionModel, regression: Regression) -> ByteArray:
    """Return a model (J,) to which hardly a term can be added: terms in order, as long as it has a prior."""
    space, gamma = model.space, model.space.empty_model()
    for term in np.flatnonzero(space.free)[:MOST_TERMS]:
        gamma[term] = 1
        columns = regression.model_columns(gamma)[regression.leading :] - regression.leading
        exists = independent(regression, columns)
        if not exists or space.why_infeasible(gamma) is not None:
            gamma[term] = 0
    return gamma
