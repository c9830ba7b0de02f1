"""Short names: a formula and a data frame in, a model out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pyrjsel.design import TableLike
from pyrjsel.mixture.model import MixtureClassifier
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.model_space import ModelPrior


def mixture_classifier(
    formula: str,
    data: TableLike,
    *,
    components: int | Sequence[int] = 3,
    background: str | None = "gaussian",
    model_prior: ModelPrior | None = None,
    proposal: str = "conditional",
    prior: MixturePrior | None = None,
    costs: Mapping[str, float] | pd.Series | None = None,
    budget: float | None = None,
    always: str | Iterable[str] = (),
    max_size: int | None = None,
    classes: Sequence[Any] | None = None,
    missing: str = "impute",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> MixtureClassifier:
    """Make a mixture classifier with selection of inputs from a formula and a data frame.

    Parameters
    ----------
    formula : str
        Such as ``"species ~ a + b + np.log(c)"``: a sum of inputs, each of one numeric or boolean column.
        ``.`` stands for all other columns.
    data : DataFrame, pyarrow Table, or mapping of columns
        The rows; those whose response is missing are used without it.
    components, background, model_prior, proposal, prior : optional
        As for :class:`MixtureClassifier`.
    costs, budget, always, max_size, classes, missing : optional
        As for :class:`MixtureClassifier`.
    functions : mapping of str to callable, optional
        Functions that the formula may call, by name, beside the documented ones.

    Returns
    -------
    MixtureClassifier
        Ready to fit.

    Raises
    ------
    FormulaError
        If the formula cannot be read, has interactions, or calls what it may not.
    DataError, ParameterError, UnknownNameError
        As for :class:`MixtureClassifier`, or if a column is not there.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> pima = rj.datasets.pima().data.query("split == 'train'")
    >>> rj.mixture_classifier("type ~ npreg + glu + bmi + ped + age", pima, components=[2, 3])
    <MixtureClassifier 'type ~ npreg + glu + bmi + ped + age': 200 rows, 2 classes, 5 inputs, 2 or 3 kernels>
    """
    return MixtureClassifier.from_formula(
        formula,
        data,
        components=components,
        background=background,
        model_prior=model_prior,
        proposal=proposal,
        prior=prior,
        costs=costs,
        budget=budget,
        always=always,
        max_size=max_size,
        classes=classes,
        missing=missing,
        functions=functions,
    )
