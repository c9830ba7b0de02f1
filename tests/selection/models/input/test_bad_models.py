"""Models that cannot be made: each gives an error of the package that names what is wrong."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from input_data import COSTS, FRAME, N, arrays, at_row_3, build, changed, check, walk

import pyrjsel as rj

# What is called, the class of the error, and what its message must say: the parameter, column or term at
# fault, what it must be, and what it was.
MODEL_CASES = {
    # the formula
    "formula is no string": (lambda: build(3), rj.ParameterError, "'formula'.*string.*Got 3"),
    "no response": (lambda: build("x + z"), rj.FormulaError, "'x [+] z'.*no response"),
    "nothing left of ~": (lambda: build("~ x"), rj.FormulaError, "'~ x'.*no response"),
    "nothing right of ~": (lambda: build("y ~"), rj.FormulaError, "'y ~'.*cannot be read"),
    "two responses": (lambda: build("y + w ~ x"), rj.FormulaError, "one response"),
    "two tildes": (lambda: build("y ~ x ~ z"), rj.FormulaError, "more than one '~'"),
    "empty formula": (lambda: build(""), rj.FormulaError, "no response"),
    "unbalanced": (lambda: build("y ~ (x + z"), rj.FormulaError, "cannot be read"),
    "no intercept, -1": (lambda: build("y ~ x - 1"), rj.FormulaError, "'y ~ x - 1'.*intercept.*all models"),
    "no intercept, 0": (lambda: build("y ~ 0 + x"), rj.FormulaError, "intercept"),
    "backticks": (lambda: build("y ~ `a b`"), rj.FormulaError, r"backticks.*as Q\('a b'\)"),
    "rows as mappings": (
        lambda: rj.linear("y ~ x", [{"y": 1.0, "x": 2.0}, {"y": 2.0, "x": 1.0}]),
        rj.DataError,
        r"'data'.*Item 1 is a row.*pandas\.DataFrame\(data\)",
    ),
    "powers of R": (lambda: build("y ~ (x + z)^2"), rj.FormulaError, r"as in \(a \+ b\)\*\*2"),
    "unknown column": (lambda: build("y ~ age"), rj.UnknownNameError, "'age'.*Known: x, z, g, w, o, y"),
    "misspelt column": (
        lambda: build("y ~ wight", changed(weight=1.0)),
        rj.UnknownNameError,
        "'wight'.*Did you mean 'weight'",
    ),
    "unknown response": (lambda: build("died ~ x"), rj.UnknownNameError, "'died'"),
    "unknown function": (lambda: build("y ~ foo(x)"), rj.FormulaError, r"foo\(x\).*functions="),
    "bare log of negative numbers": (lambda: build("y ~ log(x)"), rj.DataError, r"'log\(x\)'.* rows"),
    "formula and data swapped": (
        lambda: rj.logit(FRAME, "y ~ x"),
        rj.ParameterError,
        "'formula' and 'data' of LogitSelection seem to be swapped.*'y ~ x'",
    ),
    "rows in chunks and formula swapped": (
        lambda: rj.linear(FRAME, "y ~ x"),
        rj.ParameterError,
        "'formula' and 'data' of LinearSelection seem to be swapped",
    ),
    "pattern formula swapped": (
        lambda: rj.pattern_logit(FRAME, "y ~ interactions(x)"),
        rj.ParameterError,
        "'formula' and 'data' of PatternLogit seem to be swapped",
    ),
    "kernel formula swapped": (
        lambda: rj.kernel_regression(FRAME, "y ~ x"),
        rj.ParameterError,
        "'formula' and 'data' of KernelRegression seem to be swapped",
    ),
    "mixture formula swapped": (
        lambda: rj.mixture_classifier(FRAME, "y ~ x"),
        rj.ParameterError,
        "'formula' and 'data' of MixtureClassifier seem to be swapped",
    ),
    "path of a CSV file": (
        lambda: rj.logit("y ~ x", "rows.csv"),
        rj.DataError,
        r"'data'.* the path of a file. Got 'rows.csv'.*pandas.read_csv\(\)",
    ),
    "path of a packed CSV file for a linear model": (
        lambda: rj.linear("y ~ x", Path("folder/rows.csv.gz")),
        rj.DataError,
        r"'data'.*'folder/rows.csv.gz'.*pandas.read_csv\(\)",
    ),
    "import": (lambda: build("y ~ __import__('os').system('true')"), rj.FormulaError, "not allowed"),
    "open": (lambda: build("y ~ open('/etc/passwd')"), rj.FormulaError, "calls of 'open' are not allowed"),
    "attribute": (lambda: build("y ~ x.__class__"), rj.FormulaError, "write the name of a column alone"),
    "comprehension": (lambda: build("y ~ I([v for v in x])"), rj.FormulaError, "not allowed"),
    "log of negative numbers": (lambda: build("y ~ np.log(x)"), rj.DataError, r"np\.log\(x\).* rows"),
    "division by zero": (lambda: build("y ~ I(1 / (x - x))"), rj.DataError, "infinite.*60 of 60 rows"),
    "overflow": (lambda: build("y ~ np.exp(1000 * x ** 2)"), rj.DataError, "infinite"),
    "response on the right": (
        lambda: build("y ~ x + y"),
        rj.FormulaError,
        "'y ~ x [+] y'.*response 'y' on the right-hand side, in the term 'y'",
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
    "response of three labels": (
        lambda: build(data=changed(y=np.where(FRAME["y"] == 1, "yes", np.where(FRAME["x"] > 0, "no", "?")))),
        rj.DataError,
        r"'y'.*numeric or boolean.*I\(y == ",
    ),
    "response of one label": (lambda: build(data=changed(y="yes")), rj.DataError, "response 'y'.*two levels"),
    "counts as labels": (
        lambda: rj.poisson("y ~ x", changed(y=np.where(FRAME["y"] == 1, "yes", "no"))),
        rj.DataError,
        r"'y'.*numeric or boolean. Got 2 labels",
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
    "one class": (lambda: build(data=changed(y=1)), rj.DataError, "'y' must have both classes. Got only 1"),
    "one class by weight": (
        lambda: build(data=changed(w=FRAME["y"]), weights="w"),
        rj.DataError,
        "both classes. Got only 1",
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
    "response that cannot be squared": (
        lambda: rj.linear("w ~ x", changed(w=1e160 * FRAME["w"])),
        rj.DataError,
        "rescale w",
    ),
    "response whose squares vanish": (
        lambda: rj.linear("w ~ x", changed(w=1e-160 * FRAME["w"])),
        rj.DataError,
        "rescale w",
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
        "unknown column 'ww' as 'weights'",
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
    "offset not a column": (lambda: build(offset="oo"), rj.UnknownNameError, "unknown column 'oo'"),
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
        "lacks .*'z', 'g'",
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
        "unknown name 'q' in 'costs'",
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
        "'always'.*costs 3, but the budget is 2",
    ),
    "budget of nothing": (
        lambda: build(costs=COSTS, budget=0),
        rj.ParameterError,
        r"'budget'.*must be at least 1, the price of the cheapest term \(x\).*Got 0",
    ),
    "budget below every term": (
        lambda: rj.linear("y ~ x + z + g", [FRAME[:50], FRAME[50:]], costs=COSTS, budget=0.9),
        rj.ParameterError,
        "'budget'.*LinearSelection.*at least 1, .*Got 0.9",
    ),
    "budget below every main effect": (
        # Under heredity x:z needs x and z, of which it has no price of its own to gain.
        lambda: build("y ~ x*z", costs={"x": 2, "z": 3, "x:z": 0.5}, budget=1, heredity="weak"),
        rj.ParameterError,
        r"'budget'.*at least 2, .*\(x\).*Got 1",
    ),
    "budget of arrays": (
        lambda: arrays(costs=COSTS, budget=0.5),
        rj.ParameterError,
        "'budget'.*at least 1",
    ),
    "unknown term in always": (
        lambda: build(always=["x", "zz"]),
        rj.UnknownNameError,
        "unknown term 'zz' in 'always'.*Did you mean 'z'",
    ),
    "interaction the other way round in always": (
        lambda: build("y ~ x * z", always="z:x"),
        rj.UnknownNameError,
        "unknown term 'z:x' in 'always'.*Did you mean 'x:z'",
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
    "max_size of nothing": (lambda: build(max_size=0), rj.ParameterError, "'max_size'.*at least 1.*Got 0"),
    "max_size a float": (lambda: build(max_size=2.0), rj.ParameterError, "'max_size'.*int.*Got 2.0"),
    "max_size below always": (
        lambda: build(max_size=1, always=["g", "x"]),
        rj.ParameterError,
        "'always'.*2 terms, but max_size is 1",
    ),
}


@pytest.mark.parametrize("case", MODEL_CASES)
def test_model(case):
    check(*MODEL_CASES[case])


def test_errors_are_those_of_python_too():
    """`except ValueError` and `except KeyError` work, as users of other packages expect."""
    with pytest.raises(ValueError, match="draws"):
        walk(draws=0)
    with pytest.raises(KeyError):
        build("y ~ age")
    assert issubclass(rj.NotAvailableError, AttributeError)


# Of 1 and 6 draws.
@pytest.mark.filterwarnings("ignore:(The run has|No chain visited):pyrjsel.ConvergenceWarning")
def test_nothing_that_can_be_used_is_refused():
    """The neighbours of what is refused work: unusual, but right."""
    assert build("I(w > 2) ~ w").term_names == ("w",)  # a variable that a computed response uses
    assert build("y ~ .", FRAME, weights="w", offset="o").term_names == ("x", "z", "g")
    assert build("y ~ x", pd.concat([FRAME, FRAME[["z"]]], axis=1)).term_names == ("x",)
    assert build(weights=FRAME["w"].sample(frac=1, random_state=1)).nobs == N  # aligned by its index
    assert build(costs={**COSTS, "o": 5}, budget=1).count_models() > 1  # prices of columns not used
    assert build(costs=dict.fromkeys(COSTS, 0), budget=0).count_models() == 8  # free of charge
    assert build(always="x", max_size=1).count_models() == 1  # what is always in meets the bound
    assert build("y ~ 1", max_size=0).count_models() == 1
    assert build(always=["x", "x"]).space.n_free == 2
    assert build("y ~ 1").fit(rng=1, progress=False).best() == ()
    assert walk(draws=1, chains=1, burn_in=0).draws.model.shape == (1, 1)
    assert walk(draws=np.int64(3), rng=np.random.SeedSequence(1)).draws.model.shape == (2, 3)
