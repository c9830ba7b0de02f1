"""What data can do to a model: linear dependence and separation, found and named."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.optimize import linprog

from pyrjsel._errors import DataError, FormulaError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import listed
from pyrjsel.design import Design
from pyrjsel.model_space import ModelSpace
from pyrjsel.report import repr_short
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.regression.summed_rows import SummedRows, same_sums

if TYPE_CHECKING:
    from pyrjsel.selection.models.base import Selection

# Squares of numbers beyond these, and sums of many of them, leave the range of a float64.
SMALLEST, LARGEST = 1e-145, 1e145
INTERCEPT = "Intercept"
# Numbers of one prior that is written in two ways, such as GPrior("n") and GPrior(189), agree to rounding.
ROUNDING = 1e-9
# Exact dependence leaves eigenvalues of a few times the rounding error of the largest.
DEPENDENT = 1e-10


def check_right_side(design: Design, owner: str) -> None:
    """Raise :class:`FormulaError` if a term uses the response.

    A variable that a computed response uses, as in ``I(after > before) ~ before``, may be a term; labels of
    which the response is the event may not.
    """
    response = design.response
    own = {
        name
        for name, variable in design.left.variables.items()
        if name == response or variable.kind == "text" or variable.categorical
    }
    for term in design.terms:
        if response in term.factors or not own.isdisjoint(term.variables):
            raise FormulaError(
                f"The formula {design.formula!r} of {owner} has its response {response!r} on the right side, "
                f"in the term {term.name!r}. Leave that term out."
            )


def check_columns(design: Design, largest: FloatArray, extras: Mapping[str, FloatArray], owner: str) -> None:
    """Raise :class:`DataError` if a column has the intercept's name, or numbers that cannot be squared.

    `largest` (D + 1,) are the largest absolute values of the columns and of the response; of `extras` the
    extremes will do.
    """
    if INTERCEPT in design.column_names:
        raise DataError(
            f"The data of {owner} have a column {INTERCEPT!r}, which is the name of the constant that is "
            "always included. Leave it out, or give it another name."
        )
    odd = (largest > LARGEST) | ((largest < SMALLEST) & (largest > 0))
    every = (*design.column_names, design.response)
    names = [name for name, bad in zip(every, odd, strict=True) if bad]
    sizes = {key: float(np.max(np.abs(values))) for key, values in extras.items()}
    names += [key for key, size in sizes.items() if size > LARGEST]
    # Small weights and offsets beside others do no harm, but weights that are all tiny do.
    names += ["weights"] if 0 < sizes.get("weights", 1.0) < SMALLEST else []
    if names:
        raise DataError(
            f"The data of {owner} must have absolute values between {SMALLEST:g} and {LARGEST:g} (or 0), "
            f"whose squares are numbers; rescale {listed(names)}."
        )


def same_data(first: "Selection", second: "Selection") -> str | None:
    """Return what is different in the data or terms of two models, to stand after "have", or None.

    Terms are compared by name and order; family, columns, response, weights and offset by value. No weights
    are weights of one, no offset is one of zero, and labels of rows do not matter. Of rows that came in
    chunks the sums are compared.
    """
    differ = sorted(set(first.term_names) ^ set(second.term_names))
    if differ:
        return f"other terms (only one has {listed(differ)})"
    if first.term_names != second.term_names:
        return "their terms in another order"
    if first.nobs != second.nobs:
        return f"{first.nobs:,} and {second.nobs:,} rows"
    if isinstance(first.data, SummedRows) or isinstance(second.data, SummedRows):
        return None if same_sums(first.data, second.data) else "other rows"
    one, other = first.regression, second.regression
    if one.family != other.family:
        return "another family"
    pairs: dict[str, tuple[Any, Any]] = {
        "another response": (one.y, other.y),
        "other weights": (one.weights, other.weights),  # None where all are one
        "another offset": (one.offset, other.offset),
        "other values in the columns of their terms": (first.data.X, second.data.X),
    }
    return next((name for name, (a, b) in pairs.items() if not np.array_equal(a, b)), None)


def same_space(first: "Selection", second: "Selection", *, budget: bool = True) -> str | None:
    """Return what is different in the priors or constraints of two models of the same terms, or None.

    Values are compared, not how they were written; budgets only if `budget` says so.
    """
    one, other = first.space, second.space
    if budget and one.budget != other.budget:
        return f"another budget ({one.budget:g}; {other.budget:g})"
    if one.max_size != other.max_size:
        return f"another max_size ({one.max_size}; {other.max_size})"
    above, below = (np.concatenate([space.parent_start, space.parent]) for space in (one, other))
    if one.heredity != other.heredity or not np.array_equal(above, below):
        return f"another heredity ({one.heredity!r}; {other.heredity!r})"
    if not np.array_equal(one.free, other.free):
        return "other terms that are always in"
    if [_prices(one, j) for j in range(one.n_terms)] != [_prices(other, j) for j in range(one.n_terms)]:
        return "other costs"
    if not _same_prior(one, other):
        return f"another model prior ({one.prior!r}; {other.prior!r})"
    for key, values in first._prior_numbers().items():
        if not all(_close(*pair) for pair in zip(values, second._prior_numbers()[key], strict=True)):
            written = "; ".join(repr_short(model._priors()[key]) for model in (first, second))
            return f"another {key} ({written})"
    return None


def _same_prior(one: ModelSpace, other: ModelSpace) -> bool:
    if not (_close(one.log_size, other.log_size) and _close(one.log_odds, other.log_odds)):
        return False
    first, second = one.by_order, other.by_order
    if first is None or second is None:
        return first is second
    parts = ("log_in", "log_out", "log_open", "odds_open")
    # Powers of a number that go from A to B and C and back would be the same prior; no two are written so.
    return np.array_equal(one.rank, other.rank) and all(
        _close(getattr(first, part), getattr(second, part)) for part in parts
    )


def _prices(space: ModelSpace, term: int) -> dict[str, float]:
    return {space.item_names[item]: float(space.item_cost[item]) for item in space.items_of(term)}


def _close(one: FloatArray, other: FloatArray) -> bool:
    return bool(np.allclose(one, other, rtol=ROUNDING, atol=0.0))


def dependent_terms(regression: Regression) -> list[int]:
    """Return the terms whose columns take part in a linear dependence, intercept and weights included."""
    if not regression.mean.size:
        return []
    # Of a g-prior the precision, whose weights may be 0 where those of the rows are not.
    of_prior = regression.prior.rank_tol > 0
    every = np.arange(regression.mean.size)
    gram = regression.prior.precision[1:, 1:] if of_prior else regression.gram_of(every)
    scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
    gram = gram / np.outer(scale, scale)
    values, vectors = eigh(gram)
    null = vectors[:, values <= DEPENDENT * max(1.0, values[-1])]
    loading = np.max(np.abs(null), axis=1, initial=0.0)
    column_terms = np.repeat(np.arange(regression.n_terms), np.diff(regression.term_start))
    return sorted(set(column_terms[loading > 1e-6].tolist()))


def dependent_alone(regression: Regression | GaussianRegression, terms: Iterable[int]) -> list[int]:
    """Return those of `terms` whose own columns, two and more, are dependent, intercept included."""
    found = []
    for term in terms:
        columns = np.arange(*regression.term_start[term : term + 2]) - 1
        if columns.size > 1:
            values = eigvalsh(regression.gram_of(columns))
            if values[0] <= DEPENDENT * values[-1]:
                found.append(term)
    return found


def separated(regression: Regression, gamma: ByteArray) -> list[int]:
    """Return the terms of model `gamma` (J,) whose likelihood has no maximum; empty if it has one.

    A direction b along which the likelihood rises for ever is looked for by linear programming (Konis,
    2007), for the logistic model: ``x_i'b >= 0`` for every success, ``<= 0`` for every failure, and not 0
    everywhere, so that the classes are separated. In a Poisson model it is ``<= 0`` for rows without
    events and 0 for all others.
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
    # The solver's feasibility tolerance is 1e-7 a row.
    if not found.success or -found.fun <= 1e-6 * len(y):
        return []
    sizes = np.diff(regression.term_start)
    column_terms = np.concatenate([[-1], np.repeat(np.arange(regression.n_terms), sizes)])
    return sorted({int(t) for t in column_terms[columns[np.abs(found.x) > 1e-6]] if t >= 0})


def separated_models(
    regression: Regression, finder: ModeFinder, gammas: ByteArray
) -> dict[int, tuple[int, ...]]:
    """Return, for the models (rows of `gammas`) that are separated, terms that do it by themselves.

    A model that holds a set of terms that separates is separated too: smaller models are looked at first,
    and linear programs are solved only where no such set is known yet.
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
    """Leave out, one by one, the terms without which the others separate the classes still."""
    for term in list(terms):
        gamma = np.zeros(regression.n_terms, dtype=np.uint8)
        gamma[[other for other in terms if other != term]] = 1
        if term in terms and gamma.any():
            terms = separated(regression, gamma) or terms
    return tuple(terms)
