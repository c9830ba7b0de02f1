"""Text that the docstrings of several models have in common, put in its places when they are defined."""

import inspect
import textwrap
from collections.abc import Callable
from typing import TypeVar

from pyrjsel._docstrings import filled
from pyrjsel.selection.samplers.registry import AUTO, SAMPLERS

T = TypeVar("T", bound=Callable[..., object])

MODEL_PRIOR = """\
model_prior : Uniform, Bernoulli, BetaBinomial, TruncatedPoisson or CostAdjusted, optional
    Prior over models; None is ``BetaBinomial(1, 1)``."""

CONSTRAINTS = """\
costs : mapping or Series, optional
    Prices. A key that is a column of the data prices that variable, which a model pays once
    however many of its terms use it; any other key must be a term and replaces that term's price.
budget : float, optional
    Largest cost of a model, compared with a relative tolerance of 1e-9; at least that of the cheapest term.
always : str or iterable of str, default ()
    Terms in every model.
heredity : {None, "weak", "strong"}
    Whether an interaction needs one (weak) or all (strong) of its terms of the next lower order: ``a:b:c``
    needs ``a:b``, ``a:c`` and ``b:c``, and ``I(x**3)`` needs ``I(x**2)``. Priors over models are by order.
max_size : int, optional
    Most terms of a model, those of `always` included; at least 1."""

MISSING = """\
missing : {"drop", "raise"}
    What to do with rows with missing values; those dropped are counted in the summary."""

ATTRIBUTES = """\
design : Design
data : DesignData, or sums of rows that came in chunks
    The rows that are used of the data frame or the arrays that were given.
space : ModelSpace
regression : Regression"""

RAISES = """\
ParameterError
    If a prior, cost, budget or constraint is out of range.
UnknownNameError
    If a term, variable or column is not known."""

RANK_WARNING = """\
RankWarning
    If columns are linearly dependent: models that hold all of them have no g-prior, and prior and
    posterior probability 0. Prior inclusion probabilities are those over the other models."""

FORMULA = """\
formula : str
    Such as ``"low ~ age + C(race) * smoke"``; ``.`` stands for all other columns.
data : DataFrame, pyarrow Table, or mapping of columns
    The rows: a DataFrame of pandas or polars, or a table of another package that narwhals knows. A
    ``Categorical`` of polars counts as text, an ``Enum`` has its order."""

CHUNKS = """\
formula : str
    Such as ``"low ~ age + C(race) * smoke"``; ``.`` stands for all other columns.
data : DataFrame, pyarrow Table, mapping of columns, or rows in chunks
    The rows; DataFrames are those of pandas or polars. In chunks, of which sums alone are kept: an
    iterable of DataFrames or a function that returns one, the path of a Parquet file or of a folder of
    them, a ``ParquetFile`` or ``Dataset`` of pyarrow, or a ``dask.dataframe``. The posterior is that of
    all rows together, and predictions need new rows. Levels and transforms are learned in a pass of their
    own: an iterator, which can be read once, will do where columns are numeric or have the same
    ``CategoricalDtype`` in every chunk. `weights` and `offset` are columns then. A spline without given
    knots holds its argument on all rows while it learns."""

FUNCTIONS = """\
functions : mapping of str to callable, optional
    Functions that the formula may call, by name, beside the documented ones."""


def _samplers() -> str:
    """Return the parameter of ``fit`` that names a sampler, with what each of them is."""
    told: dict[str, str] = {}
    for sampler in SAMPLERS:
        told.setdefault(sampler.name, _summary(type(sampler)))
    names = ", ".join(f'"{name}"' for name in (AUTO, *told))
    lines = [textwrap.wrap(f'``"{name}"``: {text}', 96) for name, text in told.items()]
    return "\n".join([f"sampler : {{{names}}}", *(f"    {line}" for wrapped in lines for line in wrapped)])


def _sampler_options() -> str:
    """Return the options of all samplers, as the docstrings of their classes tell of them."""
    parts = []
    for kind in dict.fromkeys(sampler.options for sampler in SAMPLERS):
        _, found, options = inspect.cleandoc(kind.__doc__ or "").partition("Attributes\n----------\n")
        if found:
            parts.append(f"{_summary(kind).rstrip('.')}:\n\n{options.rstrip()}")
    return "\n\n".join(parts)


def _summary(item: type) -> str:
    """Return the first paragraph of a docstring as one line; nothing is left under python -OO."""
    return " ".join(inspect.cleandoc(item.__doc__ or "").split("\n\n")[0].split())


TEXTS = {
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
    """Fill the places of a docstring by the texts above."""
    if item.__doc__:  # gone under python -OO
        item.__doc__ = filled(item.__doc__, TEXTS)
    return item
