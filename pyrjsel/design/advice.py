"""Advice on formulas: the spelling here of what users of R, of other packages and newcomers write."""

import ast
import keyword
import re
import unicodedata
from collections.abc import Mapping, Sequence

RANDOM = "random effects are not available; write C({0}) to include the groups as a factor"
_SPLINE = "write a spline of fixed size, as in cr({0}, df={df}) or bs({0}, df={df})"
_TENSOR = "write te(cr({0}, df=3), cr({1}, df=3))"
_NUMBER = "make the column numeric in the data first, with pandas.to_numeric or map"
_FIRST = "compute it as a column of the data first, since a formula works row by row"
_LARGER, _SMALLER = "write np.maximum({0}, {1})", "write np.minimum({0}, {1})"
_PYTHON_POWER = "write I({0}**{1})"

# What to write for functions of R and of other packages, by their name without a module, and {0} and {1} for
# their arguments.
CURES: Mapping[str, str] = {
    **dict.fromkeys(("factor", "category", "i"), "write C({0}) for a factor"),
    "ordered": "write C({0}) for a factor, or C({0}, Poly) for polynomial contrasts",
    "relevel": "write C({0}, Treatment({1}))",
    "interaction": "write the interaction {0}:{1}",
    **dict.fromkeys(("numeric", "integer", "double", "astype", "float", "int"), _NUMBER),
    "Surv": 'write rj.cox("{0} ~ ...", data, event={event}): the times are the response',
    "Surv with entry": "delayed entry is not supported; give the follow-up time as response, event={event}",
    "strata": "strata with baseline hazards of their own are not supported; write C({0}) for a factor",
    "cluster": "leave it out, or write C({0}) for a factor; there are no standard errors by cluster",
    **dict.fromkeys(("frailty", "re", "gr"), RANDOM),
    "rcs": "write a restricted cubic spline as cr({0}, df={knots})",
    "ns": "write a natural spline as cr({0}, df={df})",
    **dict.fromkeys(("s", "pspline", "ps", "cs", "lo", "loess", "smooth", "gam", "gp", "hsgp"), _SPLINE),
    **dict.fromkeys(("ti", "t2"), _TENSOR),
    "pol": "write poly({0}, {1})",
    "lsp": "write {0} + I(np.maximum({0} - {1}, 0))",
    "offset": "pass the column, or an array such as np.log(data['{variable}']), as the parameter offset=",
    "weights": "pass the column as the parameter weights=",
    "cbind": "give the proportion of successes as the response and the numbers of trials as weights=, as in "
    "rj.logit(\"I({0} / ({0} + {1})) ~ ...\", data, weights=data.eval('{0} + {1}'))",
    "trials": "give the proportion of successes as the response, and pass {0} as the parameter weights=",
    "ifelse": "write np.where({0}, {1}, {2})",
    "c": "write a list, such as [1, 2] or ['a', 'b']",
    "ln": "write np.log({0})",
    **dict.fromkeys(("power", "pow"), _PYTHON_POWER),
    **dict.fromkeys(("pmax", "max"), _LARGER),
    **dict.fromkeys(("pmin", "min"), _SMALLER),
    **dict.fromkeys(("cut", "qcut", "cut2"), "bin the column in the data first, with pandas.cut"),
    **dict.fromkeys(("mean", "median", "std", "sd", "var", "sum", "rank"), _FIRST),
    **dict.fromkeys(("na", "isna", "isnull", "fillna"), _FIRST),
    **dict.fromkeys(("lag", "L", "shift", "diff", "cumsum", "ave", "dummy", "get_dummies"), _FIRST),
}

WHOLE_NAME = "write the name of a column alone"
# The same for signs that Python or patsy cannot read, the first that is found; {0} is a group of the pattern.
_SIGNS: Sequence[tuple[str, str]] = (
    ("`([^`]*)`", "it has backticks; write the column as Q({0!r})"),
    (r"(\w+)\s*::", "leave out '{0}::'"),
    (r"(\w+)\s*\$\s*\w", f"{WHOLE_NAME}, without '{{0}}$'"),
    (r"%\s*in\s*%", "write %in% as comparisons, I((x == 'a') | (x == 'b')), and a nested term as a:b"),
    (r"%\s*%", "write a remainder as I(x % 2)"),
    (r"\|\s*\|\s*\(?(\w+)", RANDOM),
    (r"&\s*&", "write & between conditions in parentheses, as in I((a > 1) & (b > 1))"),
    (r"\)\s*([&|])", "write conditions with {0} inside I(), as in I((a > 1) {0} (b > 1))"),
    (r"!(?!=)", "write 'not' as ~, as in I(~(x == 'a'))"),
    ("#", "write main effects and interaction as a*b; comments are not allowed"),
    (r"\^", "write powers as **, as in (a + b)**2 and I(x**2)"),
)
_WORDS_OF_OPERATORS = {"and", "or", "not", "in", "is", "if", "else", "for", "None", "True", "False"}
# Signs of text copied from a page, and what to type instead.
_COPIED = {
    **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014", "-"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", "a straight quotation mark"),
    **dict.fromkeys("\u2018\u2019\u201a\u2032", "a straight quotation mark"),
    **dict.fromkeys("\u00d7\u2217\u22c5\u00b7", "* or :"),
    **dict.fromkeys("\u223c\u02dc\uff5e", "~"),
    **dict.fromkeys("\u00b2\u00b3", "a power, as in I(x**2),"),
}


def advice(text: str) -> str | None:
    """Return what to write in place of code that Python or patsy cannot read, if that is known."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)
    for sign in bare:
        kind = "" if sign in " \n\t" else unicodedata.category(sign)
        instead = "a space" if kind == "Zs" else "nothing" if kind == "Cf" else _COPIED.get(sign)
        if instead:
            name = unicodedata.name(sign, "unnamed").lower()
            return f"it has a sign of copied text, U+{ord(sign):04X} ({name}); type {instead} instead"
    begin = re.search(r"((?<=::)[A-Za-z]\w*|\b(?:as|is)\.\w+)\s*\(", text)
    cure = cure_of(begin[1], _inside(text[begin.end() :])) if begin else None
    if cure:
        return cure
    for pattern, sentence in _SIGNS:
        found = re.search(pattern, bare)
        if found:
            return sentence.format(*found.groups())
    words = text.split()
    names = [word for word in re.findall(r"[A-Za-z_]\w*", bare) if keyword.iskeyword(word)]
    if text in names or set(names) - _WORDS_OF_OPERATORS:
        word = text if text in names else next(word for word in names if word not in _WORDS_OF_OPERATORS)
        return f"{word!r} is a word of Python; write the column as Q({word!r})"
    if len(words) > 1 and all(word.replace(".", "_").isidentifier() for word in words):
        return f"write + between terms, or a column whose name has spaces as Q({text!r})"
    return None


def cure_of(name: str, inside: str) -> str | None:
    """Return what to write for a call of `name` with the arguments `inside`, if that is known."""
    name = name.rpartition(".")[2]
    if name not in CURES:
        return None
    given = _arguments(inside)
    event = "None" if len(given) == 1 else given[-1] if given else "d"
    if len(given) != 1:
        event = f'"{event}"' if event.isidentifier() else f"data.eval({event!r})"
    size = int(given[1]) if len(given) > 1 and re.fullmatch("[0-9]{1,2}", given[1]) else 4
    variable = re.search(r"[A-Za-z_]\w*(?!\w*\()", inside)
    if name == "cbind":
        given = [item if item.isidentifier() else f"({item})" for item in given]
    template = CURES["Surv with entry" if name == "Surv" and len(given) > 2 else name]
    return template.format(
        *(*given, *("x", "2", "0")[len(given) :]),
        event=event,
        df=size,
        knots=max(size - 1, 2),
        variable=variable[0] if variable else "x",
    )


def _arguments(inside: str) -> list[str]:
    """Return the arguments of a call, without their names; none if they cannot be read."""
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
        items = (*call.args, *(item.value for item in call.keywords)) if isinstance(call, ast.Call) else ()
        return [ast.unparse(item) for item in items]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _inside(text: str) -> str:
    """Return a text up to the parenthesis that closes one opened before it."""
    depth = 1
    for position, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return text[:position]
    return text
