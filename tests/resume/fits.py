"""Small fits by every sampler, which the tests of checkpoints kill; as a program, a server that makes them.

The server imports the package once. For every line it reads it forks a child that makes the fits, writes the
child's number, and when the child has ended its exit status.
"""

import os
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import pyrjsel as rj
from pyrjsel.runtime import chains, checkpoint
from pyrjsel.storage import digest


def waves(n):
    """Return a response and an input, a wave with noise."""
    rng = np.random.default_rng(7)
    z = rng.normal(size=(n, 1))
    return np.sin(3 * z[:, 0]) + 0.1 * rng.normal(size=n), z


def flowers():
    """Return two classes of rows, some without a label, with gaps in the inputs."""
    rng = np.random.default_rng(8)
    klass = rng.integers(2, size=50)
    data = pd.DataFrame(rng.normal(size=(50, 4)), columns=["a", "b", "c", "d"])
    data["a"] += 2 * klass
    data["c"] += data["a"]
    data[["b", "c"]] = data[["b", "c"]].mask(rng.random((50, 2)) < 0.1)
    data["species"] = pd.Categorical.from_codes(np.where(rng.random(50) < 0.2, -1, klass), ["x", "y"])
    return data


@cache
def make_models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.MissingDataWarning)  # of rows without a label
        return _models()


def _models():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(120, 7))).add_prefix("x")
    low = (rng.random(120) < 1 / (1 + np.exp(-x["x0"].to_numpy()))).astype(int)
    y = x["x0"].to_numpy() + rng.normal(size=120)
    births = rj.datasets.birthwt().data
    symbols = rj.datasets.english_text().data["symbol"][:300]
    return {
        "logit": rj.LogitSelection(low, x),
        "logit mixture": rj.LogitSelection(low, x, coef_prior=rj.HyperGN()),
        "poisson": rj.PoissonSelection(rng.poisson(np.exp(0.5 * x["x1"].to_numpy())), x),
        "linear": rj.LinearSelection(y, x),
        "wide": rj.LinearSelection(y, pd.DataFrame(rng.normal(size=(120, 13))).add_prefix("x")),
        "mixture": rj.LinearSelection(y, x, coef_prior=rj.HyperG()),
        "spikes": rj.LinearSelection(y, x, coef_prior=rj.SpikeSlab(0.1, 100)),
        "unscaled": rj.LinearSelection(y, x, coef_prior=rj.Normal(1.0, scaled=False)),
        "patterns": rj.pattern_logit("low ~ interactions(race, smoke, ht, ui, order=3)", births),
        "sequence": rj.PatternLogit.from_sequence(symbols, order=5),
        "classifier": rj.mixture_classifier(
            "species ~ a + b + c + np.abs(d)", flowers(), target="joint", components=2
        ),
        "labels": rj.mixture_classifier("species ~ a + b + c + np.abs(d)", flowers()),
        "independent": rj.mixture_classifier(
            "species ~ .",
            flowers(),
            target="joint",
            background="independent",
            proposal="prior",
            budget=3,
            costs={"a": 1, "b": 2, "c": 1, "d": 1},
        ),
        "classifiers": rj.mixture_classifier("species ~ a + b", flowers(), components=[1, 2]),
        "kernel": rj.KernelRegression(*waves(60), width=0.5),
        # More rows than there are columns of kernel values at once.
        "long kernel": rj.KernelRegression(*waves(1100), width=0.5),
    }


# Model and options of fits that take some tenths of a second each.
FITS = {
    "logit enumerated": ("logit", {"sampler": "enumerate"}),
    "poisson laplace": ("poisson", {"sampler": "enumerate", "integration": "laplace"}),
    "linear enumerated": ("wide", {"sampler": "enumerate"}),
    "mixture enumerated": ("mixture", {"sampler": "enumerate"}),
    "spikes enumerated": ("spikes", {"sampler": "enumerate"}),
    "unscaled enumerated": ("unscaled", {"sampler": "enumerate"}),
    "logit rjmcmc": ("logit", {"sampler": "rjmcmc", "draws": 2000, "chains": 2}),
    "logit population": ("logit", {"sampler": "population", "draws": 600, "chains": 2}),
    "logit collapsed": ("logit", {"sampler": "collapsed", "draws": 600, "chains": 2, "thin": 2}),
    "logit mixture rjmcmc": ("logit mixture", {"sampler": "rjmcmc", "draws": 1000, "chains": 2}),
    "logit mixture collapsed": ("logit mixture", {"sampler": "collapsed", "draws": 300, "chains": 2}),
    "logit tempered": ("logit", {"sampler": "collapsed", "draws": 300, "chains": 2, "temperatures": 3}),
    "poisson collapsed": ("poisson", {"sampler": "collapsed", "draws": 400, "chains": 2}),
    "linear rjmcmc": ("linear", {"sampler": "rjmcmc", "draws": 3000, "chains": 2}),
    "mixture rjmcmc": ("mixture", {"sampler": "rjmcmc", "draws": 1000, "chains": 2}),
    "linear population": ("linear", {"sampler": "population", "draws": 800, "chains": 2}),
    "linear collapsed": ("linear", {"sampler": "collapsed", "draws": 20_000, "chains": 2}),
    "linear tempered": ("linear", {"sampler": "collapsed", "draws": 5000, "chains": 2, "temperatures": 3}),
    "linear gibbs": ("linear", {"sampler": "gibbs", "draws": 5000, "chains": 2, "thin": 3}),
    "spikes gibbs": ("spikes", {"sampler": "gibbs", "draws": 2000, "chains": 2, "thin": 2}),
    "spikes conditional": (
        "spikes",
        {"sampler": "gibbs", "scheme": "conditional", "draws": 5000, "chains": 2},
    ),
    "unscaled gibbs": ("unscaled", {"sampler": "gibbs", "draws": 3000, "chains": 2}),
    "patterns interweaving": ("patterns", {"draws": 100, "burn_in": 100, "chains": 2}),
    "patterns slice": ("patterns", {"sampler": "slice", "draws": 20, "burn_in": 50, "chains": 2}),
    "sequence interweaving": ("sequence", {"draws": 40, "burn_in": 50, "thin": 3, "chains": 2}),
    "classifier": ("classifier", {"draws": 500, "chains": 2}),
    "labels classifier": ("labels", {"draws": 400, "burn_in": 200, "thin": 2, "chains": 2}),
    "independent classifier": ("independent", {"draws": 300, "chains": 2, "thin": 2}),
    "compared classifiers": ("classifiers", {"draws": 200, "chains": 2, "folds": 2}),
    "kernel smc": ("kernel", {"sampler": "smc", "particles": 60, "runs": 2}),
    "kernel mcmc": ("kernel", {"sampler": "mcmc", "draws": 1500, "chains": 2}),
    "long kernel mcmc": ("long kernel", {"sampler": "mcmc", "draws": 100, "chains": 1}),
}


def fit(name, **more):
    """Return the results of one of the fits; seconds and few draws are no matter here."""
    model, options = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return make_models()[model].fit(progress=False, **{"rng": 1, **options, **more})


def found(value, name=""):
    """Return digests of all arrays, numbers and texts in results, by place, but for times and settings."""
    if name.rpartition(".")[2] in ("seconds", "cpu", "run_time", "settings", "fit"):
        return {}
    if isinstance(value, np.ndarray):
        return {name: digest(value)}
    if isinstance(value, pd.DataFrame):
        return {
            name: digest(
                value.drop(columns=["seconds", "cpu_seconds"], errors="ignore").to_numpy(dtype=float)
            )
        }
    if isinstance(value, (bool, int, float, str, bytes)):
        return {name: repr(value)}
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if hasattr(value, "__dataclass_fields__"):
        value = {key: getattr(value, key) for key in value.__dataclass_fields__}
    parts = value.items() if isinstance(value, dict) else ()
    return {place: what for key, item in parts for place, what in found(item, f"{name}.{key}").items()}


def digest_of(results):
    everything = found(results.run if hasattr(results, "run") else results.posterior)
    assert len(everything) > 3
    return digest(everything)


def hasten():
    """Have blocks be short, and each be written down."""
    chains.BLOCK_SECONDS, checkpoint.INTERVAL = 0.002, 0.0


def make_fits(folder):
    """Make all fits that are not there yet, and write down the digest of each."""
    hasten()
    for name in FITS:
        done = folder / f"{name}.txt"
        if not done.exists():
            what = digest_of(fit(name, checkpoint=folder / name, n_jobs=2))
            done.with_suffix(".new").write_text(what)
            done.with_suffix(".new").replace(done)


def serve(folder):
    make_models()
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            make_fits(folder)
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
