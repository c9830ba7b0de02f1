"""Short names: a formula and a data frame in, a model out."""

from collections.abc import Callable, Mapping
from typing import Any

from pyrjsel.design import TableLike
from pyrjsel.kernel.kernels import KernelFunction
from pyrjsel.kernel.model import KernelRegression, Width
from pyrjsel.kernel.priors import Prior


def kernel_regression(
    formula: str,
    data: TableLike,
    *,
    kernel: str | KernelFunction = "gaussian",
    width: Width = 1.0,
    convention: str = "2w2",
    mean_kernels: float = 1.0,
    max_kernels: int | None = None,
    standardize: bool = True,
    noise_variance: float | None = None,
    coef_variance: float | None = None,
    noise_prior: Prior = None,
    coef_prior: Prior = None,
    missing: str = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> KernelRegression:
    """Make a kernel regression from a formula and a data frame.

    Parameters
    ----------
    formula : str
        Such as ``"y ~ x1 + log(x2) + region"``: the right-hand side gives the inputs, factors as dummy
        columns. ``.`` stands for all other columns.
    data : DataFrame, pyarrow Table, or mapping of columns
        The rows.
    kernel, width, convention, mean_kernels, max_kernels, standardize : optional
        As for :class:`KernelRegression`.
    noise_variance, coef_variance, noise_prior, coef_prior, missing : optional
        As for :class:`KernelRegression`.
    functions : mapping of str to callable, optional
        Functions that the formula may call, by name, beside the documented ones.

    Returns
    -------
    KernelRegression
        Ready to fit.

    Raises
    ------
    FormulaError
        If the formula cannot be read, or calls what it may not.
    DataError, ParameterError, UnknownNameError
        As for :class:`KernelRegression`, or if a column is not there.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> crime = rj.datasets.uscrime().data
    >>> model = rj.kernel_regression("y ~ Ed + Po1 + U2", crime, width=3.0)
    >>> model
    <KernelRegression 'y ~ Ed + Po1 + U2': 47 rows, 3 inputs, gaussian kernel of width 3>
    >>> results = model.fit(rng=1)
    >>> results.predict(crime.head(2)).shape
    (2,)
    """
    return KernelRegression.from_formula(
        formula,
        data,
        kernel=kernel,
        width=width,
        convention=convention,
        mean_kernels=mean_kernels,
        max_kernels=max_kernels,
        standardize=standardize,
        noise_variance=noise_variance,
        coef_variance=coef_variance,
        noise_prior=noise_prior,
        coef_prior=coef_prior,
        missing=missing,
        functions=functions,
    )
