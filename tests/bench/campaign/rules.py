"""Which data sets are fitted, by rule: `python rules.py FOLDER` makes the list `fits.csv` again.

A set is taken as it comes. Columns with many missing values are dropped, then rows with any; columns that
are constant, text of many values, row numbers, or the response in other units are no terms. The response
is the last column of the right type. Of sets with mostly the same columns one is kept, the first by a hash
of the names, which is also the order of the list.
"""

import hashlib
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import sources
from pandas.api.types import is_bool_dtype, is_numeric_dtype

LIST = Path(__file__).resolve().parent / "fits.csv"
ROWS = 60, 6000
TERMS = 6, 25
FEWEST = {"cox": 2, "kernel": 2, "mixture": 3, "patterns": 3, "multinomial": 4}
LEVELS = 8
MOST = {"logit": 150}  # sets of a family; those of the others:
USUAL = 40
SHARED = 0.5  # share of equal columns of sets that count as the same
TIME = re.compile(
    r"(fu|surv|stop|s|os|rfs|event|death)?_?(time|days|weeks|months|years|wks)_?\d?|t|dur.*|stop|y|lenfol|survival|futime",
    re.I,
)
EVENT = re.compile(
    r"(fu|vital)?_?(status|stat|event|death|dead|died|delta|cens\w*|d\d?|fail\w*|relapse|arrest|observed|e)",
    re.I,
)


def numbers(column):
    """Whether a column has numbers other than truth values."""
    return is_numeric_dtype(column) and not is_bool_dtype(column)


def counted(column):
    """Whether all values of a column are whole."""
    return numbers(column) and bool((column == np.floor(column)).all())


def tidy(frame):
    """Return a frame without missing values, constant columns, row numbers and text of many values."""
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)
    frame = frame.loc[:, ~frame.columns.duplicated()]
    frame = frame.loc[
        :, [not (numbers(c) and bool((c.diff().iloc[1:] == 1).all())) for _, c in frame.items()]
    ]
    frame = frame.dropna(axis=1, thresh=int(0.7 * len(frame))).dropna().reset_index(drop=True)
    kept = {}
    for name, column in frame.items():
        if column.dtype == object or isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(str)
        elif is_numeric_dtype(column) and not is_bool_dtype(column):
            column = column.astype(float)
        different = column.nunique()
        if different > 1 and (np.isfinite(column).all() if numbers(column) else different <= LEVELS):
            kept[name] = column
    return pd.DataFrame(kept)


def two_valued(column):
    """Whether a column can be a binary response."""
    return column.nunique() == 2 and 0.03 <= float((column == column.iloc[0]).mean()) <= 0.97


def classes(column, last):
    """Whether a column has three to six classes, each of enough rows; numbers only as the last column."""
    counts = column.value_counts()
    typed = not numbers(column) or (last and counted(column))
    return typed and 3 <= len(counts) <= 6 and counts.min() >= max(5, 0.02 * len(column))


def count(column):
    """Whether a column can be a count: whole numbers from 0 on of moderate mean, of at least six values."""
    return (
        counted(column)
        and column.min() == 0
        and column.nunique() > 5
        and 0.2 <= column.mean() <= 30
        and column.max() <= 300
    )


def continuous(column):
    """Whether a column has many different numbers."""
    return numbers(column) and column.nunique() > max(20, 0.05 * len(column))


def skewed(column):
    """Whether a column has positive numbers that are skewed to the right."""
    return continuous(column) and column.min() > 0 and column.skew() > 1


def follow_up(frame):
    """Return the columns of times and of events, or None."""
    times = [name for name, c in frame.items() if TIME.fullmatch(name) and numbers(c) and c.min() >= 0]
    times = [name for name in times if frame[name].nunique() > 10]
    events = [name for name, c in frame.items() if EVENT.fullmatch(name) and c.nunique() == 2]
    return (times[0], events[0]) if times and events else None


def response_of(frame, family):
    """Return the names of the response and, of times, of events; or None."""
    if family == "cox":
        return follow_up(frame)
    last = frame.columns[-1] if len(frame.columns) else None
    suited = {
        "logit": two_valued,
        "probit": two_valued,
        "cloglog": two_valued,
        "patterns": lambda c: two_valued(c) or classes(c, False),
        "mixture": lambda c: two_valued(c) or classes(c, c.name == last),
        "multinomial": lambda c: classes(c, c.name == last),
        "poisson": lambda c: count(c) and c.var() <= 5 * c.mean(),
        "negbin": lambda c: count(c) and c.var() > 1.2 * c.mean(),
        "gamma": skewed,
    }.get(family, continuous)
    found = [name for name, column in frame.items() if suited(column)]
    return (found[-1], "") if found else None


def prepared(frame, family, response, event=""):
    """Return the rows that are fitted: the response `y`, for times `event`, and the terms v1, v2, ..."""
    y, x = frame[response], frame.drop(columns=[name for name in (response, event) if name])
    if family not in ("logit", "probit", "cloglog", "patterns", "mixture", "multinomial"):
        same = [name for name, c in x.items() if numbers(c) and abs(np.corrcoef(c, y)[0, 1]) > 0.9999]
    else:
        few = [name for name, c in x.items() if c.nunique() <= LEVELS]
        same = [name for name in few if y.groupby(x[name]).nunique().max() == 1]
    x = x.drop(columns=same)
    if family in ("kernel", "mixture"):
        x = x.loc[:, [numbers(c) for _, c in x.items()]]
    if family == "patterns":
        x = x.loc[:, [c.nunique() <= LEVELS and (not numbers(c) or counted(c)) for _, c in x.items()]].iloc[
            :, :6
        ]
    x.columns = [f"v{j + 1}_{re.sub('[^A-Za-z0-9]', '', name)}" for j, name in enumerate(x)]
    if family in ("logit", "probit", "cloglog"):
        y = (y.astype(str) == sorted(y.astype(str).unique())[1]).astype(int)
    elif family in ("multinomial", "mixture", "patterns"):
        y = y.astype(str)
    made = x.assign(y=y)
    if event:
        made = made.assign(event=(frame[event] == frame[event].max()).astype(int)).query("y > 0")
    return made


def columns_of(rows):
    """Return what tells the columns of a frame from others, whatever their names and codes."""
    marks = set()
    for name in rows:
        column = rows[name]
        few = column.nunique() <= LEVELS or not numbers(column)
        marks.add(tuple(sorted(column.value_counts())) if few else f"{column.mean():.6g} {column.std():.6g}")
    return marks


def stem(name):
    """Return the name of a set alone, in lower case."""
    return sources.short(name).rpartition("/")[2].lower()


def order(name):
    """Return a number by which names are shuffled."""
    return hashlib.sha256(sources.short(name).encode()).hexdigest()


def usable(rows, family):
    """Whether rows and terms are within the limits."""
    terms = rows.shape[1] - 1 - ("event" in rows)
    least = FEWEST.get(family, TERMS[0])
    most = 2000 if family in ("kernel", "mixture") else ROWS[1]
    return ROWS[0] <= len(rows) <= most and least <= terms <= TERMS[1]


def choose(frames, family):
    """Return lines of the list for a family."""
    taken, lines = [], []
    for name, frame in frames.items():
        found = response_of(frame, family)
        if found is None:
            continue
        rows = prepared(frame, family, *found)
        if not usable(rows, family):
            continue
        marks = columns_of(rows)
        if any(
            stem(name) == stem(known)
            or (n == len(rows) and len(marks & other) >= SHARED * min(len(marks), len(other)))
            for known, n, other in taken
        ):
            continue
        taken.append((name, len(rows), marks))
        terms = rows.shape[1] - 1 - ("event" in rows)
        lines.append((family, name, *found, len(rows), terms))
        if len(lines) == MOST.get(family, USUAL):
            break
    return lines


FAMILIES = (
    "logit",
    "probit",
    "cloglog",
    "linear",
    "student",
    "poisson",
    "negbin",
    "gamma",
    "multinomial",
    "cox",
    "kernel",
    "mixture",
    "patterns",
)


def main(data):
    frames = {}
    for name in sorted(sources.names_of(data), key=order):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                frame = sources.read(name, data)
                frame = (
                    tidy(frame) if ROWS[0] <= len(frame) <= 10 * ROWS[1] and frame.shape[1] <= 60 else None
                )
        except Exception as error:  # noqa: BLE001 - a file that cannot be read is no data set
            print(f"{name}: {type(error).__name__}: {str(error)[:100]}")
            continue
        if frame is not None and frame.shape[1] > 2:
            frames[name] = frame
    lines = [line for family in FAMILIES for line in choose(frames, family)]
    table = pd.DataFrame(lines, columns=["family", "set", "response", "event", "rows", "terms"])
    table.to_csv(LIST, index=False)
    print(len(frames), table.groupby("family", sort=False).size().to_dict())


if __name__ == "__main__":
    main(sys.argv[1])
