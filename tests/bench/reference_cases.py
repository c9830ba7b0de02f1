"""The data of the default fits' benchmark, made from fixed seeds, and reference inclusion probabilities."""

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

EFFECTS = [0.35, -0.30, 0.28, -0.25, 0.22, 0.20, -0.18, 0.16, 0.15, -0.13]
LINEAR_EFFECTS = [0.40, -0.35, 0.30, -0.25, 0.22, 0.20, -0.18, 0.16, 0.15, -0.13]
# Terms of ten blocks, and the correlations within each of what lies behind its columns.
BLOCKS = [10, 10, 9, 9, 9, 8, 8, 8, 6, 6]
CORRELATIONS = [0.65, 0.60, 0.55, 0.50, 0.45, 0.40, 0.35, 0.30, 0.20, 0.0]


def latent(rng, n, blocks):
    """Return normal columns (n, J): block by block a factor of its own, and one that all share."""
    z, at = np.empty((n, sum(blocks))), 0
    common = rng.standard_normal(n)
    for size, correlation in zip(blocks, CORRELATIONS, strict=True):
        factor = rng.standard_normal(n)
        loading = np.clip(np.sqrt(correlation) * rng.uniform(0.8, 1.15, size=size), 0, 0.95)
        own = np.sqrt(1 - loading**2) * rng.standard_normal((n, size))
        z[:, at : at + size] = 0.15 * common[:, None] + np.sqrt(1 - 0.15**2) * (
            loading * factor[:, None] + own
        )
        at += size
    return z


def observed(rng, z, kind):
    """Return a column: binary ("b"), ordinal with three values ("o"), or as it is ("c")."""
    if kind == "b":
        return (z > norm.ppf(1 - rng.uniform(0.05, 0.40))).astype(float)
    if kind == "o":
        low = rng.uniform(-0.3, 0.9)
        return (z > low).astype(float) + (z > low + rng.uniform(0.6, 1.1))
    return (z - z.mean()) / z.std()


def binary_rows(n=2532, seed=20240701):
    """Return a binary response, 16 % of it 1, and 83 standardised columns in correlated blocks."""
    rng = np.random.default_rng(seed)
    kinds = np.array(["b"] * 37 + ["o"] * 29 + ["c"] * 17)
    kinds = kinds[rng.permutation(kinds.size)]
    z = latent(rng, n, BLOCKS)
    x = np.column_stack([observed(rng, z[:, k], kind) for k, kind in enumerate(kinds)])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    block = np.repeat(np.arange(len(BLOCKS)), BLOCKS)
    beta = np.zeros(kinds.size)
    beta[[rng.choice(np.flatnonzero(block == b)) for b in range(len(BLOCKS))]] = EFFECTS
    eta = x @ beta
    level = brentq(lambda a: (1 / (1 + np.exp(-(a + eta)))).mean() - 0.16, -6, 2)
    while True:
        y = (rng.random(n) < 1 / (1 + np.exp(-(level + eta)))).astype(int)
        if abs(y.mean() - 0.16) < 0.003:
            break
    names = [f"x{k + 1:02d}_{kind}" for k, kind in enumerate(kinds)]
    return y, pd.DataFrame(x, columns=names)


def linear_rows(n, terms, seed):
    """Return a response with ten modest effects and columns whose neighbours have correlation 0.6."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, terms))
    x = np.empty((n, terms))
    x[:, 0] = noise[:, 0]
    for j in range(1, terms):
        x[:, j] = 0.6 * x[:, j - 1] + 0.8 * noise[:, j]
    beta = np.zeros(terms)
    beta[np.sort(rng.choice(terms, 10, replace=False))] = LINEAR_EFFECTS
    y = x @ beta + rng.standard_normal(n)
    names = [f"x{j + 1}" for j in range(terms)]
    return y - y.mean(), pd.DataFrame((x - x.mean(axis=0)) / x.std(axis=0), columns=names)


# Inclusion probabilities, the twelve nearest to one half. Those of other packages are pooled over long runs
# of several exact ones: standard errors 0.001 (logit_ind) and 0.0001 (linear models).
REFERENCES = {
    "logit_ind": {
        "x11_b": 0.559026, "x79_b": 0.614954, "x50_o": 0.376844, "x55_b": 0.301031, "x74_b": 0.282911,
        "x57_o": 0.220103, "x17_b": 0.167248, "x71_o": 0.158367, "x42_o": 0.15464, "x62_c": 0.151923,
        "x40_b": 0.146777, "x38_o": 0.139337,
    },
    # Of this package: fit(sampler="collapsed", rng=77, mcse=0.0011), 3,200 draws a chain, MCSE 0.0009.
    "logit_g": {
        "x11_b": 0.5412, "x79_b": 0.6105, "x50_o": 0.3652, "x55_b": 0.2947, "x74_b": 0.2784,
        "x57_o": 0.2207, "x71_o": 0.1565, "x62_c": 0.1498, "x42_o": 0.1447, "x17_b": 0.1446,
        "x40_b": 0.1397, "x81_o": 0.1335,
    },
    "lin500_g": {
        "x57": 0.370816, "x189": 0.21525, "x188": 0.191586, "x58": 0.178191, "x197": 0.130225,
        "x163": 0.911011, "x185": 0.0811173, "x198": 0.0674242, "x119": 0.0538346, "x187": 0.041738,
        "x164": 0.0401892, "x186": 0.0393859,
    },
    "lin500_zs": {
        "x57": 0.516151, "x189": 0.286138, "x188": 0.267739, "x197": 0.250893, "x58": 0.219313,
        "x119": 0.135111, "x198": 0.134598, "x185": 0.1252, "x38": 0.0931125, "x163": 0.924911,
        "x186": 0.0639738, "x150": 0.0613738,
    },
    "linbig_g": {
        "x4480": 0.280373, "x1404": 0.129417, "x2085": 0.915431, "x4678": 0.041286, "x2564": 0.0375489,
        "x1052": 0.0205018, "x1998": 0.0160872, "x4699": 0.0128444, "x1177": 0.0115367, "x1405": 0.00920905,
        "x2170": 0.00880049, "x4518": 0.00803031,
    },
}  # fmt: skip
