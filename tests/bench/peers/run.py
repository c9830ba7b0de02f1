"""Other packages beside this one, on the same problems in the same run (`make bench-peers`).

Both sides answer one question under one prior, on one core. Their answers must agree before times are
compared; where they do not, no ratio is printed and the run fails.

Times of a run are those of a whole call, from data in memory to estimates, with the burn-in, which is a
fifth of the kept draws everywhere. Starting a language, importing a package and compiling a model are the
start-up, which is printed apart. Processor time is what counts, since others may use the machine; the clock
stands behind it. Where answers are sampled, what is compared is the time to an error: seconds times the
mean squared error of a run over the square of the error wanted. The squared error is the variance between
independent runs: of the twelve inclusion probabilities nearest to 1/2, or of all posterior means in units
of the posterior standard deviations. With so few runs, ratios of such times are good to about a third.
"""

import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import problems
from scipy.stats import ttest_ind
from threadpoolctl import threadpool_limits

import pyrjsel as rj

HERE = Path(__file__).resolve().parent
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
# Errors that times are scaled to. That of means, a tenth of a standard deviation, is 100 independent draws.
WANTED = {"exact": None, "inclusion": 0.01, "means": 0.1}
EXACT = 1e-9  # rounding in sums over 32,768 models is of the order of 1e-12 on either side
APART = 4.0  # in standard errors of a difference; both are root mean squares over all estimates
CHANCE = 1e-4  # least p-value of a difference in the sum of all estimates, by Welch's t-test


@dataclass(frozen=True)
class Peer:
    """How a package is run, how its version is asked for, and how it is installed."""

    command: list[str]
    version: list[str]
    install: str

    def found(self):
        """Return its version, or None and why."""
        if shutil.which(self.command[0]) is None:
            return None, f"there is no {self.command[0]}"
        done = subprocess.run(self.version, env=environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None, " ".join(done.stderr.split())[-150:]
        return done.stdout.strip(), None


def peers(python):
    def in_r(name, script):
        ask = f'cat(format(packageVersion("{name}")), R.version.string, extSoftVersion()["BLAS"], sep = ", ")'
        install = f'apt-get install r-cran-{name.lower()}, or install.packages("{name}") in R'
        return Peer(["Rscript", "--vanilla", script], ["Rscript", "--vanilla", "-e", ask], install)

    # PyMC and ArviZ warn of what is to come, and of C that is compiled without BLAS, which is not used.
    run = [str(python), "-P", "-W", "ignore"]
    version = [*run, "-c", "import pymc; print(pymc.__version__)"]
    pymc = Peer([*run, "pymc_indicators.py"], version, f"{python} -m pip install pymc")
    return {"BMS": in_r("BMS", "bms.R"), "MCMCpack": in_r("MCMCpack", "mcmcpack.R"), "PyMC": pymc}


@dataclass(frozen=True)
class Comparison:
    """One problem, our ways to solve it (the first is what the others are set against), and those of peers.

    `answer` is "exact" (inclusion probabilities by enumeration), "inclusion" (sampled ones) or "means" (of
    coefficients). A rival is a peer, a number of runs, and the settings of its script.
    """

    title: str
    data: pd.DataFrame
    answer: str
    model: Callable
    fits: dict[str, dict]
    rivals: dict[str, tuple]


@dataclass(frozen=True)
class Runs:
    """Estimates, a row a run; (processor, clock) seconds of each run and of the start-up."""

    estimates: pd.DataFrame
    seconds: np.ndarray
    startup: np.ndarray


def comparisons():
    crime, linear, logistic = problems.crime(), problems.linear(), problems.logistic()
    for prior, name in ((rj.Uniform(), "uniform"), (rj.BetaBinomial(1, 1), "random")):
        yield Comparison(
            f"UScrime: linear, n = 47, all 32,768 models of 15 terms, g = n, {prior}",
            crime,
            "exact",
            lambda y, x, prior=prior: rj.LinearSelection(y, x, model_prior=prior),
            {"enumerate": {}},
            {"BMS, enumerate": ("BMS", 5, ["enumerate", name, "NA", 0, "NA"])},
        )
    samplers = "bd", "rev.jump"
    yield Comparison(
        "lin500_g: linear, n = 500, 200 terms, g = n, Bernoulli(10 / 200)",
        linear,
        "inclusion",
        lambda y, x: rj.LinearSelection(y, x, model_prior=rj.Bernoulli(10 / 200)),
        {sampler: {"draws": 2000} for sampler in ("collapsed", "gibbs")},
        {f"BMS, {sampler}": ("BMS", 8, [sampler, "fixed", 10, 10_000, 50_000]) for sampler in samplers},
    )
    events = logistic["y"].mean()
    centre = float(np.log(events / (1 - events)))
    normal = rj.Normal(2.0, intercept=rj.Normal(100.0, mean=centre))
    yield Comparison(
        "logit_ind: logistic, n = 2,532, 83 terms, slopes N(0, 4), Bernoulli(0.5)",
        logistic,
        "inclusion",
        lambda y, x: rj.LogitSelection(y, x, coef_prior=normal, model_prior=rj.Bernoulli(0.5)),
        {"collapsed": {"draws": 300}, "rjmcmc": {"draws": 2000}},
        {"PyMC, NUTS and indicators": ("PyMC", 4, [centre, 100, 2, 100, 500])},
    )
    yield Comparison(
        "logistic, n = 2,532, one model of 83 terms, slopes N(0, 4)",
        logistic,
        "means",
        lambda y, x: rj.LogitSelection(y, x, coef_prior=normal, always=list(x)),
        {"rjmcmc": {"draws": 3000}, "enumerate": {}},
        {"MCMCpack, MCMClogit": ("MCMCpack", 4, ["logit", centre, 100, 2, 2000, 10_000])},
    )
    slopes, variance = rj.Normal(1.0, scaled=False), rj.InverseGamma(2, 2)
    yield Comparison(
        "linear, n = 500, one model of 200 terms, slopes N(0, 1), sigma^2 of its own",
        linear,
        "means",
        lambda y, x: rj.LinearSelection(y, x, coef_prior=slopes, sigma_prior=variance, always=list(x)),
        {"gibbs": {"draws": 1000}},
        {"MCMCpack, MCMCregress": ("MCMCpack", 4, ["linear", 0, "Inf", 1, 200, 1000])},
    )


def environment():
    return {**os.environ, **ONE_THREAD}


def now(children=False):
    """Return (processor, clock) seconds, of this process or of those that it has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF)
    return np.array([used.ru_utime + used.ru_stime, time.perf_counter()])


def seconds_of_import():
    begun = now(children=True)
    subprocess.run([sys.executable, "-P", "-c", "import pyrjsel"], env=environment(), check=True)
    return now(children=True) - begun


def run_ours(comparison, sampler, startup, runs=8):
    """Return our runs, and the unit of each estimate."""
    y, x = comparison.data["y"], comparison.data.drop(columns="y")
    found, seconds = [], []
    for seed in range(runs):
        begun = now()
        model = comparison.model(y, x)
        options = {"sampler": sampler, **comparison.fits[sampler]}
        found.append(model.fit(chains=1, rng=seed, n_jobs=1, progress=False, **options))
        seconds.append(now() - begun)
    if comparison.answer == "means":
        estimates, unit = [fit.params for fit in found], sum(fit.bse for fit in found) / runs
    else:
        estimates, unit = [fit.inclusion["posterior"] for fit in found], 1.0
    return Runs(pd.DataFrame(estimates).reset_index(drop=True), np.array(seconds), startup), unit


def run_peer(peer, data, runs, settings):
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "data.csv", Path(folder) / "runs.csv"
        data.to_csv(source, index=False)
        command = [*peer.command, source, target, runs, *settings]
        begun = now(children=True)
        done = subprocess.run(
            [str(part) for part in command],
            cwd=HERE,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        spent = now(children=True) - begun
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(peer.command)} failed:\n{done.stdout}")
        table = pd.read_csv(target)
    if table.isna().any(axis=None):
        raise SystemExit(f"{' '.join(peer.command)} left estimates out:\n{done.stdout}")
    seconds = table[["processor", "clock"]].to_numpy()
    return Runs(table.drop(columns=["processor", "clock"]), seconds, spent - seconds.sum(axis=0))


def agreement(runs, ours, unit, answer):
    """Return what the table says of how far two sides are apart, and whether their errors allow for it."""
    if set(runs.estimates) != set(ours.estimates):
        raise SystemExit("the two sides do not estimate the same terms")
    apart = (runs.estimates.mean() - ours.estimates.mean()) / unit
    if answer == "exact":
        most = apart.abs().max()
        return {"apart (at most)": f"{most:.1e} ({EXACT:.0e})"}, bool(most <= EXACT)
    sides = [side.estimates / unit for side in (runs, ours)]
    root = np.sqrt((apart**2).mean())
    limit = APART * np.sqrt(sum(side.var() / len(side) for side in sides).mean())
    # Another prior moves all probabilities one way: far more than one of them, it is their sum that tells.
    p = ttest_ind(*(side.sum(axis=1) for side in sides), equal_var=False).pvalue
    said = {"apart (at most)": f"{root:.1e} ({limit:.1e})", "p of sum": f"{p:.2g}"}
    return said, bool(root <= limit and p >= CHANCE)


def row_of(runs, unit, comparison, chosen):
    wanted, seconds = WANTED[comparison.answer], runs.seconds
    row = {"seconds a run": seconds.mean(axis=0), "start-up": runs.startup}
    if wanted is None:
        return row | {"compared": seconds.min(axis=0)}
    squared = (runs.estimates / unit)[chosen].var().mean()
    return row | {"error of a run": np.sqrt(squared), "compared": seconds.mean(axis=0) * squared / wanted**2}


def compare(comparison, available, startup):
    """Run all sides and print their table; return whether all agree."""
    first, *_ = comparison.fits
    ours, unit = run_ours(comparison, first, startup)
    sides = {f"pyrjsel, {first}": ours}
    for sampler in list(comparison.fits)[1:]:
        sides[f"pyrjsel, {sampler}"] = run_ours(comparison, sampler, startup)[0]
    for name, (peer, runs, settings) in comparison.rivals.items():
        if peer in available:
            sides[name] = run_peer(available[peer], comparison.data, runs, settings)
    centre = ours.estimates.mean()
    chosen = centre.index if comparison.answer == "means" else (centre - 0.5).abs().nsmallest(12).index
    wanted = WANTED[comparison.answer]
    what = "least seconds" if wanted is None else f"seconds to {wanted:g}"
    rows, agreed = {}, True
    for name, runs in sides.items():
        row = row_of(runs, unit, comparison, chosen)
        compared = row.pop("compared")
        rows[name] = {key: written(value) for key, value in row.items()} | {what: written(compared)}
        if runs is ours:
            base = compared
            continue
        said, same = agreement(runs, ours, unit, comparison.answer)
        rows[name] |= said | {"ratio": written(compared / base) if same else "DIFFERS"}
        agreed &= same
    print(f"\n{comparison.title}")
    print(pd.DataFrame(rows).T.fillna("").to_string(), flush=True)
    return agreed


def written(value):
    """Return a number, or a pair of processor and clock, in three digits."""
    numbers = np.atleast_1d(value)
    return f"{numbers[0]:.3g}" + (f" ({numbers[1]:.3g})" if numbers.size == 2 else "")


def main(python):
    # Short runs may say that they are short: their errors are taken from how far they are apart.
    warnings.simplefilter("ignore", rj.ConvergenceWarning)
    available = {}
    for name, peer in peers(python).items():
        version, reason = peer.found()
        if version is None:
            print(f"{name} is left out: {reason}\n    to install it: {peer.install}")
        else:
            print(f"{name} {version}")
            available[name] = peer
    if not available:
        raise SystemExit("there is nothing to compare with")
    print(f"pyrjsel {rj.__version__} in Python {platform.python_version()}, numpy {np.__version__}")
    print(f"{date.today()}, {processor_name()}, {os.cpu_count()} cores; all runs on one core")
    print("Times are in the processor, by the clock in brackets. Ratios are to our first row.")
    startup, agreed = seconds_of_import(), True
    with threadpool_limits(1):
        for comparison in comparisons():
            if any(peer in available for peer, *_ in comparison.rivals.values()):
                agreed &= compare(comparison, available, startup)
    print(f"\nload average {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    if not agreed:
        raise SystemExit("answers differ by more than their errors")


def processor_name():
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
