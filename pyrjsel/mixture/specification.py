"""User-specified settings of a model, and their values on the training data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pyrjsel._called import warn
from pyrjsel._errors import PyrjselWarning
from pyrjsel._validate import check_choice, check_real
from pyrjsel.design import InputDesign, InputRows
from pyrjsel.mixture.options import PROPOSALS
from pyrjsel.mixture.priors import LEAST_SHAPE, KernelPrior, MixturePrior
from pyrjsel.mixture.problem import TARGETS, Scaling
from pyrjsel.mixture.validation import (
    check_background,
    check_components,
    check_prior,
    labelled,
    observed,
)
from pyrjsel.model_space import BetaBinomial, ModelPrior, ModelSpace, check_bounds, named_costs
from pyrjsel.results import constraints_to_plain
from pyrjsel.storage import Plain

# Concentrations of class weights. Given inputs, small ones predict labels better in the examples of the page.
WEIGHT_PRIOR = {"labels": 0.1, "joint": 1.0}


@dataclass(frozen=True)
class Choices:
    """Parameters of :class:`MixtureClassifier`, as they were given."""

    components: int | Sequence[int] | None
    target: str
    background: str | None
    model_prior: ModelPrior | None
    proposal: str
    prior: KernelPrior | MixturePrior | None
    weight_prior: float | None
    costs: Mapping[str, float] | pd.Series | None
    budget: float | None
    always: str | Iterable[str]
    max_size: int | None


@dataclass(frozen=True, eq=False)
class Constrained:
    """A space of subsets of inputs, with what it was made of.

    Attributes
    ----------
    model_prior : ModelPrior
    space : ModelSpace
    constraints : dict
        Copies of what was given, as files and checkpoints know them.
    """

    model_prior: ModelPrior
    space: ModelSpace
    constraints: dict[str, Plain]

    @classmethod
    def of(
        cls,
        design: InputDesign,
        rows: Any,
        model_prior: ModelPrior | None,
        costs: Any,
        budget: float | None,
        always: str | Iterable[str],
        max_size: int | None,
        known: Sequence[Any],
    ) -> "Constrained":
        """Return the space of the inputs of a design; `known` are the columns that may have prices."""
        prior = BetaBinomial(1, 1) if model_prior is None else model_prior
        columns = [str(name) for name in known]
        space = ModelSpace.build(
            design.terms,
            prior=prior,
            always=always,
            costs=costs,
            budget=budget,
            max_size=max_size,
            data_columns=columns,
            n_observations=float(rows.n),
        )
        fixed = [name for name, free in zip(space.names, space.free, strict=True) if not free]
        constraints = constraints_to_plain(costs, budget, fixed, max_size, columns)
        return cls(prior, space, constraints)


@dataclass(frozen=True, eq=False)
class Specification:
    """The user's settings, evaluated on the training data.

    Attributes
    ----------
    design : InputDesign
        Inputs with at least two different values.
    data : InputRows
        Observations with at least one input; given the inputs, labelled ones only.
    left_out : tuple of str
        Constant or wholly missing inputs.
    scaling : Scaling
    components : tuple of int
        Numbers of kernels to compare.
    target : {"labels", "joint"}
    background : {"gaussian", "independent", None}
        None for ``target="labels"``, which has no density of the inputs.
    proposal : {"conditional", "prior"}
    prior : KernelPrior or MixturePrior
        Of the labels target and of the joint target.
    weight_prior : float
        Concentration of the Dirichlet prior of class weights.
    subsets : Constrained
    """

    design: InputDesign
    data: InputRows
    left_out: tuple[str, ...]
    scaling: Scaling
    components: tuple[int, ...]
    target: str
    background: str | None
    proposal: str
    prior: KernelPrior | MixturePrior
    weight_prior: float
    subsets: Constrained


def specify(choices: Choices, design: InputDesign, rows: InputRows, known: tuple[Any, ...]) -> Specification:
    """Check the settings and evaluate them on the training data.

    Raises
    ------
    DataError, ParameterError, UnknownNameError
        As for :class:`MixtureClassifier`.

    Warns
    -----
    PyrjselWarning, MissingDataWarning
        As for :class:`MixtureClassifier`.
    """
    target = str(check_choice(choices.target, "target", TARGETS))
    background = check_background(choices.background, target)
    proposal = str(check_choice(choices.proposal, "proposal", PROPOSALS))
    prior = check_prior(choices.prior, target)
    given = WEIGHT_PRIOR[target] if choices.weight_prior is None else choices.weight_prior
    weight_prior = check_real(given, "weight_prior", low=LEAST_SHAPE)
    if target == "labels":
        rows = labelled(rows)
    design, data, left_out = observed(design, rows)
    if isinstance(prior, MixturePrior):
        prior.surplus(len(design.names))
    components = check_components(choices.components, data.n, len(design.classes))
    if background is None and target == "joint":
        warn(
            "Without a background subsets of different size are compared by densities in the units of "
            "the inputs: the posterior over subsets depends on these units.",
            PyrjselWarning,
        )
    scaling = Scaling.of(data.X, design.names)
    subsets = Constrained.of(
        design,
        data,
        choices.model_prior,
        named_costs(choices.costs, known),
        choices.budget,
        choices.always,
        choices.max_size,
        known,
    )
    check_bounds(subsets.space)
    return Specification(
        design,
        data,
        left_out,
        scaling,
        components,
        target,
        background,
        proposal,
        prior,
        weight_prior,
        subsets,
    )
