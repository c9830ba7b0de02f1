"""The tables of the page for users of R: what stands on the right runs, or is not in the package."""

import ast
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from pages import FOLDER

import pyrjsel as rj
from pyrjsel.patterns.options import InterweavingOptions, SliceOptions
from pyrjsel.selection.samplers.options import CorrectedOptions
from pyrjsel.selection.samplers.registry import NAMES

# Rows that say "no counterpart", with what the name of one would have in it: no public name may have that.
NONE = {
    '`prior = "JZS"` with `alpha` other than 1': r"ZellnerSiow\.(a|alpha|b|scale)$",
    "`modelprior = tr.power.prior(...)`": r"power",
    '`method = "BAS"`, sampling without replacement': r"replace|adaptive",
    '`mprior = "customk"`': r"custom",
    "shrinkage statistics": r"shrink",
    "`diagonal.shrinkage` between 0 and 1": r"shrink|diagonal",
    "`max.flips`": r"flips",
    "`choice.name.separator` and other inputs of `mlm.spike` that differ by choice": r"choice",
    "`qreg.spike`, `nested.regression`, `shrinkage.regression`": r"quantile|qreg|nested|shrink",
    "`momprior`, `imomprior`, `emomprior` (non-local priors, the default)": r"non_?local|moment|\bi?mom",
    "`groupzellnerprior`, `groupmomprior`": r"block|group\w*prior",
    "`priorDelta = modelcomplexprior(c)`": r"complexity",
    '`family = "laplace"`, `"twopiecenormal"`, `"twopiecelaplace"`, `"auto"`': r"two_?piece|quantile|laplace",
    "`modelSelectionGGM`, `bfnormmix`, `localnulltest`, `cil`": r"graph|ggm|local_?null|treatment",
    "`no_cases_ign`": r"ignore|no_cases",
    "`cv_comp_train_pred`": r"pattern\w*\.cross",
}
# The same of formulas: these are errors.
REFUSED = {
    "`- 1`, `0 +`": ["y ~ x - 1", "y ~ 0 + x"],
    r"`(1 \| g)`, `strata(g)`, `cluster(g)`": ["y ~ x + (1 | g)", "y ~ x + strata(g)", "y ~ x + cluster(g)"],
}
# Rows with words alone on the right.
WORDS = {"`subset`", "`renormalize`", "prior of the intercept", "`groups`", "`no_cls`, `nos_features`"}
WORDS |= {
    "their defaults (-1 or 2, falling by 0.5; width 1)",
    '`postProb(method = "norm")`, the default: renormalised',
    "`train_x`, codes 1, 2, …",
}
# What stands on the right and belongs to R, or is part of a formula or a word.
FOREIGN = {
    'binomial("probit")',
    'binomial("cloglog")',
    'method = "exact"',
    "mprior.size",
    "amll",
    "A:B",
    "bs",
}
FOREIGN |= {"x", "class"}

pytestmark = pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")  # data and chains are short
FORMULA = "y ~ age + x + age:x"


def rows_of_the_page():
    """Return the heading above each row of a table, and its two cells."""
    section = ""
    for line in (FOLDER / "guide" / "from-r.md").read_text().splitlines():
        section = line.removeprefix("## ") if line.startswith("## ") else section
        if line.startswith("| ") and not line.endswith("| here |"):
            left, right = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            yield section, left, right.replace(r"\|", "|")


ROWS = list(rows_of_the_page())


def parameters(*callables):
    return {name for one in callables for name in inspect.signature(one).parameters}


@pytest.fixture(scope="module")
def data():
    k = np.arange(40)
    rng = np.random.default_rng(1)
    columns = {
        "x": k % 5.0,
        "age": 20.0 + k % 7,
        "z": k % 3.0,
        "g": np.array(list("abcd"))[k % 4],
        "my column": k % 6,
    }
    counts = {"cases": k % 3, "controls": 1 + k % 4, "n": 5 + k % 2, "status": rng.integers(0, 2, 40)}
    noise = {"y": rng.normal(size=40), "time": rng.exponential(size=40), "a": rng.normal(size=40)}
    return pd.DataFrame(columns | counts | noise | {"b": rng.normal(size=40)})


@pytest.fixture(scope="module")
def selection(data):
    """Names that the cells take as known: data, a model, its results, numbers."""
    model = rj.linear(FORMULA, data)
    results = model.fit(sampler="collapsed", draws=50, chains=2, rng=1)

    def fit(**given):
        own = rj.logit("status ~ age + x", data) if "integration" in given else model
        return own.fit(rng=1, **{"draws": 20, "burn_in": 20} | given)

    names = {
        "rj": rj,
        "np": np,
        "data": data,
        "new": data.head(3),
        "y": data["y"],
        "lml": np.array([-9.0, -7.0]),
    }
    numbers = {
        "g": 9.0,
        "a": 3.0,
        "b": 1.0,
        "n": 40,
        "k": 2,
        "m": 1.5,
        "p": 0.4,
        "s": 1.0,
        "w": 0.5,
        "v": 2.0,
    }
    numbers |= {"l": 0.1, "mean": 2.0, "r2": 0.5, "df": 1.0, "phi": 1.0}
    made = {
        "make": lambda **given: rj.linear(FORMULA, data, **given).fit(rng=1),
        "makers": (rj.linear, rj.negbin, rj.gamma, rj.cox),
    }
    options = {"options": (model.fit, CorrectedOptions)}
    return (
        names
        | numbers
        | made
        | options
        | {
            "phi": 1.0,
            "endog": data["y"],
            "exog": data[["x", "age"]],
            "model": model,
            "results": results,
            "fit": fit,
        }
    )


@pytest.fixture(scope="module")
def patterns():
    """The same of the section on patterns."""
    rows = rj.histories(rj.datasets.english_text().data["symbol"][:150], order=3)
    y, x = rows["next"], rows.drop(columns="next")
    short = {"draws": 20, "burn_in": 20, "thin": 1, "chains": 1, "rng": 1}
    model = rj.PatternLogit(y, x, kind="sequence")

    def fit(**given):
        return model.fit(**short | given)

    numbers = {"w": -1.0, "s": 1.0, "n": 2, "sigma1": 1.0, "sigmasum": 3.0}
    made = {"make": lambda **given: rj.PatternLogit(y, x, **given), "makers": (rj.PatternLogit,)}
    options = {"options": (model.fit, SliceOptions, InterweavingOptions)}
    results = rj.pattern_logit("next ~ sequence(x1, x2, x3)", rows).fit(**short)
    return (
        {"rj": rj, "data": rows, "new": rows.head(3), "results": results, "fit": fit}
        | numbers
        | made
        | options
    )


def use(prior, data):
    """Fit with the prior: one with the information at maxima is for generalised linear models."""
    way = "model_prior" if type(prior).__module__.startswith("pyrjsel.model_space") else "coef_prior"
    way = "sigma_prior" if isinstance(prior, rj.InverseGamma) else way
    if getattr(prior, "information", None) == "observed" and not isinstance(prior, rj.EmpiricalBayes):
        rj.logit("status ~ age + x", data, **{way: prior}).fit(rng=1)
    else:
        rj.linear(FORMULA, data, **{way: prior}).fit(rng=1)


def run(code, section, names):
    """Run a piece of code: part of a formula, keywords, or an expression, whose value is returned."""
    if section == "Formulas" and not code.startswith(("rj.", "offset=")):
        rj.linear(f"y ~ {code}", names["data"][["y", "x", "z", "g", "a", "b", "my column"]])
    elif code.startswith(("sequence(", "interactions(")):
        rj.pattern_logit(f"next ~ {code}", names["data"])
    elif re.match(r"\w+=", code):
        call = ast.parse(f"f({code})", mode="eval").body
        given = {key.arg: eval(ast.unparse(key.value), names) for key in call.keywords}
        names["make" if given.keys() <= parameters(*names["makers"]) else "fit"](**given)
    else:
        value = eval(code, names)
        if (
            type(value).__module__.startswith("pyrjsel")
            and "prior" in f"{type(value).__module__}{type(value)}".lower()
        ):
            use(value, names["data"])
        return value
    return None


@pytest.mark.parametrize(("section", "left", "right"), ROWS, ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_the_right_side_of_the_row_runs(section, left, right, selection, patterns):
    names = dict(patterns if section == "BPHO" else selection)
    codes = re.findall(r"(?:``(.+?)``|`(.+?)`)", right)
    codes = [one or other for one, other in codes if other not in FOREIGN]
    assert codes or left in WORDS | set(NONE) | set(REFUSED)
    bare = {code.rstrip("=") for code in codes if re.fullmatch(r"\w+=?", code)}
    values = [run(code, section, names) for code in codes if code.rstrip("=") not in bare]
    plt.close("all")
    # Names alone are parameters, or columns or rows of the table beside them.
    known = parameters(*names["makers"], *names["options"]) | {*rj.__all__, "fit"}
    known |= {
        name for value in values if isinstance(value, pd.DataFrame) for name in [*value.columns, *value.index]
    }
    assert bare - known == set()


def public_names():
    """Names of the package with those of their members and parameters."""
    owners = {name: getattr(rj, name) for name in rj.__all__} | {"fit": rj.LinearSelection.fit}
    for name, owner in owners.items():
        yield name
        if callable(owner) and not (isinstance(owner, type) and issubclass(owner, Exception)):
            yield from (f"{name}.{parameter}" for parameter in inspect.signature(owner).parameters)
            yield from (f"{name}.{member}" for member in dir(owner) if not member.startswith("_"))
    yield from NAMES


def test_what_has_no_counterpart_is_not_in_the_package(data):
    lacking = {left for _, left, right in ROWS if "no counterpart" in right}
    assert lacking == {*NONE, *REFUSED}
    names = list(public_names())
    assert len(names) > 500
    found = {
        left: [name for name in names if re.search(like, name, re.IGNORECASE)] for left, like in NONE.items()
    }
    assert {left: names for left, names in found.items() if names} == {}
    for formula in [formula for formulas in REFUSED.values() for formula in formulas]:
        with pytest.raises(rj.FormulaError):
            rj.linear(formula, data)
    assert {left for _, left, _ in ROWS} >= WORDS
