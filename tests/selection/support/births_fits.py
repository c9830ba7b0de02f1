"""The model that tests of results look at: low birth weights, a factor among four terms, and costs."""

import warnings

import pyrjsel as rj

FORMULA = "low ~ age + lwt + race + smoke"
COSTS = {"age": 1.0, "lwt": 2.0, "race": 0.5, "smoke": 0.5}


def fit(model, **options):
    """Fit with warnings of chains that are too short for the purpose left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**{"rng": 1, "progress": False, **options})
