"""Two runs of the campaign side by side: `python compare.py before.csv after.csv`."""

import sys

import numpy as np
import pandas as pd


def read(path):
    """Return the fits of a run by family and set, with their seconds."""
    table = pd.read_csv(path, keep_default_na=True)
    table["seconds"] = table["build"] + table["fit"]
    return table.set_index(["family", "set"])


def main(before, after):
    old, new = read(before), read(after)
    both = old.add_suffix("_a").join(new.add_suffix("_b"), how="inner")
    print(f"{len(both)} fits in both, {len(old) - len(both)} only before, {len(new) - len(both)} only after")
    rows = {}
    for family, part in both.groupby(level=0, sort=False):
        done = part.dropna(subset=["seconds_a", "seconds_b"])
        ratio = done["seconds_b"] / done["seconds_a"]
        rows[family] = {
            "sets": len(part),
            "done": f"{part['seconds_a'].count()} {part['seconds_b'].count()}",
            "seconds": f"{done['seconds_a'].sum():.1f} {done['seconds_b'].sum():.1f}",
            "ratio": f"{np.exp(np.log(ratio).mean()):.2f}",
            "slower by half": int((ratio > 1.5).sum()),
            "faster by a third": int((ratio < 1 / 1.5).sum()),
            "converged": f"{(part['converged_a'] == True).sum()} {(part['converged_b'] == True).sum()}",  # noqa: E712
            "rms z": " ".join(f"{pooled(part, side):.2f}" for side in "ab"),
            "max |z|": f"{part['worst_a'].abs().max():.1f} {part['worst_b'].abs().max():.1f}",
        }
    print(pd.DataFrame(rows).T.to_string())
    shown = ["status", "sampler", "seconds", "draws", "mcse", "converged", "worst"]
    changed = both[[differs(fit) for fit in both.to_dict("records")]]
    print(f"\n{len(changed)} fits differ in more than a little time")
    if len(changed):
        print(changed[[f"{name}_{side}" for name in shown for side in "ab"]].to_string(na_rep="-"))


def pooled(part, side):
    """Return the root mean square of all z of a run."""
    z = part.dropna(subset=[f"rms_{side}"])
    terms = z[f"z_terms_{side}"]
    return np.sqrt((z[f"rms_{side}"] ** 2 * terms).sum() / terms.sum()) if len(z) else np.nan


def differs(fit):
    """Whether two fits of a set differ in their outcome, or by half of the time and half a second."""
    if any(str(fit[f"{name}_a"]) != str(fit[f"{name}_b"]) for name in ("status", "sampler", "converged")):
        return True
    slow, fast = sorted([fit["seconds_a"], fit["seconds_b"]], reverse=True)
    if slow > 1.5 * fast and slow - fast > 0.5:
        return True
    return max(abs(fit["worst_a"]), abs(fit["worst_b"])) > 4


if __name__ == "__main__":
    main(*sys.argv[1:])
