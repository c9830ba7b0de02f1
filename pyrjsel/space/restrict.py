"""From a prior over models to the same prior over the models of fewer terms."""

from collections.abc import Collection, Sequence

from pyrjsel.space.priors import Bernoulli, CostAdjusted, ModelPrior, Uniform


def restrict_prior(prior: ModelPrior, names: Sequence[str], keep: Collection[str]) -> ModelPrior:
    """Return a prior over models for some of the terms: what it says of single terms goes with them.

    Parameters
    ----------
    prior : ModelPrior
        A prior over the models of all terms.
    names : sequence of str
        Names of the J terms.
    keep : collection of str
        Names of those that are kept.

    Returns
    -------
    ModelPrior
        The prior itself if it says nothing of single terms; a size that it has is then one of the kept terms.

    Examples
    --------
    >>> from pyrjsel.space import Bernoulli, restrict_prior
    >>> restrict_prior(Bernoulli([0.1, 0.2, 0.3]), ["age", "sbp", "bun"], ["age", "bun"])
    Bernoulli(p=(0.1, 0.3))
    """
    if isinstance(prior, CostAdjusted):
        return CostAdjusted({name: cost for name, cost in prior.costs if name in keep})
    if not (isinstance(prior, Bernoulli) and isinstance(prior.p, tuple) and prior.p):
        return prior
    if not isinstance(prior.p[0], tuple):
        return Bernoulli([p for name, p in zip(names, prior.p, strict=True) if name in keep])
    named = {name: p for name, p in prior.p if name in keep}
    # Where no name is left no term is free, and there is one model.
    return Bernoulli(named) if named else Uniform()
