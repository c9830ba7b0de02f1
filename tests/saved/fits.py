"""Results of every kind, small, which the tests of files save; as a program, it writes the files kept.

The files in ``files`` show that a change of code has changed their layout. Until the first release, they are
then written again:

    python tests/saved/fits.py
"""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import pyrjsel as rj


def births():
    return rj.datasets.birthwt().data


def waves():
    """Forty rows with labels of text, one of them with a missing value."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-2, 2, 40)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=40)}, index=[f"row {k}" for k in range(40)])
    frame["y"] = np.sin(2 * x) + 0.1 * rng.normal(size=40)
    frame.loc["row 3", "z"] = np.nan
    return frame


def halved(values):
    return values / 2


def bump(points, centres):
    return np.exp(-((points[:, None] - centres[None]) ** 2).sum(axis=2))


def arrays():
    frame = births()
    return frame["lwt"].to_numpy(), frame[["age", "smoke", "ht"]]


def gaps():
    frame = births()
    frame.loc[[3, 50], "age"] = np.nan
    frame["w"] = np.linspace(1, 2, len(frame))
    return frame


def dotted():
    """Births, of some of which it is not known whether the mother smoked."""
    frame = births()
    frame["smoke"] = frame["smoke"].astype(float).where(frame["age"] < 32)
    return frame


def flowers():
    """Rows of three classes, some without a label, with gaps and an input that is constant."""
    rng = np.random.default_rng(6)
    klass = rng.integers(3, size=60)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["a"] += 3 * klass
    frame.loc[[4, 9, 30], "b"] = np.nan
    frame["flat"] = 1.0
    frame["species"] = pd.Categorical.from_codes(np.where(rng.random(60) < 0.2, -1, klass), list("xyz"))
    frame.loc[7, ["a", "b", "c", "flat"]] = np.nan
    return frame


SYMBOLS = "abracadabra and abracadabra" * 3
ENUMERATE, SHORT = {"rng": 1}, {"rng": 1, "draws": 150, "chains": 2, "progress": False}
LOGIT = "low ~ lwt + smoke + ht + race"
FOUR_N = rj.GPrior("4n")
# Rows, the model of them, options of its fit.
FITS = {
    "logit enumerated": (births, lambda d: rj.logit(LOGIT, d, coef_prior=FOUR_N), ENUMERATE),
    "logit collapsed": (
        births,
        lambda d: rj.logit(LOGIT, d, coef_prior=FOUR_N),
        {**SHORT, "sampler": "collapsed"},
    ),
    "logit rjmcmc": (
        births,
        lambda d: rj.logit(
            "low ~ halved(lwt) + bs(age, df=4) + smoke",
            d,
            functions={"halved": halved},
            costs={"lwt": 1.0, "age": 0.5, "smoke": 0.25},
            budget=1.6,
            model_prior=rj.Bernoulli({"halved(lwt)": 0.3, "bs(age, df=4)": 0.2, "smoke": 0.5}),
            coef_prior=rj.Normal(2.0, intercept=rj.Normal(3.0)),
        ),
        {**SHORT, "sampler": "rjmcmc"},
    ),
    "poisson": (
        births,
        lambda d: rj.poisson(
            "ftv ~ age * smoke + lwt", d, heredity="strong", coef_prior=FOUR_N, model_prior=rj.Uniform()
        ),
        ENUMERATE,
    ),
    "negbin": (
        births,
        lambda d: rj.negbin("ftv ~ age + smoke + lwt", d, theta_prior=rj.LogNormal(0.5, 1.0)),
        {**SHORT, "sampler": "rjmcmc"},
    ),
    "gamma": (births, lambda d: rj.gamma("lwt ~ age + smoke + ht", d, shape=20.0), ENUMERATE),
    "gamma population": (
        births,
        lambda d: rj.gamma("lwt ~ age + smoke + ht", d, coef_prior=rj.Normal(1.0)),
        {**SHORT, "sampler": "population"},
    ),
    "cox": (
        births,
        lambda d: rj.cox("bwt ~ age + smoke + ht", d, event="low", ties="breslow"),
        {**SHORT, "sampler": "rjmcmc"},
    ),
    "linear enumerated": (
        gaps,
        lambda d: rj.linear("lwt ~ age + smoke + ht + race", d, weights="w", coef_prior=rj.ZellnerSiow()),
        ENUMERATE,
    ),
    "linear arrays": (
        arrays,
        lambda d: rj.LinearSelection(
            *d, model_prior=rj.CostAdjusted({"age": 1.0, "smoke": 2.0, "ht": 1.5}), always="age"
        ),
        ENUMERATE,
    ),
    "linear spikes": (
        births,
        lambda d: rj.linear(
            "lwt ~ age + smoke + ht",
            d,
            coef_prior=rj.SpikeSlab({"age": 0.1, "smoke": 1.0, "ht": 1.0}, 100),
            sigma_prior=rj.InverseGamma(2, 1),
            model_prior=rj.TruncatedPoisson(expected_size=1.5),
        ),
        {**SHORT, "sampler": "gibbs"},
    ),
    "linear rjmcmc": (
        births,
        lambda d: rj.linear("lwt ~ age + smoke + ht", d, coef_prior=rj.HyperGN(4.0), max_size=2),
        {**SHORT, "sampler": "rjmcmc"},
    ),
    "kernel smc": (
        waves,
        lambda d: rj.kernel_regression("y ~ x + z", d, width=[0.5, 1.0], max_kernels=8),
        {"rng": 1, "particles": 30, "runs": 2, "evidence": "stream", "progress": False},
    ),
    "kernel own": (
        waves,
        lambda d: rj.kernel_regression(
            "y ~ halved(x)", d, kernel=bump, width=1.0, max_kernels=8, functions={"halved": halved}
        ),
        {"rng": 1, "particles": 30, "row_order": "given", "progress": False},
    ),
    "kernel mcmc": (
        waves,
        lambda d: rj.kernel_regression(
            "y ~ x", d, width=1.0, noise_prior=(2.0, 0.1), coef_variance=1.5, convention="w2", max_kernels=6
        ),
        {**SHORT, "sampler": "mcmc"},
    ),
    "pattern interactions": (
        dotted,
        lambda d: rj.pattern_logit(
            "low ~ interactions(race, smoke, C(halved(ptl)), order=2)",
            d,
            prior="gaussian",
            sigma_prior=[rj.LogNormal(-1.0, 0.5), rj.InverseGamma(3.0, 1.0)],
            functions={"halved": halved},
        ),
        {**SHORT, "draws": 60, "burn_in": 60},
    ),
    "pattern gaps": (
        lambda: (dotted()["race"], dotted()[["smoke", "ht"]]),
        lambda d: rj.PatternLogit(*d, missing="level", compress=False),
        {**SHORT, "draws": 40, "burn_in": 40, "sampler": "slice"},
    ),
    "pattern sequence": (
        lambda: rj.histories(SYMBOLS, order=3),
        lambda d: rj.PatternLogit.from_sequence(SYMBOLS, order=3),
        {**SHORT, "draws": 40, "burn_in": 40},
    ),
    "mixture": (
        flowers,
        lambda d: rj.mixture_classifier(
            "species ~ .",
            d,
            target="joint",
            costs={"a": 1.0, "b": 2.0, "c": 0.5},
            budget=3.0,
            prior=rj.MixturePrior(h=8.0),
        ),
        {**SHORT, "moves": 2},
    ),
    "mixture arrays": (
        lambda: (flowers()["a"] > 3, flowers()[["b", "c"]].to_numpy()),
        lambda d: rj.MixtureClassifier(
            *d,
            target="joint",
            background="independent",
            proposal="prior",
            model_prior=rj.Bernoulli(0.4),
            components=[2, 3],
        ),
        {**SHORT, "folds": 2, "thin": 2},
    ),
    "mixture functions": (
        flowers,
        lambda d: rj.mixture_classifier(
            "species ~ halved(a) + c",
            d,
            functions={"halved": halved},
            missing="drop",
            target="joint",
            background=None,
        ),
        SHORT,
    ),
    "mixture labels": (
        flowers,
        lambda d: rj.mixture_classifier(
            "species ~ .", d, prior=rj.KernelPrior(h=0.5), weight_prior=0.5, components=[1, 2]
        ),
        {**SHORT, "folds": 2},
    ),
}
# Those whose files are kept.
KEPT = (
    *("logit enumerated", "logit rjmcmc", "linear spikes", "kernel smc", "kernel mcmc"),
    *("pattern interactions", "pattern gaps", "mixture", "mixture labels"),
)
FILES = Path(__file__).parent / "files"
# Those with draws, whose files have states of chains.
DRAWN = [name for name in FITS if "draws" in FITS[name][2]]
FUNCTIONS = {"halved": halved, "bump": bump}


def functions_of(name):
    """Return the functions that loading one of the files needs, None for most."""
    wanted = {
        "logit rjmcmc": ("halved",),
        "pattern interactions": ("halved",),
        "kernel own": ("halved", "bump"),
        "mixture functions": ("halved",),
    }.get(name, ())
    return {key: FUNCTIONS[key] for key in wanted} or None


@cache
def make(name):
    """Return the rows and the results of one of the fits."""
    rows, model, options = FITS[name]
    data = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return data, model(data).fit(**options)


if __name__ == "__main__":
    for label in KEPT:
        make(label)[1].save(FILES / f"{label.replace(' ', '-')}.rjs")
