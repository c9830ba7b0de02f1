"""Input that cannot be used: each gives an error of the package that names what is wrong."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

N = 60
COSTS = {"x": 1.0, "z": 2.0, "g": 3.0}


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "z": rng.normal(size=N),
            "g": list("abc") * (N // 3),
            "w": rng.integers(1, 5, N),
            "o": rng.normal(size=N),
        }
    )
    return frame.assign(y=(rng.random(N) < 1 / (1 + np.exp(-frame["x"]))).astype(int))


FRAME = make_frame()


def build(formula="y ~ x + z + g", data=None, **options):
    return rj.logit(formula, FRAME if data is None else data, **options)


def arrays(endog=None, exog=None, **options):
    return rj.LogitSelection(
        FRAME["y"] if endog is None else endog, FRAME[["x", "z", "g"]] if exog is None else exog, **options
    )


def changed(**columns):
    return FRAME.assign(**columns)


def at_row_3(column, value):
    return changed(**{column: FRAME[column].astype(float).where(FRAME.index != 3, value)})


def walk(model=None, **options):
    settings = {"sampler": "rjmcmc", "draws": 20, "chains": 2, "rng": 1, "progress": False}
    return (model or build()).fit(**{**settings, **options})


@pytest.fixture(scope="module")
def results():
    return build().fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def results_with_offset():
    """Results of arrays, the offset an array too."""
    return arrays(offset=FRAME["o"].to_numpy()).fit(rng=1, progress=False)


# What is called, the class of the error, and what its message must say: the parameter, column or term at
# fault, what it must be, and what it was.
MODEL_CASES = {
    # the formula
    "formula is no string": (lambda: build(3), rj.ParameterError, "'formula'.*string.*Got 3"),
    "arguments swapped": (lambda: rj.logit(FRAME, "y ~ x"), rj.DataError, "'data'.*DataFrame.*Got str"),
    "no response": (lambda: build("x + z"), rj.FormulaError, "'x [+] z'.*no response"),
    "nothing left of ~": (lambda: build("~ x"), rj.FormulaError, "'~ x'.*no response"),
    "nothing right of ~": (lambda: build("y ~"), rj.FormulaError, "'y ~'.*cannot be read"),
    "two responses": (lambda: build("y + w ~ x"), rj.FormulaError, "one response"),
    "two tildes": (lambda: build("y ~ x ~ z"), rj.FormulaError, "more than one '~'"),
    "empty formula": (lambda: build(""), rj.FormulaError, "no response"),
    "unbalanced": (lambda: build("y ~ (x + z"), rj.FormulaError, "cannot be read"),
    "no intercept, -1": (lambda: build("y ~ x - 1"), rj.FormulaError, "'y ~ x - 1'.*intercept.*every model"),
    "no intercept, 0": (lambda: build("y ~ 0 + x"), rj.FormulaError, "intercept"),
    "unknown column": (lambda: build("y ~ age"), rj.UnknownNameError, "'age'.*Known: x, z, g, w, o, y"),
    "misspelt column": (
        lambda: build("y ~ wight", changed(weight=1.0)),
        rj.UnknownNameError,
        "'wight'.*Did you mean 'weight'",
    ),
    "unknown response": (lambda: build("died ~ x"), rj.UnknownNameError, "'died'"),
    "unknown function": (lambda: build("y ~ foo(x)"), rj.FormulaError, r"foo\(x\).*functions="),
    "bare log": (lambda: build("y ~ log(w)"), rj.FormulaError, r"did you mean np\.log"),
    "import": (lambda: build("y ~ __import__('os').system('true')"), rj.FormulaError, "not allowed"),
    "open": (lambda: build("y ~ open('/etc/passwd')"), rj.FormulaError, "'open' may not be called"),
    "attribute": (lambda: build("y ~ x.__class__"), rj.FormulaError, "attributes are not allowed"),
    "comprehension": (lambda: build("y ~ I([v for v in x])"), rj.FormulaError, "not allowed"),
    "log of negative numbers": (lambda: build("y ~ np.log(x)"), rj.DataError, r"np\.log\(x\).* rows"),
    "division by zero": (lambda: build("y ~ I(1 / (x - x))"), rj.DataError, "infinite.*60 of 60 rows"),
    "overflow": (lambda: build("y ~ np.exp(1000 * x ** 2)"), rj.DataError, "infinite"),
    "response on the right": (
        lambda: build("y ~ x + y"),
        rj.FormulaError,
        "'y ~ x [+] y'.*response 'y' on the right side, in the term 'y'",
    ),
    "response in an interaction": (lambda: build("y ~ x:y"), rj.FormulaError, "in the term 'x:y'"),
    "response transformed": (lambda: build("y ~ I(y + 1)"), rj.FormulaError, r"in the term 'I\(y \+ 1\)'"),
    "computed response on the right": (
        lambda: build("I(w > 2) ~ x + I(w > 2)"),
        rj.FormulaError,
        r"response 'I\(w > 2\)'",
    ),
    "a column Intercept": (
        lambda: build("y ~ Intercept", changed(Intercept=FRAME["x"])),
        rj.DataError,
        "column 'Intercept'.*another name",
    ),
    "functions is no mapping": (lambda: build(functions=[np.sin]), rj.ParameterError, "'functions'.*mapping"),
    "function is no function": (
        lambda: build("y ~ f(x)", functions={"f": 1}),
        rj.ParameterError,
        "'functions'.*'f'.*Got 1",
    ),
    # the response
    "response 1, 2": (
        lambda: build(data=changed(y=FRAME["y"] + 1)),
        rj.DataError,
        "'y' must be 0 or 1.*Got 2",
    ),
    "response -1, 1": (lambda: build(data=changed(y=2 * FRAME["y"] - 1)), rj.DataError, "'y'.*Got -1"),
    "response text": (
        lambda: build(data=changed(y=np.where(FRAME["y"] == 1, "yes", "no"))),
        rj.DataError,
        r"'y'.*numeric or boolean.*I\(y == ",
    ),
    "response categorical": (
        lambda: build(data=changed(y=pd.Categorical(FRAME["y"]))),
        rj.DataError,
        "'y'.*numeric or boolean",
    ),
    "proportion without trials": (
        lambda: build(data=changed(y=FRAME["y"] / 2)),
        rj.DataError,
        "'y'.*proportion with weights=.*Got 0.5",
    ),
    "counts for proportions": (
        lambda: build(data=changed(y=3 * FRAME["y"]), weights="w"),
        rj.DataError,
        r"'y' must be a proportion in \[0, 1\].*Got 3",
    ),
    "one class": (lambda: build(data=changed(y=1)), rj.DataError, "'y' must have both classes. Got 1 only"),
    "one class by weight": (
        lambda: build(data=changed(w=FRAME["y"]), weights="w"),
        rj.DataError,
        "both classes. Got 1 only",
    ),
    "infinite response": (lambda: build(data=at_row_3("y", np.inf)), rj.DataError, "infinite.*'y'"),
    "endog of two columns": (lambda: arrays(FRAME[["y", "w"]]), rj.DataError, "'endog'.*one column"),
    "endog and exog of two lengths": (lambda: arrays([0, 1]), rj.DataError, "'endog'.*2 rows.*60"),
    "endog with another index": (
        lambda: arrays(FRAME["y"].rename(index=lambda i: i + 1)),
        rj.DataError,
        "'endog' and 'exog'.*same index",
    ),
    "endog missing": (lambda: arrays(np.full(N, np.nan)), rj.DataError, "60 of 60 rows have missing values"),
    # the rows
    "data is an array": (
        lambda: build(data=FRAME.to_numpy()),
        rj.DataError,
        "'data'.*DataFrame.*Got ndarray",
    ),
    "data is None": (lambda: rj.logit("y ~ x", None), rj.DataError, "'data'.*Got NoneType"),
    "no rows": (lambda: build(data=FRAME.iloc[:0]), rj.DataError, "no rows"),
    "no columns": (lambda: build(data=pd.DataFrame(index=range(3))), rj.UnknownNameError, "'y'"),
    "all rows missing": (lambda: build(data=changed(x=np.nan)), rj.DataError, r"60 of 60.*\(x: 60\)"),
    "missing='raise'": (
        lambda: build(data=at_row_3("x", np.nan), missing="raise"),
        rj.DataError,
        r"1 of 60 rows.*\(x: 1\).*missing='drop'",
    ),
    "missing unknown": (
        lambda: build(missing="omit"),
        rj.ParameterError,
        "'missing'.*'drop', 'raise'.*'omit'",
    ),
    "infinite column": (lambda: build(data=at_row_3("x", -np.inf)), rj.DataError, "infinite.*'x'"),
    "column that cannot be squared": (
        lambda: build(data=changed(x=1e200 * FRAME["x"])),
        rj.DataError,
        "rescale x",
    ),
    "column whose squares vanish": (
        lambda: build(data=changed(x=1e-200 * FRAME["x"])),
        rj.DataError,
        "rescale x",
    ),
    "dates": (
        lambda: build("y ~ t", changed(t=pd.date_range("2020", periods=N))),
        rj.DataError,
        "'t'.*datetime64.*days since",
    ),
    "complex numbers": (lambda: build(data=changed(x=FRAME["x"] + 1j)), rj.DataError, "'x'.*complex"),
    "a mixture": (
        lambda: build("y ~ m", changed(m=[1, "a"] * (N // 2))),
        rj.DataError,
        "'m'.*mixed.*1 and 'a'",
    ),
    "two columns of one name": (
        lambda: build(data=pd.concat([FRAME, FRAME[["x"]]], axis=1)),
        rj.DataError,
        "more than one column named 'x'",
    ),
    "two columns of one name in exog": (
        lambda: arrays(exog=FRAME[["x", "x"]]),
        rj.DataError,
        "more than one column named 'x'",
    ),
    "response in exog": (lambda: arrays(exog=FRAME[["x", "y"]]), rj.DataError, "column 'y'.*response"),
    "constant in exog": (
        lambda: arrays(exog=np.c_[np.ones(N), FRAME["x"]]),
        rj.DataError,
        "constant column.*'x1'.*intercept is always included",
    ),
    "exog of three dimensions": (
        lambda: arrays(exog=np.zeros((N, 2, 2))),
        rj.DataError,
        r"'exog'.*\(60, 2, 2\)",
    ),
    "ragged exog": (lambda: rj.LogitSelection([0, 1], [[1, 2], [3]]), rj.DataError, "'exog' .*matrix"),
    "factor of one level": (lambda: build(data=changed(g="a")), rj.DataError, "'g'.*two levels.*'a'"),
    # weights and offset
    "weights not a column": (
        lambda: build(weights="ww"),
        rj.UnknownNameError,
        "as 'weights' the column 'ww'",
    ),
    "weights text": (lambda: build(weights="g"), rj.DataError, "'weights'.*numeric.*text"),
    "weights too short": (lambda: build(weights=[1, 2, 3]), rj.DataError, "'weights'.*60 rows. Got 3"),
    "weights a matrix": (lambda: build(weights=np.ones((N, 2))), rj.DataError, r"'weights'.*\(60, 2\)"),
    "weights ragged": (lambda: build(weights=[[1], [1, 2]]), rj.DataError, "'weights'.*one-dimensional"),
    "weights of another index": (
        lambda: build(weights=pd.Series(1.0, index=range(100, 100 + N))),
        rj.DataError,
        "'weights'.*index does not match",
    ),
    "weights negative": (lambda: build(weights=-FRAME["w"]), rj.DataError, "'weights'.*non-negative.*Got -4"),
    "weights zero": (lambda: build(weights=0 * FRAME["w"]), rj.DataError, "'weights'.*positive.*zeros"),
    "weights infinite": (
        lambda: build(data=at_row_3("w", np.inf), weights="w"),
        rj.DataError,
        "infinite.*'w'",
    ),
    "weights beyond reason": (lambda: build(weights=1e200 * FRAME["w"]), rj.DataError, "rescale weights"),
    "offset not a column": (lambda: build(offset="oo"), rj.UnknownNameError, "as 'offset' the column 'oo'"),
    "offset infinite": (lambda: build(data=at_row_3("o", np.inf), offset="o"), rj.DataError, "infinite.*'o'"),
    "offset too long": (lambda: build(offset=np.zeros(N + 1)), rj.DataError, "'offset'.*60 rows. Got 61"),
    # priors on coefficients
    "coef_prior a word": (
        lambda: build(coef_prior="g"),
        rj.ParameterError,
        "'coef_prior'.*GPrior.*Normal.*'g'",
    ),
    "coef_prior a class": (lambda: build(coef_prior=rj.GPrior), rj.ParameterError, "'coef_prior'.*GPrior"),
    "GPrior(-1)": (lambda: rj.GPrior(-1), rj.ParameterError, r"'g' parameter of GPrior.*\(0, inf\).*Got -1"),
    "GPrior('3n')": (lambda: rj.GPrior("3n"), rj.ParameterError, "'g'.*'n' or '4n'. Got '3n'"),
    "GPrior(nan)": (lambda: rj.GPrior(g=np.nan), rj.ParameterError, "'g'.*finite.*Got nan"),
    "GPrior(True)": (lambda: rj.GPrior(True), rj.ParameterError, "'g'.*Got True"),
    "GPrior, flat by another word": (
        lambda: rj.GPrior("n", intercept="none"),
        rj.ParameterError,
        "'intercept' parameter of GPrior.*'joint', 'flat' or a Normal",
    ),
    "Normal(0)": (lambda: rj.Normal(0), rj.ParameterError, r"'scale' parameter of Normal.*\(0, inf\)"),
    "Normal(inf)": (lambda: rj.Normal(np.inf), rj.ParameterError, "'scale'.*finite.*Got inf"),
    "Normal(1e200)": (lambda: rj.Normal(1e200), rj.ParameterError, "'scale'.*between 1e-100 and 1e100"),
    "Normal with a mean of 1e300": (lambda: rj.Normal(1, mean=1e300), rj.ParameterError, "'mean'.*1e100"),
    "Normal(standardize=1)": (
        lambda: rj.Normal(1, standardize=1),
        rj.ParameterError,
        "'standardize'.*True or False",
    ),
    "Normal scaled by a variance": (
        lambda: build(coef_prior=rj.Normal(1, scaled=True)),
        rj.ParameterError,
        "'scaled' parameter of Normal.*without error variance",
    ),
    "intercepts within intercepts": (
        lambda: rj.Normal(1, intercept=rj.Normal(1, intercept=rj.Normal(1))),
        rj.ParameterError,
        "'intercept' parameter of Normal.*a scale and a mean alone",
    ),
    "intercept of standardised columns": (
        lambda: rj.GPrior("n", intercept=rj.Normal(1, standardize=True)),
        rj.ParameterError,
        "'intercept' parameter of GPrior.*a scale and a mean alone",
    ),
    "intercept a class": (lambda: rj.Normal(1, intercept=rj.Normal), rj.ParameterError, "'intercept'"),
    # priors over models
    "model_prior a word": (lambda: build(model_prior="uniform"), rj.ParameterError, "'model_prior'.*Uniform"),
    "model_prior a class": (lambda: build(model_prior=rj.Uniform), rj.ParameterError, "'model_prior'"),
    "model_prior a coefficient prior": (
        lambda: build(model_prior=rj.GPrior("n")),
        rj.ParameterError,
        "'model_prior'.*Got GPrior",
    ),
    "Bernoulli(1)": (lambda: rj.Bernoulli(1), rj.ParameterError, r"'p' parameter of Bernoulli.*\(0, 1\)"),
    "Bernoulli of another length": (
        lambda: build(model_prior=rj.Bernoulli([0.1, 0.2])),
        rj.ParameterError,
        "'p'.*3 terms.*Got 2",
    ),
    "Bernoulli without a term": (
        lambda: build(model_prior=rj.Bernoulli({"x": 0.1})),
        rj.ParameterError,
        "lacks .*'g', 'z'",
    ),
    "Bernoulli of an unknown term": (
        lambda: build(model_prior=rj.Bernoulli({"x": 0.1, "z": 0.1, "g": 0.1, "q": 0.1})),
        rj.UnknownNameError,
        "'q'",
    ),
    "BetaBinomial(0, 1)": (lambda: rj.BetaBinomial(0, 1), rj.ParameterError, "'a' parameter of BetaBinomial"),
    "expected size too large": (
        lambda: build(model_prior=rj.Bernoulli(expected_size=5)),
        rj.ParameterError,
        r"'expected_size'.*\(0, 3\).*Got 5",
    ),
    # costs and constraints
    "cost NaN": (
        lambda: build(costs={**COSTS, "x": np.nan}),
        rj.ParameterError,
        r"costs\['x'\].*finite.*Got nan",
    ),
    "cost infinite": (
        lambda: build(costs={**COSTS, "x": np.inf}),
        rj.ParameterError,
        r"costs\['x'\].*Got inf",
    ),
    "cost negative": (lambda: build(costs={**COSTS, "x": -1}), rj.ParameterError, r"costs\['x'\].*Got -1"),
    "cost a word": (lambda: build(costs={**COSTS, "x": "1"}), rj.ParameterError, r"costs\['x'\].*Got '1'"),
    "cost missing": (lambda: build(costs={"x": 1, "z": 2}), rj.ParameterError, r"'costs'.*lacks \['g'\]"),
    "cost of an unknown name": (
        lambda: build(costs={**COSTS, "q": 1}),
        rj.UnknownNameError,
        "'costs' the name 'q'",
    ),
    "cost given twice": (
        lambda: build(costs=pd.Series([1, 2, 3, 4], index=["x", "z", "g", "g"])),
        rj.ParameterError,
        r"'costs'.*once. \['g'\]",
    ),
    "costs a list": (lambda: build(costs=[1, 2, 3]), rj.ParameterError, "'costs'.*mapping or a Series"),
    "budget without costs": (lambda: build(budget=3), rj.ParameterError, "'budget'.*needs 'costs'"),
    "budget negative": (lambda: build(costs=COSTS, budget=-1), rj.ParameterError, r"'budget'.*\[0, inf\)"),
    "budget NaN": (lambda: build(costs=COSTS, budget=np.nan), rj.ParameterError, "'budget'.*finite.*Got nan"),
    "budget below what is always in": (
        lambda: build(costs=COSTS, budget=2, always="g"),
        rj.ParameterError,
        "'always'.*costs 3, and the budget is 2",
    ),
    "unknown term in always": (
        lambda: build(always=["x", "zz"]),
        rj.UnknownNameError,
        "'always' the term 'zz'.*Did you mean 'z'",
    ),
    "number in always": (lambda: build(always=[1]), rj.ParameterError, "'always'.*names of terms"),
    "always the intercept": (lambda: build(always="Intercept"), rj.UnknownNameError, "'Intercept'"),
    "unknown heredity": (lambda: build(heredity="Strong"), rj.ParameterError, "'heredity'.*'weak', 'strong'"),
    "always against heredity": (
        lambda: build("y ~ x * z", heredity="strong", always="x:z"),
        rj.ParameterError,
        "'always'.*strong heredity.*x, z",
    ),
    "max_size negative": (lambda: build(max_size=-1), rj.ParameterError, r"'max_size'.*\[0, inf\).*Got -1"),
    "max_size a float": (lambda: build(max_size=2.0), rj.ParameterError, "'max_size'.*int.*Got 2.0"),
    "max_size below always": (
        lambda: build(max_size=1, always=["g", "x"]),
        rj.ParameterError,
        "'always'.*2 terms, and max_size is 1",
    ),
}

FIT_CASES = {
    "unknown sampler": ({"sampler": "enumarate"}, rj.UnknownNameError, "sampler 'enumarate'.*'enumerate'"),
    "sampler in capitals": ({"sampler": "RJMCMC"}, rj.UnknownNameError, "Known: auto, enumerate, rjmcmc"),
    "sampler is None": ({"sampler": None}, rj.UnknownNameError, "sampler None"),
    "unknown option": ({"propsal": "full"}, rj.UnknownNameError, "'propsal'.*Did you mean 'proposal'"),
    "option of another sampler": ({"pairs": 4}, rj.UnknownNameError, "sampler='rjmcmc' the option 'pairs'"),
    "draws 0": ({"draws": 0}, rj.ParameterError, r"'draws' parameter of LogitSelection.fit.*\[1, .*Got 0"),
    "draws negative": ({"draws": -5}, rj.ParameterError, "'draws'.*Got -5"),
    "draws a float": ({"draws": 100.0}, rj.ParameterError, "'draws'.*int.*Got 100.0"),
    "draws a bool": ({"draws": True}, rj.ParameterError, "'draws'.*Got True"),
    "draws a word": ({"draws": "100"}, rj.ParameterError, "'draws'.*Got '100'"),
    "draws NaN": ({"draws": float("nan")}, rj.ParameterError, "'draws'.*Got nan"),
    "draws without end": ({"draws": 10**30}, rj.ParameterError, "'draws'.*1000000000"),
    "chains 0": ({"chains": 0}, rj.ParameterError, r"'chains'.*\[1, .*Got 0"),
    "chains without end": ({"chains": 10**9}, rj.ParameterError, "'chains'.*10000"),
    "thin 0": ({"thin": 0}, rj.ParameterError, r"'thin'.*\[1, .*Got 0"),
    "burn_in negative": ({"burn_in": -1}, rj.ParameterError, r"'burn_in'.*\[0, .*Got -1"),
    "rng a word": ({"rng": "1"}, rj.ParameterError, "'rng'.*Generator.*Got '1'"),
    "rng negative": ({"rng": -1}, rj.ParameterError, "'rng'.*non-negative int"),
    "n_jobs 0": ({"n_jobs": 0}, rj.ParameterError, "'n_jobs' parameter of LogitSelection.fit.*other than 0"),
    "n_jobs a float": ({"n_jobs": 2.0}, rj.ParameterError, "'n_jobs'.*Got 2.0"),
    "n_jobs a bool": ({"n_jobs": True}, rj.ParameterError, "'n_jobs'.*Got True"),
    "progress a word": ({"progress": "yes"}, rj.ParameterError, "'progress'.*True or False"),
    "unknown proposal": ({"proposal": "best"}, rj.ParameterError, "'proposal'.*'conditional', 'full'"),
    "swaps negative": ({"swaps": -1}, rj.ParameterError, "'swaps'.*Got -1"),
    "start a term": ({"start": "x"}, rj.ParameterError, "'start'.*'empty' or a sequence of terms. Got 'x'"),
    "start a number": ({"start": 3}, rj.ParameterError, "'start'.*sequence of terms. Got 3"),
    "start at an unknown term": ({"start": ["q"]}, rj.UnknownNameError, "'start' the term 'q'"),
    "start at a missing value": ({"start": [pd.NA]}, rj.UnknownNameError, "'start' the term <NA>"),
    "unknown integration": (
        {"sampler": "enumerate", "integration": "exact"},
        rj.ParameterError,
        "'integration'.*'importance', 'laplace'",
    ),
    "odd pairs": ({"sampler": "enumerate", "pairs": 3}, rj.ParameterError, "'pairs'.*even int. Got 3"),
}

RESULT_CASES = {
    "top=0": (
        lambda r: r.summary(top=0),
        rj.ParameterError,
        r"'top' parameter of summary.*\[1, inf\). Got 0",
    ),
    "top a float": (lambda r: r.summary(2.0), rj.ParameterError, "'top'.*Got 2.0"),
    "unknown model": (lambda r: r.best("xyz"), rj.ParameterError, "'which'.*'hpm', 'mpm'. Got 'xyz'"),
    "average has no terms": (lambda r: r.best("bma"), rj.ParameterError, "'which'.*'hpm', 'mpm'"),
    "unknown average": (
        lambda r: r.predict(FRAME, which="BMA"),
        rj.ParameterError,
        "'which' parameter of predict",
    ),
    "alpha 0": (
        lambda r: r.conf_int(0),
        rj.ParameterError,
        r"'alpha' parameter of conf_int.*\(0, 1\). Got 0",
    ),
    "alpha 1": (lambda r: r.conf_int(1.0), rj.ParameterError, "'alpha'.*Got 1.0"),
    "alpha NaN": (
        lambda r: r.get_prediction().summary_frame(np.nan),
        rj.ParameterError,
        "'alpha'.*summary_frame",
    ),
    "missing column": (
        lambda r: r.predict(FRAME[["x", "z"]]),
        rj.UnknownNameError,
        "predict got the column 'g'.*Known: x, z",
    ),
    "unseen level": (
        lambda r: r.predict(changed(g=["a", "b", "q"] * (N // 3))),
        rj.DataError,
        "unseen levels of the column 'g'.*'q'.*'a', 'b', 'c'",
    ),
    "another kind": (lambda r: r.predict(changed(x="1")), rj.DataError, "'x'.*must hold real values.*text"),
    "infinite input": (lambda r: r.predict(at_row_3("x", np.inf)), rj.DataError, "infinite.*'x'"),
    "new an array": (lambda r: r.predict(FRAME.to_numpy()), rj.DataError, "'new' of predict.*DataFrame"),
    "new a word": (lambda r: r.get_prediction("x"), rj.DataError, "'new' of get_prediction.*Got str"),
    "offset without rows": (
        lambda r: r.predict(offset=np.zeros(N)),
        rj.DataError,
        "'offset' parameter of predict",
    ),
    "offset too short": (lambda r: r.predict(FRAME, offset=[1.0]), rj.DataError, "'offset'.*60 rows. Got 1"),
    "ax no axes": (
        lambda r: r.plot_inclusion(ax=3),
        rj.ParameterError,
        "'ax' parameter of plot_inclusion.*Got 3",
    ),
    "figure for axes": (
        lambda r: r.plot_models(ax="new"),
        rj.ParameterError,
        "'ax' parameter of plot_models",
    ),
    "no models to plot": (
        lambda r: r.plot_models(top=0),
        rj.ParameterError,
        "'top' parameter of plot_models",
    ),
    "no terms to plot": (
        lambda r: r.plot_inclusion(top=0),
        rj.ParameterError,
        "'top' parameter of plot_inclusion",
    ),
    "draws of an enumeration": (lambda r: r.draws, rj.NotAvailableError, "Enumeration has no draws.*rjmcmc"),
}


def check(call, kind, pattern):
    """The error is of this class, its message matches and reads as sentences on one line."""
    with pytest.raises(kind, match=f"(?s){pattern}") as caught:
        call()
    message = str(caught.value)
    assert message[0] not in "'\"(" or message.startswith('"costs')  # no repr of a message, no tuple
    assert message.rstrip().endswith((".", "?"))
    assert "\n" not in message
    assert isinstance(caught.value, rj.PyrjselError)


@pytest.mark.parametrize("case", MODEL_CASES)
def test_model(case):
    check(*MODEL_CASES[case])


@pytest.mark.parametrize("case", FIT_CASES)
def test_fit(case):
    options, kind, pattern = FIT_CASES[case]
    check(lambda: walk(**options), kind, pattern)


@pytest.mark.parametrize("case", RESULT_CASES)
def test_results(case, results):
    call, kind, pattern = RESULT_CASES[case]
    check(lambda: call(results), kind, pattern)


def test_start_that_breaks_a_constraint():
    model = build(costs=COSTS, budget=2)
    check(lambda: walk(model, start=["g"]), rj.ParameterError, "'start'.*feasible.*costs 3.*budget is 2")


def test_full_model_proposal_needs_a_full_model():
    with pytest.warns(rj.RankWarning):
        model = build("y ~ x + twice", changed(twice=2 * FRAME["x"]))
    check(lambda: walk(model, proposal="full"), rj.ParameterError, "'proposal'.*'conditional'.*dependent")
    check(lambda: walk(model, start=["x", "twice"]), rj.ParameterError, "'start'.*independent")


def test_too_many_models_to_enumerate():
    model = arrays(exog=np.random.default_rng(1).normal(size=(N, 21)))
    check(lambda: model.fit(sampler="enumerate"), rj.NotAvailableError, "1,048,576.*budget=")


def test_offset_that_was_an_array_is_asked_for(results_with_offset):
    check(lambda: results_with_offset.predict(FRAME), rj.DataError, "array as offset: predict needs 'offset'")


def test_errors_are_those_of_python_too():
    """`except ValueError` and `except KeyError` work, as users of other packages expect."""
    with pytest.raises(ValueError, match="draws"):
        walk(draws=0)
    with pytest.raises(KeyError):
        build("y ~ age")
    assert issubclass(rj.NotAvailableError, AttributeError)


def test_nothing_that_can_be_used_is_refused():
    """The neighbours of what is refused work: unusual, but right."""
    assert build("I(w > 2) ~ w").term_names == ("w",)  # a variable that a computed response uses
    assert build("y ~ .", FRAME, weights="w", offset="o").term_names == ("g", "x", "z")
    assert build("y ~ x", pd.concat([FRAME, FRAME[["z"]]], axis=1)).term_names == ("x",)
    assert build(weights=FRAME["w"].sample(frac=1, random_state=1)).nobs == N  # aligned by its index
    assert build(costs={**COSTS, "o": 5}, budget=0).count_models() == 1  # prices of columns not used
    assert build(always=["x", "x"]).space.n_free == 2
    assert build("y ~ 1").fit(rng=1, progress=False).best() == ()
    assert walk(draws=1, chains=1, burn_in=0).draws.model.shape == (1, 1)
    assert walk(draws=np.int64(3), rng=np.random.SeedSequence(1)).draws.model.shape == (2, 3)


# --- nothing but the package's errors ---------------------------------------------------------------

NASTY = {
    "None": None,
    "0": 0,
    "-1": -1,
    "2.5": 2.5,
    "True": True,
    "'10'": "10",
    "'abc'": "abc",
    "''": "",
    "nan": float("nan"),
    "inf": float("inf"),
    "-0.0": -0.0,
    "1e300": 1e300,
    "[1]": [1],
    "[None]": [None],
    "[[1], [1, 2]]": [[1], [1, 2]],
    "{}": {},
    "()": (),
    "object()": object(),
    "array": np.array([1, 2]),
    "0d array": np.array(3),
    "Series": pd.Series([1]),
    "empty Series": pd.Series(dtype=float),
    "frame": FRAME,
    "bytes": b"x",
    "lambda": lambda: 1,
    "class": int,
    "float64": np.float64(3),
    "int64": np.int64(-5),
    "bool_": np.bool_(True),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "complex": complex(1, 1),
}
# One call a parameter; the package may take the value or refuse it.
PLACES = {
    **{
        f"logit {name}": lambda value, name=name: build(**{name: value})
        for name in ("coef_prior", "model_prior", "costs", "always", "heredity", "max_size", "weights")
    },
    **{
        f"logit {name}": lambda value, name=name: build(**{name: value})
        for name in ("offset", "missing", "functions", "formula")
    },
    "budget": lambda value: build(costs=COSTS, budget=value),
    "data": lambda value: rj.logit("y ~ x", value),
    "endog": lambda value: arrays(endog=[] if value is None else value),
    "exog": lambda value: rj.LogitSelection(FRAME["y"], value),
    **{
        f"fit {name}": lambda value, name=name: walk(**{name: value})
        for name in ("sampler", "draws", "burn_in", "thin", "chains", "rng", "n_jobs", "proposal")
    },
    "fit swaps": lambda value: walk(swaps=value),
    "fit start": lambda value: walk(start=value),
    "fit start at": lambda value: walk(start=[value]),
    "fit integration": lambda value: build().fit(integration=value, rng=1, progress=False),
    "fit pairs": lambda value: build().fit(pairs=value, rng=1, progress=False),
    "GPrior": lambda value: build(coef_prior=rj.GPrior(value)),
    "GPrior intercept": lambda value: build(coef_prior=rj.GPrior("n", intercept=value)),
    "Normal": lambda value: build(coef_prior=rj.Normal(value)),
    "Normal mean": lambda value: build(coef_prior=rj.Normal(1, mean=value)),
    "Normal standardize": lambda value: build(coef_prior=rj.Normal(1, standardize=value)),
    "Normal scaled": lambda value: build(coef_prior=rj.Normal(1, scaled=value)),
    "Normal intercept": lambda value: build(coef_prior=rj.Normal(1, intercept=value)),
    "Bernoulli": lambda value: build(model_prior=rj.Bernoulli(value)),
    "BetaBinomial": lambda value: build(model_prior=rj.BetaBinomial(1, value)),
    "TruncatedPoisson": lambda value: build(model_prior=rj.TruncatedPoisson(value)),
    "CostAdjusted": lambda value: build(model_prior=rj.CostAdjusted(value)),
    "price": lambda value: build(costs={**COSTS, "x": value}),
    "always one": lambda value: build(always=[value]),
    "function": lambda value: build("y ~ x", functions={"f": value}),
    "function result": lambda value: build("y ~ f(x)", functions={"f": lambda x: value}),
}
RESULT_PLACES = {
    "summary": lambda r, value: r.summary(value),
    "best": lambda r, value: r.best(value),
    "conf_int": lambda r, value: r.conf_int(value),
    "predict": lambda r, value: r.predict(value),
    "predict which": lambda r, value: r.predict(FRAME, value),
    "predict offset": lambda r, value: r.predict(FRAME, offset=value),
    "summary_frame": lambda r, value: r.get_prediction(FRAME).summary_frame(value),
    "plot_models top": lambda r, value: r.plot_models(top=value, ax="no axes"),
    "plot_inclusion top": lambda r, value: r.plot_inclusion(top=value, ax="no axes"),
    "plot_inclusion sort": lambda r, value: r.plot_inclusion(sort=value, ax="no axes"),
}


def refused(call):
    """Whether a call is refused, by an error or a warning of the package; any other exception leaves."""
    try:
        call()
    except (rj.PyrjselError, rj.PyrjselWarning):
        return True
    return False


@pytest.mark.parametrize("place", PLACES)
def test_only_errors_of_the_package(place):
    outcomes = [refused(lambda value=value: PLACES[place](value)) for value in NASTY.values()]
    assert sum(outcomes) > len(outcomes) / 2  # most of this is of no use anywhere


@pytest.mark.parametrize("place", RESULT_PLACES)
def test_only_errors_of_the_package_from_results(place, results, results_with_offset):
    for found in (results, results_with_offset):
        assert (
            sum(refused(lambda v=value, f=found: RESULT_PLACES[place](f, v)) for value in NASTY.values()) > 16
        )


@pytest.mark.parametrize("column", ["x", "g", "y", "w", "o"])
def test_only_errors_of_the_package_for_a_bad_cell(column, results):
    """A bad value in one cell, as data read from files have."""
    for value in NASTY.values():
        frame = FRAME.astype({column: object})
        frame.at[3, column] = value  # noqa: PD008 - loc would spread a list over rows
        refused(lambda frame=frame: build(data=frame, weights="w", offset="o"))
        refused(lambda frame=frame: results.predict(frame))


@pytest.mark.parametrize("factor", [1e-100, 1e-10, 1e10, 1e100])
def test_units_change_nothing_under_a_g_prior(factor):
    """Columns in absurd units give the posterior that they give in sane ones."""
    plain = build("y ~ x + z").fit(rng=1, progress=False)
    scaled = build("y ~ x + z", changed(x=factor * FRAME["x"])).fit(rng=1, progress=False)
    # The same random numbers, and rounding alone.
    np.testing.assert_allclose(scaled.inclusion["posterior"], plain.inclusion["posterior"], rtol=1e-9)
    np.testing.assert_allclose(scaled.params["x"] * factor, plain.params["x"], rtol=1e-9)
