"""Default fits of data sets that nobody chose, for all families (`make campaign`).

Prints a line for each fit and a table of families at the end. Each fit is that of `fit(rng=1)`, in a process
of its own with a limit of processor time. Seconds are those of the processor, without imports. Where a fit
samples and there are few enough models, its inclusion probabilities are compared with those of an
enumeration, which is kept in a folder for later runs; with `--reference`, others are compared with a long run
of another sampler. z is a difference over its Monte Carlo error, which is taken to be at least 5e-4. The sum
of inclusion probabilities less the mean number of terms in the models visited (`gap`) needs no reference.
"""

import argparse
import hashlib
import importlib
import multiprocessing
import os
import pkgutil
import resource
import signal
import time
import warnings
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np
import pandas as pd
import rules
import sources
from threadpoolctl import threadpool_limits

import pyrjsel as rj

VERSION = 1  # of what is kept of enumerations: change it with models or priors
FLOOR = 5e-4  # least Monte Carlo error of an inclusion probability
ROOM = {"kernel": "kernel_regression", "mixture": "mixture_classifier", "patterns": "pattern_logit"}
FACTS = ["family", "set", "status", "rows", "terms", "columns", "models", "build", "fit", "sampler", "draws"]
COLUMNS = [
    *FACTS,
    "mcse",
    "gap",
    "acceptance",
    "converged",
    "reference",
    "worst",
    "over2",
    "rms",
    "z_terms",
    "warnings",
]


# ------------------------------------------------------------------ in a process of its own


def rows_of(line, data):
    """Return the rows of a line of the list."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = rules.tidy(sources.read(line["set"], data))
        return rules.prepared(frame, line["family"], line["response"], line["event"])


def model_of(family, rows):
    """Return the default model of a family."""
    if family == "student":
        return rj.linear("y ~ .", rows, errors="student")
    if family == "cox":
        return rj.cox("y ~ .", rows, event="event")
    formula = "y ~ interactions(.)" if family == "patterns" else "y ~ ."
    return getattr(rj, ROOM.get(family, family))(formula, rows)


def fitted(line, data):
    """Return the measurements of a default fit, and its inclusion probabilities if it has some."""
    family, rows = line["family"], rows_of(line, data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begun = time.process_time()
        model = model_of(family, rows)
        built = time.process_time()
        results = model.fit(rng=1, n_jobs=1, progress=False)
        ended = time.process_time()
    said = dict.fromkeys(f"{w.category.__name__}: {str(w.message)[:80]}" for w in caught)
    made = {"build": built - begun, "fit": ended - built, "sampler": results.sampler}
    made["converged"] = not any(issubclass(w.category, rj.ConvergenceWarning) for w in caught)
    made["warnings"] = " | ".join(said)
    terms = getattr(results, "inclusion", None)
    figures = results.diagnostics
    if "draws" in figures and family != "patterns":
        made["draws"] = int(figures["draws"].iloc[0])
    names = [name for name in figures if name.startswith("acceptance")]
    names = [name for name in names if "surrogate" in name] or names[:1]
    made["acceptance"] = float(figures[names[0]].iloc[-1]) if names else np.nan
    made["columns"] = getattr(model.data, "X", rows.drop(columns="y")).shape[1]
    if terms is None:
        # Of patterns, the largest error of a scale or the log posterior in posterior standard deviations.
        made["mcse"] = float((figures["mcse"] / figures["sd"]).max()) if "mcse" in figures else np.nan
        return made, None
    made["models"] = 2.0 ** len(terms)
    made["mcse"] = float(terms["mcse"].max())
    sizes = getattr(results, "sizes", None)
    if sizes is not None:
        made["gap"] = float(terms["posterior"].sum() - sizes.index.to_numpy() @ sizes["posterior"])
    return made, terms[["posterior", "mcse"]]


def long_run(line, data, **options):
    """Return inclusion probabilities by another sampler, with their errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = model_of(line["family"], rows_of(line, data)).fit(
            rng=2, n_jobs=1, progress=False, **options
        )
    return results.inclusion[["posterior", "mcse"]]


def child(pipe, limit, work, arguments):
    """Send what the work returns, or its error, within a limit of processor seconds."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 5))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with threadpool_limits(1):
            pipe.send((work(*arguments), None))
    except Exception as error:  # noqa: BLE001 - the line of the fit says what it was
        pipe.send((None, f"{type(error).__name__}: {str(error)[:160]}"))


# ------------------------------------------------------------------ processes


def in_processes(jobs, workers):
    """Run jobs (key, limit, work, arguments) in processes; yield keys, what came back, and errors."""
    context, running, jobs = multiprocessing.get_context("fork"), {}, iter(jobs)
    while True:
        while len(running) < workers and (job := next(jobs, None)) is not None:
            key, limit, work, arguments = job
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=child, args=(there, limit, work, arguments))
            process.start()
            there.close()
            running[here] = key, process, time.monotonic() + 10 * limit + 60
        if not running:
            return
        for here in wait(list(running), timeout=5):
            key, process, _ = running.pop(here)
            try:
                made, error = here.recv()
            except EOFError:
                process.join()
                made, error = None, "not done" if process.exitcode == -signal.SIGXCPU else "died"
            process.join()
            yield key, made, error
        for here, (key, process, deadline) in list(running.items()):
            if time.monotonic() > deadline:  # it waits for something, and uses no processor
                process.kill()
                del running[here]
                yield key, None, "hung"


def compared(mine, other):
    """Return the figures of differences in units of their errors."""
    mine, other = mine.loc[other.index], other.fillna({"mcse": 0.0})
    error = np.hypot(mine["mcse"].fillna(0.0), other["mcse"]).clip(lower=FLOOR)
    z = ((mine["posterior"] - other["posterior"]) / error).to_numpy()
    made = {"over2": float(np.mean(abs(z) > 2)), "rms": float(np.sqrt(np.mean(z**2))), "z_terms": z.size}
    return made | {"worst": float(z[np.argmax(abs(z))])}


def reference_of(line, sampler, asked):
    """Return options of the fit that a sampled one is compared with, or None if there is to be none."""
    if line["family"] in ROOM or sampler == "enumerate":
        return None
    if 2 ** line["terms"] <= asked.models:
        return {"sampler": "enumerate"}
    if not asked.reference:
        return None
    others = {"rjmcmc": "collapsed", "collapsed": "gibbs", "gibbs": "collapsed"}
    if line["family"] != "linear":
        others["collapsed"] = others["population"] = "rjmcmc"
    limits = {"mcse": 0.001, "max_draws": 2_000_000, "max_seconds": 0.7 * asked.exact_limit}
    return {"sampler": others[sampler]} | limits


class Answers:
    """Answers of references, kept as files in a folder; of those that were not done, the limit."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, line, kind):
        mark = hashlib.sha256(f"{VERSION} {sorted(line.items())}".encode()).hexdigest()[:8]
        name = sources.short(line["set"]).replace("/", "-")
        return self.folder / f"{line['family']}-{name}-{kind}-{mark}.csv"

    def find(self, line, options, data, limit):
        """Return the answer of a fit with options: a table, or the reason why there is none."""
        path = self.path(line, options["sampler"])
        if path.exists():
            table = pd.read_csv(path, index_col=0)
            if "posterior" in table:
                return table
            if table["limit"].iloc[0] >= limit:
                return "not done"
        job = (None, limit, partial(long_run, **options), (line, data))
        ((_, table, error),) = in_processes([job], 1)
        if table is not None:
            table.to_csv(path)
        elif error == "not done":
            pd.DataFrame({"limit": [limit]}).to_csv(path)
        return error if table is None else table


# ------------------------------------------------------------------ lines and tables


def text_of(row):
    """Return the line of a fit."""
    name = f"{row['family']:<11} {row['set']:<44} n={row['rows']:<5} terms={row['terms']:<3}"
    if row["status"] != "done":
        return f"{name} {row['status'].upper()}"
    says = f"{row['build']:5.2f} + {row['fit']:6.2f} s  {row['sampler']:<10} mcse {row['mcse']:.4f}"
    if row.get("draws"):
        says += f"  {row['draws']} draws"
    if row.get("acceptance") == row.get("acceptance"):
        says += f"  accepts {row['acceptance']:.2f}"
    if "worst" in row:
        says += f"  z {row['worst']:+.1f} rms {row['rms']:.2f} ({row['reference']})"
    elif "reference" in row:
        says += f"  ({row['reference']})"
    if abs(row.get("gap", 0.0)) > 0.2:
        says += f"  SIZE: inclusion probabilities less visits {row['gap']:+.2f}"
    says += "" if row["converged"] else "  UNCONVERGED"
    return f"{name} {says}" + "".join(f"\n    {said}" for said in row["warnings"].split(" | ") if said)


def table_of(made):
    """Return the table of families, and lists of what did not converge or was slow."""
    rows, notes = {}, []
    for family, part in made.groupby("family", sort=False):
        done = part[part["status"] == "done"]
        seconds = (done["build"] + done["fit"]).to_numpy()
        over = part.loc[part["status"] == "not done"]
        whole = np.concatenate([seconds, np.full(len(over), np.inf)])
        z = done[done["z_terms"].notna()]
        row = {"sets": len(part), "done": len(done), "converged": int(done["converged"].sum())}
        if whole.size:
            ranks = np.quantile(whole, [0.5, 0.9, 0.95, 1.0], method="inverted_cdf")
            row |= dict(zip(["median", "90 %", "95 %", "worst"], ranks.round(2), strict=True))
        row |= {"> 10 s": int((whole > 10).sum()), "> 20 s": int((whole > 20).sum())}
        if len(z):
            terms = z["z_terms"].sum()
            row |= {
                "compared": len(z),
                "|z| > 2": round(float((z["over2"] * z["z_terms"]).sum() / terms), 3),
                "rms z": round(float(np.sqrt((z["rms"] ** 2 * z["z_terms"]).sum() / terms)), 2),
                "max |z|": round(float(z["worst"].abs().max()), 1),
            }
        rows[family] = row
        apart = done[done["gap"].abs() > 0.2]
        late = done[~done["converged"].astype(bool)]
        slow = done.assign(seconds=seconds)[seconds > 10].sort_values("seconds", ascending=False)
        failed = part[~part["status"].isin(["done", "not done"])]
        for title, lines in (
            ("not converged", list(late["set"])),
            ("sizes apart", list(apart["set"])),
            ("over 10 s", [f"{s} {t:.0f} s" for s, t in zip(slow["set"], slow["seconds"], strict=True)]),
            ("not done", list(over["set"])),
            ("errors", [f"{s} ({e})" for s, e in zip(failed["set"], failed["status"], strict=True)]),
        ):
            if lines:
                notes.append(f"{family}, {title}: {', '.join(lines)}")
    return pd.DataFrame(rows, dtype=object).T.fillna(""), notes


def listed(asked):
    """Return the lines of the list that are asked for."""
    table = pd.read_csv(rules.LIST, keep_default_na=False)
    if asked.family:
        table = table[table["family"].isin(asked.family.split(","))]
    if asked.only:
        table = table[table["set"].str.contains(asked.only, case=False)]
    if asked.limit:
        table = table.groupby("family", sort=False).head(asked.limit)
    return table.to_dict("records")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.environ.get("CAMPAIGN_DATA", ".venv-campaign/data")
    parser.add_argument("--data", default=here, help="folder of the data packages (CAMPAIGN_DATA)")
    parser.add_argument("--out", default="build/campaign/fits.csv", help="table of all fits")
    parser.add_argument("--answers", default="build/campaign/answers", help="folder of enumerations")
    parser.add_argument("--family", help="families, with commas between them")
    parser.add_argument("--only", help="regular expression that names of sets contain")
    parser.add_argument("--limit", type=int, help="sets of each family")
    parser.add_argument("--resume", action="store_true", help="continue the table of an interrupted run")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="limit of processor seconds of a fit")
    parser.add_argument("--exact-limit", type=float, default=600, help="the same for a reference")
    parser.add_argument("--models", type=int, default=2**14, help="most models that are enumerated")
    parser.add_argument("--reference", action="store_true", help="compare others with a long run")
    return parser.parse_args()


def imported():
    """Import all of the package, so that no fit is charged with it."""
    for module in pkgutil.walk_packages(rj.__path__, "pyrjsel."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def measured(asked, before):
    """Yield rows of fits that are not among those before as they end, with the errors against references."""
    answers = Answers(asked.answers)
    there = {(row["family"], row["set"]) for row in before}
    lines = [line for line in listed(asked) if (line["family"], sources.short(line["set"])) not in there]
    jobs = [(j, asked.seconds, fitted, (line, asked.data)) for j, line in enumerate(lines)]
    for j, made, error in in_processes(jobs, asked.workers):
        line = lines[j]
        row = {"family": line["family"], "set": sources.short(line["set"]), "status": error or "done"}
        row |= {"rows": line["rows"], "terms": line["terms"]}
        if made is None:
            yield row
            continue
        row |= made[0]
        options = reference_of(line, made[0]["sampler"], asked)
        if options is not None:
            row["reference"] = options["sampler"]
            found = answers.find(line, options, asked.data, asked.exact_limit)
            if isinstance(found, str):
                row["reference"] += f": {found}"
            else:
                row |= compared(made[1], found)
        yield row


def main():
    asked = arguments()
    imported()
    print(f"pyrjsel {rj.__version__} in {Path(rj.__file__).parent}", flush=True)
    out = Path(asked.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.read_csv(out).to_dict("records") if asked.resume and out.exists() else []
    try:
        for row in measured(asked, list(rows)):
            rows.append(row)
            print(text_of(row), flush=True)
            pd.DataFrame(rows, columns=COLUMNS).to_csv(out, index=False)
    except KeyboardInterrupt:
        print("interrupted")
    table, notes = table_of(pd.DataFrame(rows, columns=COLUMNS))
    print(f"\nSeconds of the processor, the construction of the model included\n{table.to_string()}")
    print("\n".join(notes))
    print(f"load average {', '.join(f'{load:.1f}' for load in os.getloadavg())}; all fits: {out}")


if __name__ == "__main__":
    main()
