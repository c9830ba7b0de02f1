"""When draws changed last, by kind of fit; as a program, it writes ``draws.json`` again.

Long pages are not run by the tests: whoever changes draws runs them again. To notice that, a figure of each
small fit of ``fits.py`` is kept with the time since which it has been the same:

    python tests/saved/drawn.py
"""

import importlib.util
import json
import warnings
from datetime import UTC, datetime
from math import isclose
from pathlib import Path

import numpy as np

import pyrjsel as rj

HERE = Path(__file__).parent
FILE = HERE / "draws.json"
_spec = importlib.util.spec_from_file_location("saved_fits", HERE / "fits.py")
fits = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fits)

# Sums of products may differ between machines in their last digits, and so may these figures.
TOLERANCE = 1e-6


def collapsed():
    """The sampler of linear models with many terms, of which no file is kept."""
    model = rj.linear("lwt ~ age + smoke + ht + race + ftv + ptl", fits.births())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return model.fit(sampler="collapsed", **fits.SHORT)


def figure(results):
    """Return one number that other draws would not give."""
    if isinstance(results, rj.KernelResults):
        known = results.n_kernels
    elif results.sampler == "enumerate":
        known = results.inclusion["posterior"]
    else:
        return float(np.mean(results.draws.log_posterior))
    return float(known.to_numpy() @ np.sqrt(np.arange(1, len(known) + 1)))


def figures():
    """Return the figure of every kind of fit."""
    return {name: figure(fits.make(name)[1]) for name in fits.FITS} | {
        "linear collapsed": figure(collapsed())
    }


def changed(kept, found):
    """Return the kinds whose figures are not the kept ones."""
    return [
        name
        for name, value in found.items()
        if name not in kept or not isclose(kept[name]["figure"], value, rel_tol=TOLERANCE)
    ]


if __name__ == "__main__":
    kept, found = json.loads(FILE.read_text()) if FILE.exists() else {}, figures()
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    new = changed(kept, found)
    kept = {name: {"figure": found[name], "since": now} if name in new else kept[name] for name in found}
    FILE.write_text(json.dumps(kept, indent=1) + "\n")
    print("changed:", ", ".join(new) or "nothing")
