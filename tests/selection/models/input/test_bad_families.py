"""Input that single families refuse: parameters of the likelihood, responses, and improper priors."""

import numpy as np
import pandas as pd
import pytest
from input_data import check

import pyrjsel as rj

pytestmark = pytest.mark.filterwarnings("ignore::pyrjsel.SeparationWarning")

N = 20
RNG = np.random.default_rng(1)
ROWS = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "z": RNG.normal(size=N),
        "y": np.arange(N) % 2,
        "count": RNG.poisson(2, N),
        "cost": RNG.gamma(2, size=N),
        "time": RNG.exponential(size=N),
        "died": (RNG.random(N) < 0.6).astype(int),
        "kind": RNG.choice([*"abc"], N),
        "number": RNG.normal(size=N),
    }
)
NAMES = [f"v{i}" for i in range(6)]
WIDE = ROWS.head(6).assign(kind=[*"abcabc"]).join(pd.DataFrame(RNG.normal(size=(6, 6)), columns=NAMES))


def negbin(count=None, **options):
    return rj.negbin("count ~ x", ROWS if count is None else ROWS.assign(count=count), **options)


def gamma(cost=None, **options):
    return rj.gamma("cost ~ x", ROWS if cost is None else ROWS.assign(cost=cost), **options)


def student(df=None, **options):
    return rj.linear("number ~ x", ROWS, **{"errors": "student", "df": df, **options})


def cox(formula="time ~ x", options=None, **columns):
    return rj.cox(formula, ROWS.assign(**columns), **{"event": "died", **(options or {})})


def multinomial(kind):
    return rj.multinomial("kind ~ x", ROWS.assign(kind=kind))


def wide(make, response, prior, **options):
    """A fit of models with as many columns as rows, or more."""
    with pytest.warns(rj.RankWarning):
        model = make(f"{response} ~ {' + '.join(NAMES)}", WIDE, coef_prior=prior, **options)
    return model.fit(sampler="enumerate", integration="laplace", rng=1, progress=False)


def size(name, owner):
    return rf"'{name}' parameter of {owner} must be a finite number in \(0, inf\)"


POSITIVE = "'cost' must be above 0. Got {}"
SEPARATED = r"separates the classes completely: under .* marginal likelihood is infinite.*GPrior\(g\)"
CASES = {
    # parameters of the likelihood
    "theta of 0": (lambda: negbin(theta=0), rj.ParameterError, size("theta", "NegbinSelection") + ".*Got 0"),
    "negative theta": (lambda: negbin(theta=-1.5), rj.ParameterError, "'theta'.*Got -1.5"),
    "infinite theta": (lambda: negbin(theta=np.inf), rj.ParameterError, "'theta'.*Got inf"),
    "theta a word": (lambda: negbin(theta="all"), rj.ParameterError, "'theta'.*Got 'all'"),
    "prior of theta": (lambda: negbin(theta_prior=2.0), rj.ParameterError, "'theta_prior'.*LogNormal.*Got 2"),
    "prior of a known theta": (
        lambda: negbin(theta=2.0, theta_prior=rj.LogNormal(0, 1)),
        rj.ParameterError,
        "'theta_prior'.*None if theta is known",
    ),
    "shape of 0": (lambda: gamma(shape=0), rj.ParameterError, size("shape", "GammaSelection") + ".*Got 0"),
    "missing shape": (lambda: gamma(shape=np.nan), rj.ParameterError, "'shape'.*Got nan"),
    "df of 0": (lambda: student(0), rj.ParameterError, r"'df' .* in \(0, 1e\+06\]. Got 0"),
    "negative df": (lambda: student(-3), rj.ParameterError, "'df'.*Got -3"),
    "df of normal errors": (
        lambda: rj.linear("number ~ x", ROWS, df=3),
        rj.ParameterError,
        "'df'.*None if errors='normal'. Got 3",
    ),
    "unknown errors": (
        lambda: rj.linear("number ~ x", ROWS, errors="t"),
        rj.ParameterError,
        "'errors'.*'normal', 'student'. Got 't'",
    ),
    "infinite shape": (lambda: gamma(shape=np.inf), rj.ParameterError, "'shape'.*Got inf"),
    "shape a word": (lambda: gamma(shape="two"), rj.ParameterError, "'shape'.*Got 'two'"),
    "prior of shape": (
        lambda: gamma(shape_prior=rj.InverseGamma(1, 1)),
        rj.ParameterError,
        "'shape_prior' .* LogNormal",
    ),
    "prior of a known shape": (
        lambda: gamma(shape=2, shape_prior=rj.LogNormal(0, 1)),
        rj.ParameterError,
        r"'shape_prior'.* known",
    ),
    "df not a number": (lambda: student(np.nan), rj.ParameterError, "'df'.*Got nan"),
    "df another word": (lambda: student("guess"), rj.ParameterError, r"'df' .*'estimate'.*'guess'"),
    "many df": (lambda: student(1e7), rj.ParameterError, "'df'"),
    "df to estimate of normal errors": (
        lambda: student("estimate", errors="normal"),
        rj.ParameterError,
        "'df' .*None if errors='nor",
    ),
    "sigma_prior of student errors": (
        lambda: student(sigma_prior=rj.InverseGamma(1, 1)),
        rj.ParameterError,
        "'sigma_prior' .*None if",
    ),
    "weights of student errors": (
        lambda: student(weights="died"),
        rj.NotAvailableError,
        "do not support 'weights'",
    ),
    "ties": (
        lambda: cox(options={"ties": "exact"}),
        rj.ParameterError,
        "'ties' .* 'efron', 'breslow'. Got 'exact'",
    ),
    "no such event": (
        lambda: cox(options={"event": "dead"}),
        rj.UnknownNameError,
        "unknown column 'dead' as 'event'",
    ),
    "events that are classes": (lambda: cox(options={"event": "kind"}), rj.DataError, "'event' .* numeric"),
    "events of other rows": (
        lambda: cox(options={"event": np.ones(3)}),
        rj.DataError,
        r"'event' .* 20 rows. Got 3",
    ),
    "gibbs for times": (
        lambda: cox().fit(sampler="gibbs"),
        rj.UnknownNameError,
        "unknown sampler 'gibbs'",
    ),
    # priors of coefficients
    "a g for each model": (
        lambda: student(coef_prior=rj.EmpiricalBayes()),
        rj.NotAvailableError,
        "support GPrior, mixtures",
    ),
    "a g for each model, unknown df": (
        lambda: student("estimate", coef_prior=rj.EmpiricalBayes()),
        rj.NotAvailableError,
        "support GPrior, mixtures",
    ),
    "BIC of student errors": (
        lambda: student(coef_prior=rj.BIC()),
        rj.NotAvailableError,
        "support GPrior, mixtures",
    ),
    "unscaled": (
        lambda: student(coef_prior=rj.Normal(1.0, scaled=False)),
        rj.NotAvailableError,
        "multiple of sigma",
    ),
    "a joint prior of student errors": (
        lambda: student(coef_prior=rj.GPrior("n", intercept="joint")),
        rj.ParameterError,
        "'intercept'",
    ),
    "spikes for times": (
        lambda: cox(options={"coef_prior": rj.SpikeSlab(0.1, 100)}),
        rj.ParameterError,
        "'coef_prior' .* CoxSelection",
    ),
    "an intercept of times": (
        lambda: cox(options={"coef_prior": rj.Normal(1.0, intercept=rj.Normal(2.0))}),
        rj.ParameterError,
        "'intercept' parameter of Normal must be None or 'flat' for Cox models",
    ),
    "a joint prior of times": (
        lambda: cox(options={"coef_prior": rj.GPrior("n", intercept="joint")}),
        rj.ParameterError,
        "'intercept' parameter of GPrior",
    ),
    # responses
    "negative weights": (
        lambda: gamma(weights=-np.ones(N)),
        rj.DataError,
        "'weights' must be non-negative",
    ),
    "no weights": (lambda: gamma(weights=np.zeros(N)), rj.DataError, "'weights' must have a positive value"),
    "costs as text": (lambda: gamma(ROWS["cost"].map("{:.3f} EUR".format)), rj.DataError, "'cost'"),
    "times as text": (lambda: cox(time=ROWS["time"].map("{:.3f} days".format)), rj.DataError, "'time'"),
    "infinite times": (lambda: cox(time=np.inf), rj.DataError, "'time'"),
    "costs of 0": (
        lambda: gamma(ROWS["cost"].where(ROWS["x"] > 0, 0)),
        rj.DataError,
        POSITIVE.format(rf"0 \({(ROWS['x'] <= 0).sum()} value"),
    ),
    "negative costs": (lambda: gamma(-ROWS["cost"]), rj.DataError, POSITIVE.format("-")),
    "infinite costs": (lambda: gamma(np.inf), rj.DataError, "infinite.*'cost'"),
    "equal costs": (lambda: gamma(2.0), rj.DataError, "two different values.*'shape'. Got only 2"),
    "fractional counts": (
        lambda: negbin(ROWS["count"] + 0.5),
        rj.DataError,
        r"'count' must be whole numbers.*weights=.*Got \d.5 \(20 value",
    ),
    "negative counts": (lambda: negbin(-1), rj.DataError, "'count' must be counts of at least 0. Got -1"),
    "no counts": (lambda: negbin(0), rj.DataError, "'count' must have a positive count. Got only zeros"),
    "times of 0": (
        lambda: cox(time=ROWS["time"].where(ROWS["x"] > 0, 0)),
        rj.DataError,
        r"times 'time' must be above 0. Got 0 \(",
    ),
    "negative times": (lambda: cox(time=-ROWS["time"]), rj.DataError, r"above 0. Got -.*\(20 value"),
    "no events": (lambda: cox(died=0), rj.DataError, "'event' of CoxSelection.*one row. Got only censored"),
    "events that are counts": (
        lambda: cox(died=2),
        rj.DataError,
        r"'event' of CoxSelection must be 1 .* 0 .*Got 2 \(20 value",
    ),
    "events on the right": (
        lambda: cox("time ~ x + C(died)"),
        rj.FormulaError,
        r"'time ~ x \+ C\(died\)' of CoxSelection has the 'event' 'died' on the right-hand side",
    ),
    "a class for each row": (
        lambda: multinomial([f"k{i}" for i in range(N)]),
        rj.DataError,
        "'kind' of MultinomialSelection must have at least two rows. 20 of 20 classes have.*'k0'",
    ),
    "a class with one row": (
        lambda: multinomial([*"a" * 10, *"b" * 9, "c"]),
        rj.DataError,
        "at least two rows. 1 of 3 classes have fewer: 'c'",
    ),
    "one class": (lambda: multinomial("a"), rj.DataError, "'kind'.*at least two levels.*Got only 'a'"),
    "real numbers as classes": (lambda: multinomial(ROWS["number"]), rj.DataError, "'kind'.*must be labels"),
    # priors without a posterior
    "hyper-g, more columns than rows": (
        lambda: wide(rj.logit, "y", rj.HyperG()),
        rj.DataError,
        SEPARATED + ".*a > 3",
    ),
    "robust, probit": (lambda: wide(rj.probit, "y", rj.Robust()), rj.DataError, SEPARATED),
    "Zellner-Siow, three classes": (
        lambda: wide(rj.multinomial, "kind", rj.ZellnerSiow()),
        rj.DataError,
        SEPARATED + ".*a > 4",
    ),
    "beta-prime": (
        lambda: rj.poisson("count ~ v0 + v1 + v2 + v3 + v4", WIDE, coef_prior=rj.BetaPrime()),
        rj.ParameterError,
        r"'coef_prior'.*BetaPrime\(\).*four rows more than columns. Got 6 rows and 5 columns",
    ),
    "empirical Bayes": (
        lambda: wide(rj.poisson, "count", rj.EmpiricalBayes()),
        rj.DataError,
        "models have no finite maximum of the likelihood",
    ),
    "hyper-g, a perfect fit": (
        lambda: rj.linear("number ~ x", ROWS.assign(number=2 * ROWS["x"]), coef_prior=rj.HyperG()).fit(),
        rj.DataError,
        r"fit the response perfectly \(R\^2 = 1\).*infinite.*sigma_prior",
    ),
    "criteria with an unknown theta": (
        lambda: negbin(coef_prior=rj.BIC()).fit(),
        rj.NotAvailableError,
        "unknown theta supports Normal .*Got BIC.*or give theta",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_families_refuse(case):
    check(*CASES[case])


# Their likelihoods have an upper bound whatever g is, so that proper priors have posteriors.
PROPER = {
    "poisson": (rj.poisson, "count", {}),
    "negbin": (rj.negbin, "count", {"theta": 1.0}),
    "gamma": (rj.gamma, "cost", {"shape": 1.0}),
}


@pytest.mark.parametrize("name", PROPER)
def test_mixtures_with_more_columns_than_rows(name):
    make, response, options = PROPER[name]
    models = wide(make, response, rj.HyperGN(), **options).models
    assert models["posterior"].sum() == pytest.approx(1.0)
    # Five columns are independent of the intercept in six rows.
    assert models.loc[models["posterior"] > 0, "size"].max() == 5
