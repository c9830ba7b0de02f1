"""Shared text of the docstrings of several models, filled in at definition time."""

import inspect
import textwrap
from collections.abc import Callable
from typing import TypeVar

from pyrjsel._docstrings import filled, repeat_parameters
from pyrjsel.selection.samplers.registry import AUTO, SAMPLERS

T = TypeVar("T", bound=Callable[..., object])

MODEL_PRIOR = """\
model_prior : Uniform, Bernoulli, BetaBinomial, TruncatedPoisson or CostAdjusted, optional
    Prior over models; None is ``BetaBinomial(1, 1)``."""

CONSTRAINTS = """\
costs : mapping or Series, optional
    Costs. A key that is a column of the data is the cost of that variable, which a model pays once
    even if several of its terms use it; any other key must be a term and gives its total cost.
budget : float, optional
    Largest cost of a model, compared with a relative tolerance of 1e-9; at least that of the
    cheapest term.
always : str or iterable of str, default ()
    Terms in every model.
heredity : {None, "weak", "strong"}
    Whether an interaction requires one (weak) or all (strong) of its terms of the next lower order:
    ``a:b:c`` requires ``a:b``, ``a:c`` and ``b:c``, and ``I(x**3)`` requires ``I(x**2)``. Priors
    over models are by order.
max_size : int, optional
    Largest number of terms of a model, including those in `always`; at least 1."""

MISSING = """\
missing : {"drop", "raise"}
    Treatment of rows with missing values; dropped rows are counted in the summary."""

ATTRIBUTES = """\
design : Design
data : DesignData, or sums of rows that came in chunks
    The rows used.
space : ModelSpace
regression : Regression"""

RAISES = """\
ParameterError
    If a prior, cost, budget or constraint is out of range.
UnknownNameError
    If a term, variable or column is unknown."""

RANK_WARNING = """\
RankWarning
    If columns are linearly dependent: models with all of them have no g-prior, and prior and
    posterior probability 0. Prior inclusion probabilities are over the other models."""

# All but the first paragraphs and the examples of the models of two classes.
BINARY = f"""\
Parameters
----------
endog : array_like, shape (n,)
    Response: 0 and 1, booleans, labels with two levels, of which the second is the event (in the order of
    a categorical, or sorted: "no", "yes"), or proportions of successes with the numbers of trials as
    `weights`. Predictions are probabilities of the event; summaries name it.
exog : DataFrame or array_like, shape (n, p)
    Columns, one per term, without a constant. Columns of text and categories become factors.
coef_prior : GPrior, mixture of g-priors, Normal, EmpiricalBayes, BIC or AIC, optional
    Prior on the coefficients of a model; None is ``GPrior("n", information="null")``: the information of
    one trial in the null model, and a flat intercept.
{MODEL_PRIOR}
{CONSTRAINTS}
weights : str or array_like, optional
    Numbers of trials: a column of the data, or one value per row.
offset : str or array_like, optional
    Known part of the linear predictor: a column of the data, or one value per row.
{MISSING}

Attributes
----------
{ATTRIBUTES}

Raises
------
DataError
    If the response is not 0, 1 or proportions with weights, whole numbers of these if the weights are, has
    only one class, or the data cannot be used (empty, no complete row, infinite values, negative weights,
    columns so large or small that their squares overflow or underflow).
{RAISES}

Warns
-----
{RANK_WARNING}"""

FORMULA = """\
formula : str
    Formula such as ``"low ~ age + C(race) * smoke"``; ``.`` means all other columns, and each level of
    ``C(race, merge=True)`` is a term of its own.
data : DataFrame, pyarrow Table, or mapping of columns
    The data: a DataFrame of pandas or polars, or a table of another package that narwhals supports.
    A ``Categorical`` of polars is treated as text; an ``Enum`` keeps its order."""

CHUNKS = """\
formula : str
    Formula such as ``"low ~ age + C(race) * smoke"``; ``.`` means all other columns, and each level of
    ``C(race, merge=True)`` is a term of its own.
data : DataFrame, pyarrow Table, mapping of columns, or rows in chunks
    The data; a DataFrame of pandas or polars, or data in chunks, of which only sums are kept (for all
    but Cox models; those that are not linear, or have Student-t errors, read them in a dozen passes):
    an iterable of DataFrames or a function that returns one, the path of a Parquet file or of a folder
    of them, a ``ParquetFile`` or ``Dataset`` of pyarrow, or a ``dask.dataframe``. The posterior is that
    of all rows, and predictions need new rows. Levels and transforms are learned in a separate pass: an
    iterator, which can be read only once, is enough for linear models if columns are numeric or have
    the same ``CategoricalDtype`` in every chunk. `weights` and `offset` must then be columns. A spline
    without given knots keeps its argument for all rows in memory during the first pass."""

FUNCTIONS = """\
functions : mapping of str to callable, optional
    Additional functions for the formula, by name."""


def _samplers() -> str:
    """Return the description of the `sampler` parameter of ``fit``."""
    told: dict[str, str] = {}
    for sampler in SAMPLERS:
        told.setdefault(sampler.name, sampler.text)
    names = ", ".join(f'"{name}"' for name in (AUTO, *told))
    lines = [textwrap.wrap(f'``"{name}"``: {text}', 96) for name, text in told.items()]
    return "\n".join([f"sampler : {{{names}}}", *(f"    {line}" for wrapped in lines for line in wrapped)])


def _sampler_options() -> str:
    """Return the options of all samplers, from the docstrings of their classes."""
    parts = []
    for kind in dict.fromkeys(sampler.options for sampler in SAMPLERS):
        _, found, options = inspect.cleandoc(kind.__doc__ or "").partition("Attributes\n----------\n")
        if found:
            parts.append(f"{_summary(kind).rstrip('.')}:\n\n{options.rstrip()}")
    return "\n\n".join(parts)


def _summary(item: type) -> str:
    """Return the first paragraph of a docstring as one line; empty under python -OO."""
    return " ".join(inspect.cleandoc(item.__doc__ or "").split("\n\n")[0].split())


TEXTS = {
    "binary": BINARY,
    "model prior": MODEL_PRIOR,
    "constraints": CONSTRAINTS,
    "missing": MISSING,
    "attributes": ATTRIBUTES,
    "raises": RAISES,
    "rank warning": RANK_WARNING,
    "formula": FORMULA,
    "formula and chunks": CHUNKS,
    "functions": FUNCTIONS,
    "sampler": _samplers(),
    "sampler options": _sampler_options(),
}


def shared_text(item: T) -> T:
    """Replace the placeholders of a docstring by the texts above; a class repeats its parameters."""
    if item.__doc__:  # removed by python -OO
        item.__doc__ = filled(item.__doc__, TEXTS)
    if isinstance(item, type):
        repeat_parameters(item)
    return item
