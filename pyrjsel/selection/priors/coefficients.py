"""Normal priors and g-priors on the coefficients of a model."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pyrjsel._called import called, named
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_bool, check_choice, check_real
from pyrjsel.selection.priors.base import CoefficientPrior, Columns, CompiledPrior, Rule
from pyrjsel.selection.priors.gaussian import RANK_TOL, FixedG, GaussianPrior

INFORMATION = ("unit", "null", "observed")
# Limits of scales and means of normal priors, whose squares must not overflow.
FARTHEST = 1e100
# Standard deviation of the default prior of an intercept at the log mean response.
LEVEL_SD = 2.5


@dataclass(frozen=True)
class Normal(CoefficientPrior):
    """Independent normal priors, ``beta_j ~ N(mean, scale**2)``.

    Parameters
    ----------
    scale : float
        Prior standard deviation of every coefficient, in units of response scale per unit of column
        (log odds for a logistic model, log rate for a Poisson model).
    mean : float, default 0
        Prior mean of every coefficient.
    standardize : bool, default False
        Whether the prior is on the coefficients of columns that are centred and scaled to (weighted) standard
        deviation one instead of the original columns.
    scaled : bool, optional
        Whether the variance is a multiple of the error variance. None is True for gaussian models and False
        for other families, which have no error variance and do not accept True. The error variance sigma^2 is
        that of a row of weight 1: with True, doubling all weights of a gaussian model doubles the prior
        variances.
    intercept : None, "flat" or Normal, optional
        Prior of the intercept, for the original columns, or for the standardised ones with `standardize`.
        None is ``Normal(10)`` for logistic and Poisson models, and in negative binomial and gamma models of
        unknown theta or shape ``Normal(2.5, m)`` at the mean of the columns, see :class:`GPrior`.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.Normal(2.0, standardize=True)
    Normal(scale=2.0, mean=0.0, standardize=True, scaled=None, intercept=None)
    """

    scale: float
    mean: float = 0.0
    standardize: bool = False
    scaled: bool | None = None
    intercept: "str | Normal | None" = None

    def __post_init__(self) -> None:
        scale = check_real(self.scale, "scale", low=0, open_low=True)
        mean = check_real(self.mean, "mean")
        if not 1 / FARTHEST <= scale <= FARTHEST:
            raise bad_value("scale", "between 1e-100 and 1e100, since it is squared", self.scale)
        if abs(mean) > FARTHEST:
            raise bad_value("mean", "between -1e100 and 1e100, since it is squared", self.mean)
        check_bool(self.standardize, "standardize")
        if self.scaled is not None:
            check_bool(self.scaled, "scaled")
        _check_intercept(self.intercept, ("flat",))

    def _compile(self, columns: Columns) -> CompiledPrior:
        if self.scaled:
            with named("Normal"):
                raise bad_value("scaled", "None or False for a family without error variance", True)
        size = columns.mean.size
        intercept = self.intercept
        centred = intercept is None and columns.level is not None
        if intercept is None:
            intercept = Normal(10.0) if columns.level is None else Normal(LEVEL_SD, columns.level)
        variance = np.full(size + 1, float(self.scale) ** 2)
        mean = np.full(size + 1, float(self.mean))
        flat = isinstance(intercept, str)
        weight = 1.0 / variance
        if isinstance(intercept, Normal):
            weight[0], mean[0] = 1.0 / intercept.scale**2, intercept.mean
        else:
            weight[0], mean[0] = 0.0, 0.0
        log_weights = np.log(np.where(weight > 0, weight, 1.0))
        if self.standardize:
            precision, shift = np.diag(weight), weight * mean
        else:
            # beta = T b: the intercept of raw columns is a - sum m_k b_k / s_k, the slopes b_k / s_k.
            to_raw = np.diag(np.concatenate([[1.0], 1.0 / columns.scale]))
            if not centred:
                to_raw[0, 1:] = -columns.mean / columns.scale
            precision = to_raw.T @ (weight[:, None] * to_raw)
            precision = 0.5 * (precision + precision.T)
            shift = to_raw.T @ (weight * mean)
            log_weights[1:] -= 2.0 * np.log(columns.scale)
        return CompiledPrior(precision, shift, weight * mean**2, flat, 0.0, log_weights)

    def _compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        _check_flat(self)
        unit = np.ones(scale.size) if self.standardize else scale
        deviation = unit * float(self.scale)
        return GaussianPrior(
            deviation**-2.0, unit * float(self.mean), -2.0 * np.log(deviation), self.scaled is not False
        )


@dataclass(frozen=True)
class GPrior(CoefficientPrior):
    """Zellner's g-prior, ``beta_gamma ~ N(0, g phi (X_gamma' W X_gamma)^-1)``.

    phi is the error variance of a gaussian model and 1 otherwise; `information` determines W. Grouping equal
    rows does not change the prior.

    Parameters
    ----------
    g : float, "n" or "4n"
        A positive number, or n or 4 n with the sum of the weights n (the number of trials or rows); in linear
        models, whose weights are precisions, n is the number of rows of positive weight. ``"n"`` is the
        unit-information prior under ``information="null"`` and in linear models; ``"4n"`` is the
        low-information prior of Ntzoufras, Dellaportas and Forster (2003) for logistic models.
    information : {"unit", "null", "observed"}
        The information that is divided by `g`. ``"unit"``: W has the weights (numbers of trials, or of rows
        behind a mean count), so the prior does not depend on the response. ``"null"``: W has the information
        weights of the fitted null model with intercept and offset (weight times variance of the response),
        and columns are centred with them. Without an offset, this is ``"unit"`` with ``g / (p (1 - p))`` in a
        logistic model with a proportion p of events, and with ``g`` divided by the mean count in a Poisson
        model. ``"observed"``: W has the information at the maximum of each model's likelihood, where the
        likelihood is expanded to second order, as in R's BAS (Li and Clyde 2018); the prior depends on the
        response. Linear models have the same prior under all.
    intercept : None, "joint", "flat" or Normal, optional
        ``"flat"`` centres the columns and gives the intercept a flat prior (the default under
        ``information="null"``, and the only choice under ``"observed"`` and for linear models). In negative
        binomial and gamma models of unknown theta or shape the default under ``"null"`` is
        ``Normal(2.5, m)`` with the log mean response m, ``log(sum w y / sum w exp(offset))``: with a flat
        intercept expected responses have no posterior mean, since the likelihood falls too slowly in it for
        small values of theta or shape. ``"joint"``
        treats it as a column of X_gamma (the default for logistic and Poisson models under
        ``information="unit"``; not available under ``"null"``): the linear predictor at the mean of the
        columns has prior mean 0 and variance g / n. A :class:`Normal` centres the columns and is the prior of
        the linear predictor at their weighted mean.

    Examples
    --------
    The default of logistic and Poisson models, and the published prior of logistic models:

    >>> import pyrjsel as rj
    >>> rj.GPrior("n", information="null")
    GPrior(g='n', information='null', intercept=None)
    >>> rj.GPrior("4n")
    GPrior(g='4n', information='unit', intercept=None)
    """

    of_span: ClassVar[bool] = True
    g: float | str
    information: str = "unit"
    intercept: "str | Normal | None" = None

    def __post_init__(self) -> None:
        if isinstance(self.g, str):
            if self.g not in ("n", "4n"):
                raise bad_value("g", "a positive number, 'n' or '4n'", self.g)
        else:
            check_real(self.g, "g", low=0, open_low=True)
        check_choice(self.information, "information", INFORMATION)
        if self.information == "null" and isinstance(self.intercept, str) and self.intercept == "joint":
            must = "None, 'flat' or a Normal where its information is 'null'"
            raise bad_value("intercept", must, self.intercept)
        if self.information == "observed" and self.intercept not in (None, "flat"):
            raise bad_value("intercept", "None or 'flat' where its information is 'observed'", self.intercept)
        _check_intercept(self.intercept, ("joint", "flat"))

    @property
    def of_null_model(self) -> bool:
        """Whether the precision is that of the fitted null model, as a typical one under ``"observed"``."""
        return self.information != "unit"

    def value(self, total_weight: float) -> float:
        """Return g as a number.

        Parameters
        ----------
        total_weight : float
            Sum of the weights; the number of rows if there are none.

        Returns
        -------
        float
            Factor of the inverse information.
        """
        if isinstance(self.g, str):
            return total_weight if self.g == "n" else 4.0 * total_weight
        return float(self.g)

    def _compile(self, columns: Columns) -> CompiledPrior:
        size = columns.mean.size
        g = self.value(columns.total_weight)
        intercept = self.intercept
        if intercept is None:
            usual = "flat" if columns.level is None else Normal(LEVEL_SD, columns.level)
            intercept = "joint" if self.information == "unit" else usual
        precision = np.zeros((size + 1, size + 1))
        # mathematics: selection-g-prior
        np.divide(columns.gram, g, out=precision[1:, 1:])
        shift, penalty = np.zeros(size + 1), np.zeros(size + 1)
        if isinstance(intercept, Normal):
            precision[0, 0] = intercept.scale**-2
            shift[0] = intercept.mean / intercept.scale**2
            penalty[0] = (intercept.mean / intercept.scale) ** 2
        elif intercept == "joint":
            # Centring makes the constant orthogonal to the columns: the joint prior is a product.
            precision[0, 0] = columns.total_weight / g
        rule = Rule.KNOWN_G if self.information == "observed" else None
        flat = intercept == "flat"
        return CompiledPrior(
            precision,
            shift,
            penalty,
            flat,
            RANK_TOL,
            joint=intercept == "joint",
            rule=rule,
            rule_value=float(np.log(g)),
        )

    def _compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        _check_flat(self)
        zero = np.zeros(scale.size)
        return FixedG(zero, zero, zero, g=self.value(n))


def for_unit_scale(prior: CoefficientPrior) -> CoefficientPrior:
    """Return the prior at sigma = 1 of a model with a scale sigma, in the form of families without one.

    Raises
    ------
    ParameterError
        If the prior of the intercept is not flat.
    """
    if isinstance(prior, Normal):
        _check_flat(prior)
        return replace(prior, scaled=None, intercept="flat")
    if isinstance(prior, GPrior):
        _check_flat(prior)
        return replace(prior, information="unit", intercept="flat")
    return prior


def _check_flat(prior: "Normal | GPrior") -> None:
    if prior.intercept is not None and prior.intercept != "flat":
        with named(type(prior).__name__):
            raise bad_value("intercept", "None or 'flat' for linear models", prior.intercept)


def _check_intercept(value: object, words: tuple[str, ...]) -> None:
    if value is None or (isinstance(value, str) and value in words):
        return
    if isinstance(value, Normal):
        if value.standardize or value.scaled is not None or value.intercept is not None:
            raise ParameterError(
                f"The 'intercept' parameter of {called()} must be a Normal with a scale and a mean alone. "
                f"Got {value!r} instead."
            )
        return
    must = "None, " + ", ".join(repr(word) for word in words) + " or a Normal"
    raise bad_value("intercept", must, value)
