"""From a prior over models to the same prior over the models of fewer terms."""

from collections.abc import Collection

from pyrjsel.model_space.context import PriorContext
from pyrjsel.model_space.priors import Bernoulli, CostAdjusted, ModelPrior, Uniform


def restrict_prior(prior: ModelPrior, context: PriorContext, keep: Collection[str]) -> ModelPrior:
    """Return a prior over models for some of the terms: what it says of single terms goes with them.

    Parameters
    ----------
    prior : ModelPrior
        A prior over the models of all terms.
    context : PriorContext
        What there is to know of the terms.
    keep : collection of str
        Names of those that are kept.

    Returns
    -------
    ModelPrior
        The prior itself if it says nothing of single terms; a size that it has is then one of the kept terms.
        Otherwise the prior log odds of the kept terms are what they were.

    Examples
    --------
    >>> from pyrjsel.model_space import Bernoulli, CostAdjusted, PriorContext, restrict_prior
    >>> context = PriorContext(("age", "sbp", "bun"), (True,) * 3, (1,) * 3, 100.0)
    >>> restrict_prior(Bernoulli([0.1, 0.2, 0.3]), context, ["age", "bun"])
    Bernoulli(p=(0.1, 0.3))
    >>> restrict_prior(CostAdjusted({"age": 0.5, "sbp": 2, "bun": 3}), context, ["sbp", "bun"])
    CostAdjusted(costs={'sbp': 2.0, 'bun': 3.0}, baseline=0.5)
    """
    if isinstance(prior, CostAdjusted):
        return _restrict_costs(prior, context, keep)
    if not (isinstance(prior, Bernoulli) and isinstance(prior.p, tuple) and prior.p):
        return prior
    if not isinstance(prior.p[0], tuple):
        return Bernoulli(
            [p for name, p in zip(context.names, prior.p, strict=True) if name in keep], by=prior.by
        )
    named = {name: p for name, p in prior.p if name in keep}
    # Where no name is left no term is free, and there is one model.
    return Bernoulli(named, by=prior.by) if named else Uniform()


def _restrict_costs(prior: CostAdjusted, context: PriorContext, keep: Collection[str]) -> CostAdjusted:
    """Carry c_0 along: the cheapest term may go, and the others are still compared with it."""
    costs = dict(prior.costs)
    baseline = prior.baseline
    if baseline is None and context.n_free:
        baseline = min(costs[name] for name in context.free_names)
    return CostAdjusted({name: cost for name, cost in costs.items() if name in keep}, baseline)
