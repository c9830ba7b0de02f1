"""Checks of the best models: separation and overdispersion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.stats import chi2

from pyrjsel._errors import DataError, DispersionWarning, SeparationWarning
from pyrjsel._typing import ByteArray
from pyrjsel._validate import beyond, listed
from pyrjsel._warnings import warn
from pyrjsel.design import DesignData
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SelectionModel, SingleModel
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
    sign = regression.family.recession(y)
    mixed = sign == 0
    signed = x * sign[:, None]
    outer, both = signed[~mixed], x[mixed]
    found = linprog(
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
    column_terms = np.concatenate([[-1], np.repeat(np.arange(regression.n_terms), sizes)])
    return sorted({int(t) for t in column_terms[columns[np.abs(found.x) > 1e-6]] if t >= 0})


def separated_completely(regression: Regression, gamma: ByteArray) -> bool:
    """Return whether linear predictors of model `gamma` (J,) tell all successes and failures apart."""
    weights = np.ones(regression.y.size) if regression.weights is None else regression.weights
    used = weights > 0
    sign = regression.family.recession(regression.y[used])
    if np.any(sign == 0):
        return False
    signed = regression.columns[regression.model_columns(gamma)][:, used].T * sign[:, None]
    zero, least = np.zeros(signed.shape[1]), np.ones(len(signed))
    return bool(linprog(zero, A_ub=-signed, b_ub=-least, bounds=(None, None), method="highs").success)


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


# Powers of 1 / g as in ``Mixture.tail`` up to which separated classes leave no posterior.
HEAVIEST = 0.5
# Models with at least this posterior probability are checked, up to a limit.
MASS, MODELS = 0.005, 50

Separated = dict[tuple[str, ...], tuple[str, ...]]


def look_for_separation(model: SelectionModel, posterior: Posterior, single: SingleModel) -> Separated:
    """Return the best models that separate the classes, and the terms that cause the separation.

    Raises
    ------
    DataError
        If a model has no posterior: given g, likelihoods integrated over a flat intercept increase as the
        square root of g if classes are separated completely, and the prior of g decreases no faster.

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
    mixture = single.regression.prior.mixture
    if mixture is not None and mixture.tail <= HEAVIEST:
        for row in found:
            if separated_completely(single.regression, posterior.packed[row]):
                shown = " + ".join(model.space.terms_of(posterior.packed[row]))
                raise DataError(
                    f"The model {shown} separates the classes completely: under {model.coef_prior!r} its "
                    "marginal likelihood is infinite, and there is no posterior. Use another 'coef_prior', "
                    "as GPrior(g), Normal(sd), HyperG(a) or HyperGN(a) with a > 3, or leave out terms."
                )
    if result:
        culprits = list(dict.fromkeys(name for terms in result.values() for name in terms))
        best = f"{len(result)} of the {some} best models" if some > 1 else "the best model"
        warn(
            f"{model.regression.family.apart} by {listed(culprits)} in {best}: maximum likelihood "
            "estimates are infinite there, and the posterior depends strongly on the coefficient prior.",
            SeparationWarning,
        )
    return result


# Limits of Pearson's chi-square over its degrees of freedom, and of its p-value, for a warning.
RATIO, LEVEL = 1.5, 1e-3
# Rows with a smaller fitted variance are omitted: a single one could dominate the statistic.
LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class Dispersion:
    """Pearson's chi-square of the best model, at its posterior mode.

    Attributes
    ----------
    statistic : float
        Sum over rows of squared residuals divided by their variances.
    df : int
        Number of rows minus number of columns of the model.
    p_value : float
        Probability of a larger statistic under a gamma distribution with the mean and variance of the
        statistic if the family is correct; for rows with many events, the chi-square distribution.
    """

    statistic: float
    df: int
    p_value: float

    @property
    def ratio(self) -> float:
        """The statistic divided by its degrees of freedom."""
        return self.statistic / self.df

    @property
    def over(self) -> bool:
        """Whether the responses are overdispersed."""
        return self.ratio > RATIO and self.p_value < LEVEL

    @classmethod
    def of(cls, squares: np.ndarray, excess: np.ndarray, columns: int) -> Dispersion | None:
        """Return the test of squared standardised residuals (n,), None if no degree of freedom is left.

        `excess` (n,) is their variance minus 2, the variance of the square of a normal residual.
        """
        df = len(squares) - columns
        if df < 1:
            return None
        scale = float(np.mean(2.0 + excess)) / 2.0
        statistic = float(squares.sum())
        return cls(statistic, df, float(chi2.sf(statistic / scale, df / scale)))


def look_for_dispersion(
    model: SelectionModel, posterior: Posterior, single: SingleModel
) -> Dispersion | None:
    """Return Pearson's chi-square of the best model; None if it is not informative.

    It is informative for counts, and for proportions if rows have more than one trial.

    Warns
    -----
    DispersionWarning
        If the responses are overdispersed.
    """
    found = _dispersion(model, posterior, single)
    if found is not None and found.over:
        warn(text(found), DispersionWarning)
    return found


def text(found: Dispersion) -> str:
    """Return the warning about overdispersed responses."""
    return (
        f"The responses are overdispersed: Pearson's chi-square of the best model is "
        f"{beyond(found.ratio, RATIO)} times its {found.df:,} degrees of freedom (p < {LEVEL:g}). Inclusion "
        "probabilities are then too extreme and intervals too narrow."
    )


def _dispersion(model: SelectionModel, posterior: Posterior, single: SingleModel) -> Dispersion | None:
    regression, data = model.regression, model.data
    if not isinstance(regression, Regression) or not isinstance(data, DesignData):
        return None
    family = regression.family
    weights = data.extras.get("weights", np.ones(data.n))
    if not family.tells_dispersion(weights):
        return None
    assert isinstance(single, MarginalLikelihood)
    integral = single.approximate(posterior.packed[0])
    b = integral.moments[0] / np.concatenate([[1.0], regression.scale])[integral.columns]
    eta = b[0] + data.X[:, integral.columns[1:] - 1] @ b[1:]
    if "offset" in data.extras:
        eta = eta + data.extras["offset"]
    mean = family.mean(eta)
    variance = weights * family.variance(mean)
    rows = np.isfinite(variance) & (variance > LEAST_VARIANCE)
    gap = weights[rows] * (data.y[rows] - mean[rows])
    excess = family.excess(mean[rows]) / weights[rows]
    return Dispersion.of(gap**2 / variance[rows], excess, integral.columns.size)
