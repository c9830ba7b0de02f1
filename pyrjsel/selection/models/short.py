"""Short names: a formula and a data frame in, a model out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel.design import RowSource, TableLike
from pyrjsel.distributions import InverseGamma
from pyrjsel.model_space import ModelPrior
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.glm import LogitSelection, PoissonSelection
from pyrjsel.selection.models.linear import LinearSelection
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.gaussian import CoefPrior


@shared_text
def linear(
    formula: str,
    data: RowSource,
    *,
    coef_prior: CoefPrior | None = None,
    model_prior: ModelPrior | None = None,
    sigma_prior: InverseGamma | None = None,
    costs: Mapping[str, float] | pd.Series | None = None,
    budget: float | None = None,
    always: str | Iterable[str] = (),
    heredity: str | None = None,
    max_size: int | None = None,
    weights: str | ArrayLike | None = None,
    offset: str | ArrayLike | None = None,
    missing: str = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LinearSelection:
    """Make a linear variable-selection model from a formula and a data frame, or rows in chunks.

    Parameters
    ----------
    <formula and chunks>
    coef_prior, model_prior, sigma_prior, costs, budget, always, heredity, max_size : optional
        As for :class:`LinearSelection`.
    weights, offset, missing : optional
        As for :class:`LinearSelection`.
    <functions>

    Returns
    -------
    LinearSelection
        Ready to fit.

    Raises
    ------
    FormulaError
        If the formula cannot be read or calls what it may not.
    DataError, ParameterError, UnknownNameError
        As for :class:`LinearSelection`.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> crime = rj.datasets.uscrime().data
    >>> model = rj.linear("np.log(y) ~ np.log(Po1) + np.log(U1) + np.log(Ineq) + So", crime)
    >>> model.fit().best()
    ('np.log(Po1)', 'np.log(Ineq)')
    """
    return LinearSelection.from_formula(
        formula,
        data,
        coef_prior=coef_prior,
        model_prior=model_prior,
        sigma_prior=sigma_prior,
        costs=costs,
        budget=budget,
        always=always,
        heredity=heredity,
        max_size=max_size,
        weights=weights,
        offset=offset,
        missing=missing,
        functions=functions,
        stacklevel=3,
    )


@shared_text
def logit(
    formula: str,
    data: TableLike,
    *,
    coef_prior: GPrior | Normal | None = None,
    model_prior: ModelPrior | None = None,
    costs: Mapping[str, float] | pd.Series | None = None,
    budget: float | None = None,
    always: str | Iterable[str] = (),
    heredity: str | None = None,
    max_size: int | None = None,
    weights: str | ArrayLike | None = None,
    offset: str | ArrayLike | None = None,
    missing: str = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LogitSelection:
    """Make a logistic variable-selection model from a formula and a data frame.

    Parameters
    ----------
    <formula>
    coef_prior, model_prior, costs, budget, always, heredity, max_size, weights, offset, missing : optional
        As for :class:`LogitSelection`.
    <functions>

    Returns
    -------
    LogitSelection
        Ready to fit.

    Raises
    ------
    FormulaError
        If the formula cannot be read or calls what it may not.
    DataError, ParameterError, UnknownNameError
        As for :class:`LogitSelection`.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.logit("low ~ age + lwt + race + smoke + ht", births, coef_prior=rj.GPrior("n"))
    >>> results = model.fit(rng=1)
    >>> results.best("mpm")
    ('race', 'lwt', 'smoke', 'ht')
    """
    return LogitSelection.from_formula(
        formula,
        data,
        coef_prior=coef_prior,
        model_prior=model_prior,
        costs=costs,
        budget=budget,
        always=always,
        heredity=heredity,
        max_size=max_size,
        weights=weights,
        offset=offset,
        missing=missing,
        functions=functions,
        stacklevel=3,
    )


@shared_text
def poisson(
    formula: str,
    data: TableLike,
    *,
    coef_prior: GPrior | Normal | None = None,
    model_prior: ModelPrior | None = None,
    costs: Mapping[str, float] | pd.Series | None = None,
    budget: float | None = None,
    always: str | Iterable[str] = (),
    heredity: str | None = None,
    max_size: int | None = None,
    weights: str | ArrayLike | None = None,
    offset: str | ArrayLike | None = None,
    missing: str = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> PoissonSelection:
    """Make a Poisson variable-selection model from a formula and a data frame.

    Parameters
    ----------
    <formula>
    coef_prior, model_prior, costs, budget, always, heredity, max_size, weights, offset, missing : optional
        As for :class:`PoissonSelection`.
    <functions>

    Returns
    -------
    PoissonSelection
        Ready to fit.

    Raises
    ------
    FormulaError
        If the formula cannot be read or calls what it may not.
    DataError, ParameterError, UnknownNameError
        As for :class:`PoissonSelection`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import pyrjsel as rj
    >>> rng = np.random.default_rng(2)
    >>> wards = pd.DataFrame({"age": rng.normal(size=60), "income": rng.normal(size=60)})
    >>> wards["people"] = rng.integers(500, 5000, size=60)
    >>> wards["cases"] = rng.poisson(wards["people"] * np.exp(-6 + 0.5 * wards["age"]))
    >>> wards["log_people"] = np.log(wards["people"])
    >>> model = rj.poisson("cases ~ age + income", wards, offset="log_people")
    >>> model.fit(rng=1).best()
    ('age',)
    """
    return PoissonSelection.from_formula(
        formula,
        data,
        coef_prior=coef_prior,
        model_prior=model_prior,
        costs=costs,
        budget=budget,
        always=always,
        heredity=heredity,
        max_size=max_size,
        weights=weights,
        offset=offset,
        missing=missing,
        functions=functions,
        stacklevel=3,
    )
