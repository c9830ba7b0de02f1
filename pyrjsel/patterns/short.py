"""Short names: a formula and a data frame in, a model out."""

from collections.abc import Callable, Mapping
from typing import Any

from pyrjsel.design import TableLike
from pyrjsel.patterns.model import PatternLogit


def pattern_logit(
    formula: str,
    data: TableLike,
    *,
    prior: str = "cauchy",
    sigma_prior: Any = None,
    sigma_0: float | None = None,
    compress: bool = True,
    missing: str = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> PatternLogit:
    """Make a logistic model of interaction patterns from a formula and a data frame.

    Parameters
    ----------
    formula : str
        Such as ``"y ~ interactions(a, b, c, order=2)"`` or ``"y ~ sequence(x1, x2, x3)"``, the last the most
        recent; ``.`` among the features stands for all other columns. One such call is the whole
        right-hand side. Numbers that are not whole become labels by ``C()``.
    data : DataFrame, pyarrow Table, or mapping of columns
        The rows.
    prior, sigma_prior, sigma_0, compress, missing : optional
        As for :class:`PatternLogit`.
    functions : mapping of str to callable, optional
        Functions that the formula may call, by name, beside the documented ones.

    Returns
    -------
    PatternLogit
        Ready to fit.

    Raises
    ------
    FormulaError
        If the formula cannot be read, has terms outside the call, or calls what it may not.
    DataError, ParameterError, UnknownNameError
        As for :class:`PatternLogit`, or if a column is not there.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.pattern_logit("low ~ interactions(race, smoke, ht, I(ptl > 0), order=3)", births)
    >>> model.n_groups, model.n_patterns
    (70, 80)
    """
    return PatternLogit.from_formula(
        formula,
        data,
        prior=prior,
        sigma_prior=sigma_prior,
        sigma_0=sigma_0,
        compress=compress,
        missing=missing,
        functions=functions,
    )
