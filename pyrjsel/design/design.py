"""The design of a formula, frozen, so that new rows get the same columns as the fit."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, ExtrapolationWarning
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import counted, listed, unknown_name
from pyrjsel.design.algebra import parse_terms
from pyrjsel.design.arrays import build_arrays, new_table
from pyrjsel.design.build import (
    DesignData,
    Response,
    build_formula,
    check_shadowing,
    needed_columns,
    read_rows,
)
from pyrjsel.design.chunks import Chunks
from pyrjsel.design.extras import extra_names
from pyrjsel.design.frame import Table, as_frame
from pyrjsel.design.labels import LabelDesign
from pyrjsel.design.layout import Factor, Layout
from pyrjsel.design.levels import learner
from pyrjsel.design.new_rows import (
    DesignRows,
    check_columns,
    compute_extras,
    compute_observed,
    compute_response,
    compute_rows,
    valid_rows,
)
from pyrjsel.design.plain import (
    VERSION,
    aliases_from_dict,
    aliases_to_dict,
    bad,
    called_functions,
    layout_from_dict,
    layout_to_dict,
    response_from_dict,
    response_to_dict,
    take,
)
from pyrjsel.design.safety import Expression, check_functions
from pyrjsel.design.scan import Plan
from pyrjsel.design.stream import Reduced, Work, reduce_chunks
from pyrjsel.design.terms import Aliases, Term
from pyrjsel.design.wide import WideLayout, WideMatrix, WideRows, build_wide, is_narrow

Function = Callable[..., object]
T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """Terms, columns, levels and learned transforms of a formula; no rows of data.

    Created by :meth:`from_formula` or :meth:`from_arrays`. It can be pickled, and saved as plain data
    (:meth:`to_dict`); the design read back computes the same columns bit for bit.

    Attributes
    ----------
    formula : str
        The formula as given, or of the remaining terms after :meth:`restrict`; empty for a design from
        arrays.
    layout : Layout
        Computation of the columns.
    left : Response
        The left-hand side.
    functions : mapping of str to callable
        The user's functions that the formula calls.
    extra_columns : mapping of str to (str or None)
        The columns of weights, offset and the like; None for one that was an array.
    aliases : Aliases or None
        Columns of the layout that are left out of their terms.

    Notes
    -----
    The terms are in the order of R's: main effects first, then interactions of two factors and so on, and
    within each in the order of the formula; a power, such as ``I(x**2)``, comes after its parents. The
    columns are patsy's: factors have treatment contrasts (the first level is the reference) unless C() says
    otherwise, and a factor is coded in full where a margin is left out. With ``C(x, merge=True)`` each level
    except the reference is a term of its own, ``x[b]``; a level out of a model is merged with the reference,
    and a cost of the column is paid once. Differences from patsy: the order of
    terms (patsy lists those without numeric factors first); booleans are 0/1 columns under their own name,
    levels that do not occur in the rows used are omitted, and integers are converted to floats.

    Examples
    --------
    >>> import pandas as pd
    >>> from pyrjsel.design import Design
    >>> frame = pd.DataFrame({"y": [1.0, 2.0, 4.0], "race": ["a", "b", "a"], "age": [30, 40, 50]})
    >>> design, data = Design.from_formula("y ~ race + age", frame)
    >>> design.column_names
    ('race[T.b]', 'age')
    >>> data.X
    array([[ 0., 30.],
           [ 1., 40.],
           [ 0., 50.]])
    >>> design.transform(pd.DataFrame({"race": ["b"], "age": [31.5]})).X
    array([[ 1. , 31.5]])
    """

    formula: str
    layout: Layout | WideLayout
    left: Response
    functions: Mapping[str, Function]
    extra_columns: Mapping[str, str | None]
    aliases: Aliases | None = None

    @property
    def response(self) -> str:
        """Name of the response as in the formula."""
        return self.left.expression.label

    @property
    def labels(self) -> LabelDesign:
        """The response of classes, as a design of labels without features."""
        left = Factor(self.left.expression, self.left.states, 1, self.left.levels)
        return LabelDesign("", "", None, left, (), self.left.variables, self.functions, None)

    def decode(self, codes: IntArray, index: pd.Index) -> pd.Series:
        """Return the classes at positions among the levels of the response.

        Parameters
        ----------
        codes : ndarray of int64, shape (m,)
            Positions, -1 for a missing value.
        index : Index
            Labels of the m rows.

        Returns
        -------
        Series
            Categories for a response of categories.
        """
        levels, left = pd.Index(self.left.levels or ()), self.left
        if any(variable.categorical for variable in left.variables.values()) or (codes < 0).any():
            values: Any = pd.Categorical.from_codes(codes, levels)
        else:
            values = levels[codes]
        return pd.Series(values, index=index.copy(), name=self.response)

    @property
    def terms(self) -> Sequence[Term]:
        """The J terms in the order of their columns."""
        return self.layout.terms if self.aliases is None else self.aliases.terms(self.layout.terms)

    @property
    def column_names(self) -> Sequence[str]:
        """Names of the D columns, without the intercept."""
        if self.aliases is None:
            return self.layout.column_names
        return tuple(np.array(self.layout.column_names, dtype=object)[self.aliases.inside])

    @property
    def wide(self) -> bool:
        """Whether there are so many columns that rows are used without being converted to float64."""
        return isinstance(self.layout, WideLayout) and not is_narrow(len(self.column_names), 0)

    @property
    def variables(self) -> Sequence[str]:
        """Names of the columns of the data that the terms use."""
        layout = self.layout
        return layout.column_names if isinstance(layout, WideLayout) else tuple(layout.variables)

    def __repr__(self) -> str:
        formula = self.formula or "from arrays"
        columns = counted(len(self.column_names), "column")
        return f"<Design {formula!r}: {counted(len(self.terms), 'term')}, {columns}>"

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: pd.DataFrame | Mapping[str, Any],
        *,
        extras: Mapping[str, Any] | None = None,
        missing: str = "drop",
        functions: Mapping[str, Function] | None = None,
        events: bool = False,
        classes: bool = False,
    ) -> tuple["Design", DesignData]:
        """Make a design from a formula and a data frame.

        Parameters
        ----------
        formula : str
            Formula such as ``"y ~ a*b + C(g) + bs(x, df=4)"``. ``.`` means all columns of the data that the
            response and `extras` do not use. The intercept is always included and is not a term.
        data : DataFrame or mapping of columns
            The data, with columns of numbers, booleans, text or categories, of any pandas dtype; decimals
            become floats.
        extras : mapping of str to (str or array-like, shape (n_rows,)), optional
            Values for the rows, such as ``{"weights": "w"}``: a column of `data`, or one value per row (a
            Series is aligned by its index). None values are ignored.
        missing : {"drop", "raise"}
            Treatment of rows with missing values in a column that is used.
        functions : mapping of str to callable, optional
            Additional functions for the formula, by name. They get arrays of n rows (float64, bool, or object
            for text), must return n rows, and must work row by row, or predictions depend on the other rows.
        events : bool, default False
            Whether a response of labels with two levels is 1 for the second one, in the order of a
            categorical or sorted, and 0 for the first.
        classes : bool, default False
            Whether the response is the position of a label among its levels, in the same order.

        Returns
        -------
        design : Design
            The design, which computes the columns of new rows.
        data : DesignData
            The response, the columns and the extras on the rows used.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed, has no response or no intercept, or calls a function that is not
            allowed.
        UnknownNameError
            If a name is not a column.
        DataError
            If the data have no complete row, infinite values, a factor of one level, columns that are neither
            numbers nor labels, or missing values with ``missing="raise"``.
        ParameterError
            If another parameter has an invalid value.

        Warns
        -----
        MissingDataWarning
            If rows were dropped; it counts them by column.

        Examples
        --------
        >>> import pandas as pd
        >>> from pyrjsel.design import Design
        >>> frame = pd.DataFrame({"y": [0, 1, 1], "a": [1.0, 2.0, 4.0], "n": [10, 20, 30]})
        >>> design, data = Design.from_formula("y ~ .", frame, extras={"weights": "n"})
        >>> [term.name for term in design.terms], data.extras["weights"]
        (['a'], array([10., 20., 30.]))
        """
        own = check_functions(functions)
        table = Table(as_frame(data))
        aside = {value for value in extra_names(extras).values() if isinstance(value, str)}

        def others(response: Expression) -> list[str]:
            left_out = aside.union(response.variables)
            names = [name for name in table.names if name not in left_out]
            table.check_unique(names)
            return names

        parsed = parse_terms(formula, others, tuple(own))
        needed = needed_columns(parsed.response, parsed.factors)
        check_shadowing(own, needed)
        rows = read_rows(table, needed, extras, missing)
        left, layout, made = build_formula(
            parsed.response, parsed.factors, parsed.terms, rows, table.index, own, learner(events, classes)
        )
        kept = {name: own[name] for name in _called(left, layout)}
        return cls(formula, layout, left, kept, _extra_columns(extras)), made

    @classmethod
    def from_chunks(
        cls,
        formula: str,
        chunks: Chunks,
        work_of: Callable[[Response], Work[T]],
        *,
        extras: Mapping[str, Any] | None = None,
        missing: str = "drop",
        functions: Mapping[str, Function] | None = None,
        listed: Sequence[str] | None = None,
        events: bool = False,
        classes: bool = False,
    ) -> tuple["Design", Reduced[T]]:
        """Make a design from data in chunks, and reduce the computed rows without keeping them.

        Levels and transforms are those of all rows. A spline without given knots keeps its argument for all
        rows, 8 bytes each, until the knots are chosen; nothing else grows with the number of rows.

        Parameters
        ----------
        formula : str
            As in :meth:`from_formula`; ``.`` means the other columns of the first chunk.
        chunks : Chunks
            The data, from :func:`as_chunks`.
        work_of : callable
            Returns, for the learned response, how response, columns and extras of the complete rows of a
            chunk are reduced to a value, and how two such values are merged; the rows of the first precede
            those of the second.
        extras : mapping of str to (str or None), optional
            Additional columns, such as ``{"weights": "w"}``.
        missing, functions
            As in :meth:`from_formula`.
        listed : sequence of str, optional
            Names of the terms in the order of an earlier design; by default in the order of the formula.
        events, classes : bool, default False
            As in :meth:`from_formula`.

        Returns
        -------
        design : Design
            The design, which computes the columns of new rows.
        reduced : Reduced
            The reduced value and counts of rows.

        Raises
        ------
        FormulaError, UnknownNameError, ParameterError
            As in :meth:`from_formula`.
        DataError
            Likewise, or if chunks do not match each other, or the data cannot be read as often as the formula
            needs.

        Warns
        -----
        MissingDataWarning
            If rows were dropped; it counts them by column.
        """
        own = check_functions(functions)
        plan = Plan.make(formula, extra_names(extras), own, chunks, listed, events, classes)
        left, layout, reduced = reduce_chunks(plan, chunks, work_of, missing)
        kept = {name: own[name] for name in _called(left, layout)}
        return cls(formula, layout, left, kept, dict(plan.extras)), reduced

    @classmethod
    def from_arrays(
        cls,
        endog: Any,
        exog: Any,
        *,
        extras: Mapping[str, Any] | None = None,
        missing: str = "drop",
        events: bool = False,
        classes: bool = False,
    ) -> tuple["Design", DesignData]:
        """Make a design with one term for each column of a matrix or data frame.

        Parameters
        ----------
        endog : array-like, shape (n_rows,)
            The response. Its name is that of the Series, or ``"y"``.
        exog : DataFrame or array-like, shape (n_rows, p)
            The columns, in the order of the terms; those of an array are named x1, x2, ... Columns of text
            and categories become factors with treatment contrasts. A constant column is an error: the
            intercept is always included.
        extras, missing, events, classes
            As in :meth:`from_formula`; a str in `extras` is a column of `exog`, which is then not a term.

        Returns
        -------
        design : Design
            The design, which computes the columns of new rows.
        data : DesignData
            The response, the columns and the extras on the rows used.

        Raises
        ------
        DataError
            If the shapes or indexes do not match, a column is constant one, or the data cannot be used.

        Examples
        --------
        >>> import numpy as np
        >>> from pyrjsel.design import Design
        >>> design, data = Design.from_arrays([1.0, 2.0, 4.0], np.arange(6.0).reshape(3, 2))
        >>> design.column_names, data.X.shape
        (('x1', 'x2'), (3, 2))
        """
        left, layout, made = build_arrays(endog, exog, extras, missing, learner(events, classes))
        return cls("", layout, left, {}, _extra_columns(extras)), made

    @classmethod
    def from_wide(
        cls, endog: Any, matrix: WideMatrix, *, extras: Mapping[str, Any] | None = None, missing: str = "drop"
    ) -> tuple["Design", WideRows]:
        """Make a design with one term for each column of a matrix that stays as it is given.

        Parameters
        ----------
        endog : array-like, shape (n,)
            The response. Its name is that of the Series, or ``"y"``.
        matrix : WideMatrix
            The columns, from :func:`as_wide`; they are named x1, x2, ...
        extras, missing
            As in :meth:`from_formula`, but arrays only.

        Returns
        -------
        design : Design
            The design; constant columns are no terms.
        data : WideRows
            The response, the columns and the extras.

        Raises
        ------
        DataError
            If shapes do not match, or values are missing or infinite.

        Warns
        -----
        RankWarning
            If columns are constant; it counts them.
        """
        left, layout, made = build_wide(endog, matrix, extras, missing)
        return cls("", layout, left, {}, _extra_columns(extras)), made

    def variables_of(self, terms: BoolArray) -> list[str]:
        """Return the names of the columns of the data that some of the terms, a mask (J,), use."""
        if isinstance(self.layout, WideLayout):
            return [self.layout.column_names[int(j)] for j in np.flatnonzero(terms)]
        used = {name for j in np.flatnonzero(terms) for name in self.layout.terms[j].variables}
        return [name for name in self.layout.variables if name in used]

    def transform(
        self,
        new: Any,
        *,
        extras: Mapping[str, Any] | None = None,
        invalid: str | None = None,
        terms: BoolArray | None = None,
        required: BoolArray | None = None,
    ) -> DesignRows:
        """Compute the columns for new rows.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            The data, with the columns that the terms use; others are ignored. For a design from arrays also a
            matrix with the same columns.
        extras : mapping of str to (str, array-like or None), optional
            Weights, offset and the like of the new rows. By default those that were columns in the fit are
            taken from `new` (None: do not use them), and those that were arrays are None.
        invalid : {"raise", "nan"}, optional
            Whether rows with infinite values, unseen levels or terms that are not finite are an error or NaN
            throughout; None is an error that does not name this choice.
        terms : ndarray of bool, shape (J,), optional
            The terms that are computed, of whose variables alone columns are needed; columns of others are 0.
        required : ndarray of bool, shape (J,), optional
            The terms without which a row is nothing, if others may lack inputs: columns of a term are then 0
            in rows without them, of which ``observed`` tells.

        Returns
        -------
        DesignRows
            In the order and with the index of `new`; rows with a missing input are NaN throughout, and so are
            rows that differ from those of the fit in a column left out of its term.

        Raises
        ------
        UnknownNameError
            If needed columns are missing; it lists them.
        DataError
            If a level did not occur in the fit, a column holds another kind of values, or a value is
            infinite.

        Warns
        -----
        ExtrapolationWarning
            If rows differ in a column left out; it counts them.
        """
        found, unlike = self._rows(new, extras, invalid, terms, required)
        if unlike.any():
            assert self.aliases is not None
            found.X[unlike] = np.nan
            names, n = [repr(self.layout.column_names[k]) for k in self.aliases.dropped], int(unlike.sum())
            warn(
                f"{counted(n, 'row')} given to {called()} {'has' if n == 1 else 'have'} no prediction (NaN): "
                f"{'it differs' if n == 1 else 'they differ'} from all rows of the fit in a column that was "
                f"left out of its term, as in an empty cell: {'one of ' if len(names) > 1 else ''}"
                f"{listed(names)}.",
                ExtrapolationWarning,
            )
        return found

    def rows_again(self, data: Any) -> DesignRows:
        """Compute the columns for the rows of the fit, which may differ where their weight is 0."""
        return self._rows(data, None, None)[0]

    def _rows(
        self,
        new: Any,
        extras: Mapping[str, Any] | None,
        invalid: str | None,
        terms: BoolArray | None = None,
        required: BoolArray | None = None,
    ) -> tuple[DesignRows, BoolArray]:
        """Return the columns of new rows, and which rows differ from those of the fit in one left out."""
        if isinstance(self.layout, WideLayout):
            X, index, observed = self.layout.rows_of(new, terms, required, invalid)
            table = Table(pd.DataFrame(index=index))
            found = DesignRows(X, index, compute_extras(self.extra_columns, extras, table, invalid), observed)
            return found, np.zeros(len(index), bool)
        table, functions, aliases = self._table(new), self.functions, self.aliases
        layout, columns, observed = self.layout, np.arange(len(self.layout.column_names)), None
        if terms is not None and not terms.all():
            places = np.flatnonzero(terms)
            spans = [np.arange(layout.terms[j].start, layout.terms[j].stop) for j in places]
            layout, columns = layout.restrict(places.tolist()), np.concatenate([columns[:0], *spans])
            aliases = None if aliases is None else aliases.restrict(columns)
        by_variable = {name: term.name for term in reversed(layout.terms) for name in term.variables}
        needed = by_variable if required is None else self.variables_of(required)
        self._check_columns([name for name in self.variables if name in needed], table, extras, by_variable)
        if required is None:
            made, rows = valid_rows(lambda some: compute_rows(layout, some, functions), table, invalid)
        else:
            self._check_any(table)
            (made, inside), rows = valid_rows(
                lambda some: compute_observed(layout, some, functions), table, invalid
            )
            observed = np.zeros((len(table), len(self.layout.terms)), bool)
            observed[
                np.ix_(rows, np.arange(len(self.layout.terms)) if terms is None else np.flatnonzero(terms))
            ] = inside
        unlike = np.zeros(len(table), bool)
        unlike[rows] = False if aliases is None else aliases.unlike(made)
        if required is not None:
            for j, term in enumerate(layout.terms):
                made[~inside[:, j], term.start : term.stop] = 0.0
        given = compute_extras(self.extra_columns, extras, table, invalid)
        if made.shape != (len(table), len(self.layout.column_names)):
            part, made = made, np.zeros((len(table), len(self.layout.column_names)), order="F")
            made[np.ix_(rows, columns)] = part
            made[np.setdiff1d(np.arange(len(table)), rows)] = np.nan
            if required is None:
                made[rows[np.isnan(part).any(axis=1)]] = np.nan
        if self.aliases is not None:
            made = np.asfortranarray(made[:, self.aliases.inside])
        return DesignRows(made, table.index, given, observed), unlike

    def _check_columns(
        self, needed: list[str], table: Table, extras: Mapping[str, Any] | None, terms: Mapping[str, str]
    ) -> None:
        """Raise MissingColumnsError if new rows lack `needed` columns; it lists those of extras too."""
        if not all(name in table for name in needed):
            aside = {**self.extra_columns, **(extras or {})}.values()
            check_columns(
                [*needed, *(value for value in aside if isinstance(value, str))], table, self.variables, terms
            )

    def _check_any(self, table: Table) -> None:
        """Raise :class:`DataError` if new rows have no column that the design knows."""
        if self.variables and not any(name in table for name in self.variables):
            got = listed([repr(name) for name in table.names]) or "no columns"
            raise DataError(
                f"The 'new' of {called()} has none of the columns of the terms, such as "
                f"{self.variables[0]!r}. Got {got}."
            )

    def without(self, aliases: Aliases) -> "Design":
        """Return the design without some of its columns.

        Parameters
        ----------
        aliases : Aliases
            The columns, among those of this design.

        Returns
        -------
        Design
            Rows get the other columns.
        """
        return replace(self, aliases=aliases if self.aliases is None else aliases.after(self.aliases))

    def response_of(self, new: Any) -> FloatArray:
        """Compute the response of data that contain it.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            The data, with the columns that the response uses.

        Returns
        -------
        ndarray, shape (n,)
            float64; NaN where an input is missing.

        Raises
        ------
        UnknownNameError
            If a column is missing.
        DataError
            If a column holds another kind of values than in the fit, or a value is infinite.
        """
        return compute_response(self.left, Table(as_frame(new, "new")), self.functions)

    def restrict(self, keep: Collection[str]) -> "Design":
        """Return the design of a subset of the terms, which needs only their variables.

        Parameters
        ----------
        keep : collection of str
            Names of the terms to keep; their order does not change.

        Returns
        -------
        Design
            Levels, codings and transforms do not change. So an interaction keeps its columns without a main
            effect, whereas the formula would code it in full.

        Raises
        ------
        UnknownNameError
            If a name is not that of a term.

        Examples
        --------
        >>> import pandas as pd
        >>> from pyrjsel.design import Design
        >>> frame = pd.DataFrame({"y": [1.0, 2.0, 4.0], "race": ["a", "b", "a"], "age": [30, 40, 50]})
        >>> design, _ = Design.from_formula("y ~ .", frame)
        >>> design.restrict(["age"])
        <Design 'y ~ age': 1 term, 1 column>
        """
        names = [term.name for term in self.terms]
        for name in keep:
            if name not in names:
                raise unknown_name(name, "term", names, "in 'keep'")
        terms = [term for term, name in enumerate(names) if name in keep]
        layout = self.layout.restrict(terms)
        formula = _written(self.left, layout) if isinstance(layout, Layout) and self.formula else ""
        functions = {name: self.functions[name] for name in _called(self.left, layout)}
        aliases = self.aliases
        if aliases is not None:
            own = [self.layout.terms[term] for term in terms]
            none = np.empty(0, dtype=np.int64)
            aliases = aliases.restrict(np.concatenate([none, *(np.arange(t.start, t.stop) for t in own)]))
        return Design(formula, layout, self.left, functions, self.extra_columns, aliases)

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain data: str, int, float, bool, None, lists, dicts and float64 arrays.

        The user's functions are recorded by name only.
        """
        return {
            "version": VERSION,
            "formula": self.formula,
            "response": response_to_dict(self.left),
            **(self.layout.to_dict() if isinstance(self.layout, WideLayout) else layout_to_dict(self.layout)),
            "functions": list(self.functions),
            "extras": dict(self.extra_columns),
            **aliases_to_dict(self.aliases),
        }

    @classmethod
    def from_dict(
        cls,
        state: Mapping[str, Any],
        functions: Mapping[str, Function] | None = None,
    ) -> "Design":
        """Return the design from plain data of :meth:`to_dict`. No code in `state` is run.

        Parameters
        ----------
        state : mapping
            Plain data.
        functions : mapping of str to callable, optional
            The user's functions that the formula calls.

        Raises
        ------
        DataError
            If `state` is not the plain data of a design.
        FormulaError
            If it has code that is not allowed in a formula.
        ParameterError
            If a required function is missing.
        """
        own = called_functions(state, functions)
        layout = WideLayout.from_dict(state) or layout_from_dict(state, tuple(own))
        left = response_from_dict(take(state, "response", Mapping), tuple(own))
        extras = take(state, "extras", Mapping)
        if not all(type(key) is str and isinstance(item, (str, type(None))) for key, item in extras.items()):
            raise bad("'extras' must map names to names or None")
        if set(_called(left, layout)) != set(own):
            raise bad("'functions' are not those that its formula calls")
        formula = take(state, "formula", str)
        return cls(formula, layout, left, own, dict(extras), aliases_from_dict(state, layout.terms))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.to_dict(), dict(self.functions))

    def _table(self, new: Any) -> Table:
        assert isinstance(self.layout, Layout)
        return new_table(new, None if self.formula else self.layout.variables)


def _restore(state: dict[str, Any], functions: dict[str, Function]) -> Design:
    return Design.from_dict(state, functions)


def _called(left: Response, layout: Layout | WideLayout) -> list[str]:
    expressions = [left.expression, *(factor.expression for factor in layout.factors)]
    return list(dict.fromkeys(name for expression in expressions for name in expression.functions))


def _written(left: Response, layout: Layout) -> str:
    """Return the formula of a layout, with all terms written out."""
    codes = [factor.expression.code for factor in layout.factors]
    terms = dict.fromkeys(":".join(codes[factor] for factor in members) for members in layout.members)
    return f"{left.expression.code} ~ {' + '.join(terms) or '1'}"


def _extra_columns(extras: object) -> dict[str, str | None]:
    given = extra_names(extras)
    return {key: value if isinstance(value, str) else None for key, value in given.items()}
