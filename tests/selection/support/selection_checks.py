"""Scenarios, models of the package for them, and tests of estimates against their Monte Carlo errors."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats
from selection_cases import COEFFICIENT_PRIORS, FAMILIES, INTERCEPT, load, table
from selection_oracle import inclusion, model_prior

import pyrjsel as rj

# Probability with which one test of this folder fails although the sampler is right, at most. With fewer
# than a hundred such tests a run of all of them raises a false alarm with probability below 1e-4.
LEVEL = 1e-6
# Four chains of thirty batches each stand behind a Monte Carlo error (the package cuts likewise).
CHAINS, BATCHES = 4, 30
FREEDOM = CHAINS * (BATCHES - 1)


# Batch means of chains as short as those of the tests are a little too small: over forty independent runs of
# each scenario the mean square of z-scores was 1.1 on the whole. Errors are multiplied with this factor.
FACTOR = 1.2


@dataclass(frozen=True)
class Scenario:
    """A problem under a prior over coefficients, a prior over models, and constraints."""

    problem: str
    coefficients: str
    models: tuple = ("uniform",)
    constraints: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        rules = "+".join(self.constraints) or "free"
        return f"{self.problem}|{self.coefficients}|{self.models[0]}|{rules}"

    def prior(self) -> np.ndarray:
        """Return the prior probabilities of all models."""
        return model_prior(load(self.problem)[0], self.models, self.constraints)

    def posterior(self) -> np.ndarray:
        """Return the oracle's posterior probabilities of all models."""
        return table(self.problem, self.coefficients).posterior(self.prior())

    def inclusion(self) -> np.ndarray:
        return inclusion(load(self.problem)[0], self.posterior())


def coefficient_prior(name: str) -> Any:
    """Return the package's object for a prior of the oracle."""
    prior = COEFFICIENT_PRIORS[name]
    given = prior["intercept"]
    if given == INTERCEPT or given == "joint":
        intercept = None  # what the package does when nothing is said
    else:
        intercept = given if isinstance(given, str) else rj.Normal(given[1], mean=given[0])
    if prior["kind"] == "g":
        return rj.GPrior(prior["g"], intercept=intercept)
    return rj.Normal(prior["sd"], mean=prior["mean"], standardize=prior["standardize"], intercept=intercept)


def space_prior(models: tuple) -> Any:
    """Return the package's object for a prior over models of the oracle."""
    kinds = {
        "uniform": rj.Uniform,
        "bernoulli": rj.Bernoulli,
        "betabinomial": rj.BetaBinomial,
        "poisson": rj.TruncatedPoisson,
        "cost": rj.CostAdjusted,
    }
    return kinds[models[0]](*models[1:])


def build(scenario: Scenario, **changes: Any) -> rj.LogitSelection | rj.PoissonSelection:
    """Return the package's model of a scenario."""
    case = load(scenario.problem)[1]
    arguments = {
        "coef_prior": coefficient_prior(scenario.coefficients),
        "model_prior": space_prior(scenario.models),
        **case.arguments,
        **scenario.constraints,
        **changes,
    }
    make = {"binomial": rj.logit, "poisson": rj.poisson}[FAMILIES[scenario.problem.split(maxsplit=1)[0]]]
    return make(case.formula, case.frame, **arguments)


def fit(model: rj.LogitSelection | rj.PoissonSelection, **options: Any) -> rj.SelectionResults:
    """Fit without the warnings that a correct run may give.

    Every correct run has a chance of 1e-3 of a ConvergenceWarning; where it comes, the package's
    errors are larger and the tests below more lenient. Separation is part of some problems.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        warnings.simplefilter("ignore", rj.SeparationWarning)
        return model.fit(**{"chains": CHAINS, **options})


def model_names(results: rj.SelectionResults, problem: str) -> list[str]:
    """Return the models of the results, best first, as the oracle's strings."""
    names = [term.name for term in load(problem)[0].terms]
    return ["".join("1" if name in terms else "0" for name in names) for terms in results.models["terms"]]


def probabilities(results: rj.SelectionResults, problem: str, column: str = "posterior") -> np.ndarray:
    """Return a column of the table of models in the oracle's order, 0 for models that are not in it."""
    found = dict(zip(model_names(results, problem), results.models[column], strict=True))
    return np.array([found.get(model, 0.0) for model in load(problem)[0].models])


def terms_in_order(results: rj.SelectionResults, problem: str, column: str = "posterior") -> np.ndarray:
    """Return a column of the table of inclusion in the oracle's order of terms."""
    names = [term.name for term in load(problem)[0].terms]
    return results.inclusion[column].reindex(names).to_numpy()


# ---------------------------------------------------------------------- tests of estimates


def holm(p_values: np.ndarray, names: list[str], level: float = LEVEL) -> dict[str, float]:
    """Return the hypotheses that Holm's procedure rejects at `level`, with their p-values."""
    order = np.argsort(p_values)
    rejected = {}
    for rank, at in enumerate(order):
        if not p_values[at] <= level / (len(order) - rank):
            break
        rejected[names[at]] = float(p_values[at])
    return rejected


def mean_faults(gaps: np.ndarray, level: float = LEVEL) -> dict[str, float]:
    """Return the columns of independent differences (draws, k) whose means are not 0 (normal law, Holm)."""
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    z = np.divide(gaps.mean(axis=0), error, out=np.zeros(error.size), where=error > 0)
    return holm(2 * stats.norm.sf(np.abs(z)), [f"mean {k}" for k in range(z.size)], level)


def far_away(
    estimates: np.ndarray,
    truth: np.ndarray,
    errors: np.ndarray,
    names: list[str],
    *,
    freedom: float = FREEDOM,
    level: float = LEVEL,
) -> dict[str, float]:
    """Return what lies too far from the truth for its standard error (Student, Holm over all of them)."""
    estimates, truth, errors = (np.asarray(x, dtype=float) for x in (estimates, truth, errors))
    assert np.all(errors > 0), f"no errors for {np.array(names)[~(errors > 0)]}"
    z = (estimates - truth) / errors
    return holm(2 * stats.t.sf(np.abs(z), freedom), names, level)


def batch_error(values: np.ndarray) -> np.ndarray:
    """Return standard errors of means over (chains, draws, ...) by batch means, thirty a chain."""
    chains, draws = values.shape[:2]
    length = draws // BATCHES
    kept = values[:, draws - BATCHES * length :]
    means = kept.reshape(chains, BATCHES, length, *values.shape[2:]).mean(axis=2)
    return np.sqrt(means.var(axis=1, ddof=1).mean(axis=0) / (chains * BATCHES))


def sampler_faults(
    results: rj.SelectionResults, scenario: Scenario, *, least: float = 0.02, level: float = LEVEL
) -> dict[str, float]:
    """Return what a sampler gets wrong beyond its reported errors: inclusion and model probabilities.

    Models of less than `least` posterior probability are left out: their few visits have no normal error.
    """
    problem = load(scenario.problem)[0]
    truth, posterior = scenario.inclusion(), scenario.posterior()
    free = (truth > 0.005) & (truth < 0.995)
    seen = (posterior >= least) & (posterior < 0.995)
    visited = probabilities(results, scenario.problem)
    estimates = np.concatenate([terms_in_order(results, scenario.problem)[free], visited[seen]])
    errors = np.concatenate(
        [
            terms_in_order(results, scenario.problem, "mcse")[free],
            probabilities(results, scenario.problem, "mcse")[seen],
        ]
    )
    names = [term.name for term, use in zip(problem.terms, free, strict=True) if use]
    names += [model for model, use in zip(problem.models, seen, strict=True) if use]
    # The oracle's own relative errors are below 1e-3 (tests/selection/samplers/enumeration/test_oracle.py).
    errors = np.hypot(FACTOR * errors, 1e-3 * estimates)
    return far_away(estimates, np.concatenate([truth[free], posterior[seen]]), errors, names, level=level)
