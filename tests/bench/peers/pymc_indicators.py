"""Inclusion probabilities of a logistic model by PyMC: normal coefficients times Bernoulli indicators.

The steps are of PyMC's own choice, NUTS for the coefficients and Gibbs steps for the indicators, compiled by
numba (faster here than PyMC's C). Times are from the first iteration to the last, so that those of building
and compiling the model are left out.
"""

import sys
import time

import numpy as np
import pandas as pd
import pymc as pm

source, target, runs, mean, sd, scale, burn_in, draws = sys.argv[1:]
data = pd.read_csv(source)
y, x = data["y"].to_numpy(), data.drop(columns="y")


def run(seed):
    """Return seconds, and the shares of draws that include each column."""
    moments = []
    found = pm.sample(
        int(draws),
        tune=int(burn_in),
        chains=1,
        cores=1,
        random_seed=seed,
        progressbar=False,
        compute_convergence_checks=False,
        compile_kwargs={"mode": "NUMBA"},
        callback=lambda trace, draw: moments.append((time.perf_counter(), time.process_time())),
    )
    clock, processor = np.subtract(moments[-1], moments[0])
    shares = found.posterior["included"].mean(("chain", "draw")).to_numpy()
    return {"clock": clock, "processor": processor, **dict(zip(x.columns, shares, strict=True))}


with pm.Model():
    intercept = pm.Normal("intercept", float(mean), float(sd))
    coefficients = pm.Normal("coefficients", 0.0, float(scale), shape=x.shape[1])
    included = pm.Bernoulli("included", 0.5, shape=x.shape[1])
    pm.Bernoulli("y", logit_p=intercept + pm.math.dot(x.to_numpy(), coefficients * included), observed=y)
    rows = [run(seed) for seed in range(int(runs))]
pd.DataFrame(rows).to_csv(target, index=False)
