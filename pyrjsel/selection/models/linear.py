"""Linear selection models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called, warn
from pyrjsel._errors import NotAvailableError, PyrjselWarning
from pyrjsel._lazy import late
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel._validate import bad_value, check_choice
from pyrjsel.design import Chunks, Design, DesignData, RowSource, WideRows, Work, as_wide
from pyrjsel.distributions import InverseGamma
from pyrjsel.families import Family, Gaussian, Student
from pyrjsel.families.tails import LEAST_DF, RATE
from pyrjsel.model_space import ModelPrior, check_bounds
from pyrjsel.selection.evidence import spike_slab
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.coefficients import GPrior, Normal, for_unit_scale
from pyrjsel.selection.priors.g_mixtures import Mixture
from pyrjsel.selection.regression.checks import check_columns
from pyrjsel.selection.regression.chunked import ChunkedRegression, ChunkedRows
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.regression.summed_rows import ChunkSums, SummedRows
from pyrjsel.selection.specification import Choices

if TYPE_CHECKING:
    from pyrjsel.selection.posterior import Posterior
    from pyrjsel.selection.priors import registry as priors
    from pyrjsel.selection.protocols import SingleModel
else:
    priors = late("pyrjsel.selection.priors.registry")


class _Fixed:
    """A prior that users do not choose, by its notation."""

    def __init__(self, notation: str) -> None:
        self.notation = notation

    def __repr__(self) -> str:
        return self.notation


# The improper prior of the error variance, the default, and that of unknown degrees of freedom.
FLAT, OF_DF = _Fixed("1 / sigma^2"), _Fixed(f"Gamma(2, rate {RATE:g}) above {LEAST_DF:g}")


@shared_text
class LinearSelection(Selection):
    """Bayesian variable selection in a linear regression with normal or Student-t errors.

    A model is a subset of the terms; a term (a numeric column, a factor, an interaction, a spline) is
    included or excluded as a whole; the intercept is always included and has a flat prior. The posterior is
    over models, their coefficients and the error variance, and marginal likelihoods are exact. With
    ``errors="student"`` a few outliers do not determine which terms are selected; marginal likelihoods are
    then importance-sampling integrals over coefficients and scale. The class takes arrays; for formulas use
    :meth:`from_formula` or :func:`pyrjsel.linear`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response.
    exog : DataFrame or array_like, shape (n, p)
        Columns, one per term, without a constant. Columns of text and categories become factors. With more
        columns than rows (and than 1,024), integers of up to 32 bits and float32 in an array, memory maps,
        and scipy's compressed sparse columns stay as they are given: columns are centred and scaled as they
        are used, constant ones are left out, and missing values are refused. The model reads the matrix that
        is given and refuses it if its values have changed since.
    coef_prior : GPrior, mixture of g-priors, Normal, SpikeSlab, EmpiricalBayes, BIC or AIC, optional
        Prior on the coefficients of a model; None is ``GPrior(g="n")`` with the number of rows n. Prior
        variances are multiples of the error variance, except for ``Normal(scaled=False)`` and ``SpikeSlab``.
        With Student-t errors, whose scale sigma takes the place of the error standard deviation, GPrior, a
        mixture of g-priors, ``EmpiricalBayes("global")``, or Normal without ``scaled=False``.
    <model prior>
    sigma_prior : InverseGamma, optional
        Prior on the error variance; None is ``1 / sigma^2``, the only one for Student-t errors.
    errors : {"normal", "student"}
        Distribution of the errors. ``"student"``: sigma times a variate of Student's t distribution, under
        which the weight of a row in the fit decreases with its residual r, as
        ``(df + 1) / (df + (r / sigma)^2)`` [Lange, Little and Taylor 1989]. Bounded influence holds for
        outliers in the response, not for extreme values of columns.
    df : float or "estimate", optional
        Degrees of freedom of Student-t errors, above 0 and at most 1e6; None is 4. ``"estimate"`` has them
        unknown, with a gamma prior of shape 2 and rate 0.1 [Juarez and Steel 2010] restricted to values above
        0.5, which has its mean at 20 and 95 % of its mass between 2.5 and 56.
    <constraints>
    weights : str or array_like, optional
        Precision weights w, with error variance sigma^2 / w: a column of the data, or one value per row. Rows
        of weight 0 are not counted. The scale of the weights determines that of sigma^2: doubling all weights
        doubles sigma^2, and with it prior variances that are multiples of sigma^2. That changes the posterior
        under ``Normal``, ``SpikeSlab(scaled=True)`` and a `sigma_prior`. Without a `sigma_prior` it does not
        under g-priors and their mixtures, which include the weights, nor under ``scaled=False``. With weights
        of mean 1, sigma^2 is the error variance of a typical row. Not available for Student-t errors.
    offset : str or array_like, optional
        Known part of the linear predictor: a column of the data, or one value per row.
    <missing>

    Attributes
    ----------
    <attributes>

    Raises
    ------
    DataError
        If the response is constant, or is fitted perfectly under a mixture of g-priors,
        ``Normal(scaled=False)`` or ``SpikeSlab(scaled=False)`` (without a `sigma_prior` the posterior is then
        improper), or the data cannot be used (fewer than two rows, infinite values, negative weights, columns
        so large or small that their squares overflow or underflow). With Student-t errors, if so many
        responses are equal that sigma has no posterior.
    NotAvailableError
        With Student-t errors: if there are weights, or other priors.
    <raises>

    Warns
    -----
    <rank warning>
    PyrjselWarning
        If there are too few rows of positive weight for a posterior mean or standard deviation of
        coefficients.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> hald = rj.datasets.hald().data
    >>> model = rj.LinearSelection(hald["y"], hald[["x1", "x2", "x3", "x4"]])
    >>> model.count_models()
    16
    >>> model.fit().inclusion["posterior"].round(3).to_dict()
    {'x1': 0.902, 'x2': 0.69, 'x3': 0.465, 'x4': 0.633}

    A response with a gross error, under normal and under Student-t errors:

    >>> y = hald["y"].where(hald.index != 5, 1000.0)
    >>> for errors in ("normal", "student"):
    ...     model = rj.LinearSelection(y, hald[["x1", "x2"]], errors=errors)
    ...     print(model.fit(rng=1).inclusion["posterior"].round(1).to_dict())
    {'x1': 0.2, 'x2': 0.2}
    {'x1': 1.0, 'x2': 1.0}
    """

    title = "Linear model selection"
    _family: Family = Gaussian()
    _default_prior = GPrior("n")

    regression: Any

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        coef_prior: CoefficientPrior | None = None,
        model_prior: ModelPrior | None = None,
        sigma_prior: InverseGamma | None = None,
        errors: str = "normal",
        df: float | str | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        heredity: str | None = None,
        max_size: int | None = None,
        weights: str | ArrayLike | None = None,
        offset: str | ArrayLike | None = None,
        missing: str = "drop",
    ) -> None:
        choices = Choices(
            coef_prior,
            model_prior,
            costs,
            budget,
            always,
            heredity,
            max_size,
            sigma_prior=sigma_prior,
            family=_family_of(errors, df),
        )
        self._from_arrays(endog, exog, choices, {"weights": weights, "offset": offset}, missing)

    @classmethod
    @shared_text
    def from_formula(
        cls,
        formula: str,
        data: RowSource,
        *,
        coef_prior: CoefficientPrior | None = None,
        model_prior: ModelPrior | None = None,
        sigma_prior: InverseGamma | None = None,
        errors: str = "normal",
        df: float | str | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        heredity: str | None = None,
        max_size: int | None = None,
        weights: str | ArrayLike | None = None,
        offset: str | ArrayLike | None = None,
        missing: str = "drop",
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """Make a model from a formula and a data frame, or data in chunks.

        Parameters
        ----------
        <formula and chunks>
        coef_prior, model_prior, sigma_prior, errors, df : optional
            As for the class.
        costs, budget, always, heredity, max_size : optional
            As for the class.
        weights, offset, missing : optional
            As for the class.
        <functions>

        Returns
        -------
        LinearSelection
            Model, ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed or calls a function that is not allowed.
        DataError, ParameterError, UnknownNameError
            As for the class.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> crime = rj.datasets.uscrime().data
        >>> model = rj.linear("np.log(y) ~ np.log(Po1) + np.log(U1) + np.log(Ineq) + So", crime)
        >>> model.fit().best()
        ('np.log(Po1)', 'np.log(Ineq)')
        """
        choices = Choices(
            coef_prior,
            model_prior,
            costs,
            budget,
            always,
            heredity,
            max_size,
            sigma_prior=sigma_prior,
            family=_family_of(errors, df),
        )
        extras = {"weights": weights, "offset": offset}
        model = cls._from_rows(formula, data, choices, extras, missing, functions)
        check_bounds(model.space)
        return model

    def _from_arrays(
        self,
        endog: ArrayLike | pd.Series,
        exog: Any,
        choices: Choices,
        extras: Mapping[str, str | ArrayLike | None],
        missing: str,
    ) -> None:
        matrix = as_wide(exog) if choices.family is None else None
        if matrix is None:
            super()._from_arrays(endog, exog, choices, extras, missing)
            return
        design, data = Design.from_wide(endog, matrix, extras=extras, missing=missing)
        self._build(design, data, choices)
        check_bounds(self.space)

    @classmethod
    def _from_chunks(
        cls,
        formula: str,
        chunks: Chunks,
        choices: Choices,
        extras: Mapping[str, str | ArrayLike | None],
        missing: str,
        functions: Mapping[str, Callable[..., Any]] | None,
        listed: Sequence[str] | None,
    ) -> Self:
        """Make a model of rows in chunks, of which sums are kept."""
        if choices.family is not None:
            return super()._from_chunks(
                formula, chunks, choices, extras, missing, functions, listed
            )  # which are read in each pass
        design, reduced = Design.from_chunks(
            formula,
            chunks,
            lambda left: Work(ChunkSums.of, ChunkSums.merge, again=False),
            extras=extras,
            missing=missing,
            functions=functions,
            listed=listed,
        )
        choices = replace(choices, known=tuple(chunks.names))
        return cls._from_parts(design, SummedRows.of(reduced), choices)

    def _build(self, design: Design, data: DesignData | SummedRows | WideRows, choices: Choices) -> None:
        super()._build(design, data, choices)
        if self._is_student:
            return
        regression = self.regression
        widest = regression.widest(self.space.max_size) - 1
        degrees = regression.prior.freedom(regression, widest)
        if degrees[-1] <= 2:
            what = "mean" if degrees[-1] <= 1 else "standard deviation"
            where = f" in models of {widest} columns" if degrees.size > 1 else ""
            remedy = "a smaller max_size" if degrees.size > 1 else "a sigma_prior"
            warn(
                f"{called()} has {regression.n} rows of positive weight, which leave {degrees[-1]:g} degrees "
                f"of freedom to the error variance{where}: coefficients have no posterior {what}. Give more "
                f"rows, or {remedy}.",
                PyrjselWarning,
            )

    @staticmethod
    def _coef_priors() -> tuple[type[CoefficientPrior], ...]:
        return priors.GAUSSIAN

    @property
    def _is_student(self) -> bool:
        """Whether errors are not normal: the regression is then one of generalised linear models."""
        return isinstance(self._family, Student)

    def _check_rows(self) -> None:
        if isinstance(self.data, WideRows):
            largest = np.append(np.maximum(*map(np.abs, self.data.X.ends())), np.max(np.abs(self.data.y)))
            check_columns(self.design, largest, self.data.extras)
            self._family.check(self.data.y, self.data.extras.get("weights"), self.design.response)
            return
        if not isinstance(self.data, SummedRows):
            super()._check_rows()
            return
        sums = self.data.sums
        check_columns(self.design, sums.largest, sums.extras)
        # Only the smallest and the largest weight are needed.
        self._family.check(np.zeros(2), sums.extras.get("weights"), self.design.response)

    def _response_facts(self) -> list[tuple[str, str]]:
        if self._is_student or not isinstance(self.data, SummedRows):
            return super()._response_facts()
        response = self.data.sums.response
        return Gaussian().moments(
            float(response.mean[0]), float(np.sqrt(response.products[0, 0] / response.weight))
        )

    def _n_observations(self) -> float:
        if isinstance(self.data, SummedRows):
            return float(self.data.sums.statistics.n)
        weights = self.data.extras.get("weights")
        return float(self.data.y.size if weights is None else np.sum(weights > 0))

    def _make_regression(self) -> GaussianRegression | Regression | ChunkedRegression:
        sigma_prior = self._choices.sigma_prior
        if self._is_student:
            return self._student_regression()
        if sigma_prior is not None and not isinstance(sigma_prior, InverseGamma):
            raise bad_value("sigma_prior", "None or an InverseGamma", sigma_prior)
        sizes = [len(term.columns) for term in self.design.terms]
        prior = self._by_column(self._settled)
        if isinstance(self.data, SummedRows):
            return GaussianRegression.from_statistics(
                self.data.sums.statistics,
                sizes,
                prior,
                sigma_prior=sigma_prior,
            )
        rows: dict[str, Any] = {
            "sigma_prior": sigma_prior,
            "weights": self.data.extras.get("weights"),
            "offset": self.data.extras.get("offset"),
        }
        if isinstance(self.data, WideRows):
            return GaussianRegression.of_wide(self.data.X, self.data.y, prior, **rows)
        return GaussianRegression.build(self.data.X, self.data.y, sizes, prior, **rows)

    def _restricted_choices(self, keep: Collection[str], inside: BoolArray) -> Choices:
        choices = super()._restricted_choices(keep, inside)
        if choices.sigma_prior is not None:
            choices = replace(choices, sigma_prior=choices.sigma_prior.restrict(len(keep)))
        return choices

    def _student_regression(self) -> Regression | ChunkedRegression:
        """Return the regression with Student-t errors."""
        if self._choices.sigma_prior is not None:
            raise bad_value("sigma_prior", "None if errors='student'", self._choices.sigma_prior)
        if "weights" in self.design.extra_columns:
            raise NotAvailableError(
                "Student-t errors do not support 'weights', whose scale would not be that of a variance: "
                "leave them out, or use errors='normal'."
            )
        prior = self._settled
        if isinstance(prior, Mixture):
            prior = replace(prior, information="null")  # which makes no difference in linear models
        if not isinstance(prior, GPrior | Mixture | Normal) or (
            isinstance(prior, Normal) and prior.scaled is False
        ):
            raise NotAvailableError(
                "Student-t errors support GPrior, mixtures of g-priors, EmpiricalBayes('global'), and Normal "
                f"whose variance is a multiple of sigma^2. Got {prior!r}: use one of these, or "
                "errors='normal'."
            )
        sizes, prior = [len(term.columns) for term in self.design.terms], for_unit_scale(prior)
        if isinstance(self.data, ChunkedRows):
            return self.data.regression(sizes, prior, self._family)
        return Regression.build(
            self.data.X,
            self.data.y,
            sizes,
            prior,
            offset=self.data.extras.get("offset"),
            family=self._family,
        )

    def _make_marginal(self, posterior: Posterior) -> SingleModel:
        return (
            super()._make_marginal(posterior)
            if self._is_student
            else spike_slab.single_models(self.regression)
        )

    def _priors(self) -> dict[str, object]:
        sigma_prior = self._choices.sigma_prior
        of_df = {"df prior": OF_DF} if "df" in self._family.nuisance.names else {}
        return {**super()._priors(), "error variance prior": sigma_prior or FLAT, **of_df}

    def _prior_numbers(self) -> dict[str, tuple[str, list[FloatArray]]]:
        if self._is_student:
            return super()._prior_numbers()
        return {
            "coefficient prior": self.regression.prior.numbers,
            "error variance prior": ("", [np.array([self.regression.a, self.regression.b])]),
        }


def _family_of(errors: str, df: float | str | None) -> Student | None:
    """Return the family of errors that are not normal."""
    check_choice(errors, "errors", ("normal", "student"))
    if errors == "normal":
        if df is not None:
            raise bad_value("df", "None if errors='normal'", df)
        return None
    if isinstance(df, str):
        check_choice(df, "df", ("estimate",))
        return Student(None)
    return Student() if df is None else Student(df)


# The short name.
linear = LinearSelection.from_formula
