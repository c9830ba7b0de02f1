"""The models of responses that are not normal, with data for each and what statsmodels or scipy say of them.

A case is a model as users call it, beside a maker of responses; contract tests run over all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import optimize, stats
from statsmodels.duration.hazard_regression import PHReg

import pyrjsel as rj

FORMULA = "y ~ a + b + C(level)"
ROWS = 60


def rows(seed=8, n=ROWS):
    """Columns without a response, two of them related; effects of some of them; and the generator."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 0] + x[:, 1]})
    frame["level"] = rng.choice(["p", "q", "r"], n)
    frame["shift"] = rng.normal(0, 0.3, n)
    frame["n"] = rng.integers(1, 4, n)
    return frame, (0.5 + 0.5 * frame["a"] - 0.5 * (frame["level"] == "q") + frame["shift"]).to_numpy(), rng


def censored(eta, rng):
    """Times and events with hazards exp(eta), in whole days, with ties and censoring."""
    time, end = rng.exponential(np.exp(-eta)), rng.uniform(0.3, 2.5, eta.size)
    return pd.DataFrame({"time": np.ceil(20 * np.minimum(time, end)), "died": (time <= end).astype(int)})


def classes(eta, rng):
    """One of three classes, of which the second has predictors eta."""
    each = np.column_stack([0.4 * np.ones(eta.size), eta, 0.6 - 0.4 * eta])
    return {"y": np.array(["low", "mid", "top"])[(each + rng.gumbel(size=each.shape)).argmax(axis=1)]}


def trials(chance):
    """Shares of successes among the trials of each row."""
    return lambda eta, rng, n: {"y": rng.binomial(n, chance(0.7 * eta - 0.5)) / n}


@dataclass(frozen=True)
class Family:
    """A model as users call it, with a response of its own kind."""

    make: Callable
    draw: Callable  # columns by predictors, generator and numbers
    options: dict = field(default_factory=lambda: {"offset": "shift"})
    title: str = ""
    facts: tuple = ()  # in summaries
    nuisance: tuple = ()  # names of unknown parameters
    maximum: Callable | None = None  # that of a frame and terms
    priors: dict = field(default_factory=dict)  # of other shapes than the default, for samplers
    rival: Callable | None = None  # a model that predicts worse
    others: tuple = ()  # options of other likelihoods

    def frame(self, **seed):
        """Sixty rows with the response."""
        columns, eta, rng = rows(**seed)
        return columns.assign(**self.draw(eta, rng, columns["n"].to_numpy()))

    def model(self, formula=FORMULA, frame=None, **options):
        """The model of a formula."""
        return self.make(formula, self.frame() if frame is None else frame, **{**self.options, **options})


def design(frame, terms):
    return np.column_stack([np.ones(len(frame)), *(frame[name] for name in terms)])


def of_glm(family, scale=1.0):
    """Maximum of a generalised linear model by statsmodels; `scale` is that of a gamma model."""

    def maximum(frame, terms):
        n, y = frame["n"], frame["y"]
        response, weights = y, None
        if isinstance(family, sm.families.Binomial):
            response = np.column_stack([y * n, (1 - y) * n])
        elif isinstance(family, sm.families.Gamma):
            weights = n
        model = sm.GLM(response, design(frame, terms), family, offset=frame["shift"], var_weights=weights)
        fit = model.fit(tol=1e-14, maxiter=300)
        value, count = fit.llf, len(y) if weights is None else n.sum()
        if weights is not None:
            value = stats.gamma.logpdf(y, n / scale, scale=fit.fittedvalues / (n / scale)).sum()
        if response is not y:
            count = n.sum()
        return found(
            fit.params, -model.hessian(fit.params, scale, observed=True), value, fit.deviance / scale, count
        )

    return maximum


def found(params, information, value, deviance, count, size=None):
    """A maximum: coefficients and their errors, log-likelihood and deviance, the n of BIC, the log size."""
    error = np.sqrt(np.diag(np.linalg.inv(information)))
    return SimpleNamespace(
        params=np.ravel(params, order="F"), error=error, value=value, deviance=deviance, n=count, size=size
    )


def of_cox(ties):
    def maximum(frame, terms):
        fit = PHReg(frame["y"], frame[terms], frame["died"], offset=frame["shift"], ties=ties).fit(
            tol=1e-14, disp=0
        )
        return found(fit.params, np.linalg.inv(fit.cov_params()), fit.llf, -2 * fit.llf, frame["died"].sum())

    return maximum


def of_classes(frame, terms):
    fit = sm.MNLogit(frame["y"], design(frame, terms)).fit(method="newton", disp=0, tol=1e-12)
    information = np.linalg.inv(fit.cov_params())
    return found(fit.params, information, fit.llf, -2 * fit.llf, len(frame))


def of_counts(frame, terms):
    """With an unknown theta, the inverse of their dispersion."""
    model = sm.NegativeBinomial(frame["y"], design(frame, terms), offset=frame["shift"])
    fit = model.fit(method="newton", disp=0, maxiter=200, tol=1e-13)
    params = np.asarray(fit.params)
    return found(params[:-1], -model.hessian(params), fit.llf, None, len(frame), -np.log(params[-1]))


def of_sizes(frame, terms):
    """With an unknown shape, the best one at the maximum of the coefficients, which does not depend on it."""
    n, y = frame["n"].to_numpy(float), frame["y"].to_numpy()
    model = sm.GLM(y, design(frame, terms), LOG_GAMMA, offset=frame["shift"], var_weights=n)
    fit = model.fit(tol=1e-14, maxiter=300)

    def loss(t):
        return -stats.gamma.logpdf(y, n * np.exp(t), scale=fit.fittedvalues / (n * np.exp(t))).sum()

    best = optimize.minimize_scalar(loss, bounds=(-2, 3), method="bounded", options={"xatol": 1e-12})
    information = -model.hessian(fit.params, np.exp(-best.x), observed=True)
    return found(fit.params, information, -best.fun, 2 * best.fun, n.sum(), best.x)


def of_student(df):
    """From several starts, since the likelihood can have several maxima."""

    def maximum(frame, terms):
        x, y = design(frame, terms), (frame["y"] - frame["shift"]).to_numpy()

        def loss(v):
            return -stats.t.logpdf(y, df, x @ v[:-1], np.exp(v[-1])).sum()

        starts = [np.append(np.linalg.lstsq(x, y, rcond=None)[0], s) for s in (0.0, 0.5, 1.0)]
        best = min((optimize.minimize(loss, s, tol=1e-10) for s in starts), key=lambda fit: fit.fun)
        return found(best.x[:-1], np.linalg.inv(best.hess_inv), -best.fun, 2 * best.fun, len(y), best.x[-1])

    return maximum


LOG_GAMMA = sm.families.Gamma(sm.families.links.Log())
PROBIT, CLOGLOG = sm.families.links.Probit(), sm.families.links.CLogLog()
TRIALS = {"weights": "n", "offset": "shift"}


def student(formula, data, **options):
    return rj.linear(formula, data, **{"errors": "student", **options})


def counts(eta, rng, n):
    return {"y": rng.poisson(np.exp(0.5 + eta) * rng.gamma(1.5, 1 / 1.5, eta.size))}


def gamma_means(eta, rng, n):
    return {"y": np.exp(eta) * rng.gamma(1.5 * n) / (1.5 * n)}


def heavy(eta, rng, n):
    return {"y": 4 + eta + 0.8 * rng.standard_t(3, eta.size)}


def other_sizes(name):
    prior = {f"{name}_prior": rj.LogNormal(1, 1)}
    return ({name: 1.0}, {name: 2.0}, {name: None}, {name: None, **prior})


def poisson_of(frame):
    return rj.poisson(FORMULA, frame, offset="shift")


def linear_of(frame):
    return rj.linear(FORMULA, frame, offset="shift")


FAMILIES: dict[str, Any] = {
    "poisson": Family(
        rj.poisson,
        lambda eta, rng, n: {"y": rng.poisson(np.exp(eta))},
        title="Poisson model selection",
        maximum=of_glm(sm.families.Poisson()),
    ),
    "probit": Family(
        rj.probit,
        trials(stats.norm.cdf),
        TRIALS,
        "Probit model selection",
        maximum=of_glm(sm.families.Binomial(PROBIT)),
    ),
    "cloglog": Family(
        rj.cloglog,
        trials(lambda eta: -np.expm1(-np.exp(eta))),
        TRIALS,
        "Complementary log-log model selection",
        maximum=of_glm(sm.families.Binomial(CLOGLOG)),
    ),
    "negbin": Family(
        rj.negbin,
        counts,
        {"offset": "shift", "theta": 1.5},
        "Negative binomial model selection",
        ("Theta:",),
        maximum=of_glm(sm.families.NegativeBinomial(alpha=1 / 1.5)),
        rival=poisson_of,
        others=other_sizes("theta"),
    ),
    "negbin, theta": Family(
        rj.negbin,
        counts,
        {"offset": "shift"},
        "Negative binomial model selection",
        ("estimated", "LogNormal(w=0.0, s=2.0)"),
        ("theta",),
        of_counts,
        {"population": rj.HyperG(3), "collapsed": rj.Robust()},
        poisson_of,
    ),
    "gamma": Family(
        rj.gamma,
        gamma_means,
        {**TRIALS, "shape": 0.8},
        "Gamma model selection",
        ("Shape:",),
        maximum=of_glm(LOG_GAMMA, 1 / 0.8),
        rival=linear_of,
        others=other_sizes("shape"),
    ),
    "gamma, shape": Family(
        rj.gamma,
        gamma_means,
        TRIALS,
        "Gamma model selection",
        ("estimated", "LogNormal(w=0.0, s=2.0)"),
        ("shape",),
        of_sizes,
        {"rjmcmc": rj.ZellnerSiow(), "population": rj.HyperG(3)},
        linear_of,
    ),
    "cox": Family(
        rj.cox,
        lambda eta, rng, n: censored(eta, rng).rename(columns={"time": "y"}),
        {"offset": "shift", "event": "died"},
        "Cox model selection",
        ("efron", "Events:"),
        maximum=of_cox("efron"),
        others=({}, {"ties": "breslow"}),
    ),
    "cox, breslow": Family(
        rj.cox,
        lambda eta, rng, n: censored(eta, rng).rename(columns={"time": "y"}),
        {"offset": "shift", "event": "died", "ties": "breslow"},
        "Cox model selection",
        ("breslow", "Events:"),
        maximum=of_cox("breslow"),
    ),
    "multinomial": Family(
        rj.multinomial,
        lambda eta, rng, n: classes(eta, rng),
        {},
        "Multinomial model selection",
        maximum=of_classes,
        priors={"rjmcmc": rj.HyperGN(4)},
    ),
    "student": Family(
        student,
        heavy,
        title="Linear model selection",
        facts=("Student t, 4 df",),
        nuisance=("sigma",),
        maximum=of_student(4),
        priors={"rjmcmc": rj.ZellnerSiow(), "collapsed": rj.Robust()},
        rival=linear_of,
        others=({}, {"df": 3}, {"errors": "normal"}, {"df": "estimate"}),
    ),
    "student, df": Family(
        student,
        heavy,
        {"offset": "shift", "df": "estimate"},
        "Linear model selection",
        ("Student t, unknown df", "Gamma(2, rate 0.1) above 0.5"),
        ("sigma", "df"),
        priors={"population": rj.HyperG(3)},
        rival=linear_of,
    ),
}
