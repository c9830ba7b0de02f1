"""The options of the samplers of pattern models, and what is usual."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyrjsel._called import named
from pyrjsel._validate import check_choice, check_int, check_real, unknown_option
from pyrjsel.patterns.problem import PatternProblem
from pyrjsel.runtime import Accuracy

SAMPLERS = ("auto", "interweaving", "slice")
# Those of Li and Neal (2008) are 4,000 iterations in all: 250 draws, every 10th after a burn-in of 1,500.
# Interweaving forgets its start within some hundred iterations.
THIN = 10
BURN_IN = {"slice": 1500, "interweaving": 500}
# Default accuracy of automatic runs. Errors are in posterior deviations: 0.05
# is 400 effective draws of each scale. All draws are kept; 1,500 take some 5 times the work of 250.
USUAL = Accuracy(mcse=0.05, max_draws=1500)

# Updates of an iteration and how often each is made.
Plan = list[tuple[str, int]]


@dataclass(frozen=True)
class SliceOptions:
    """Options of ``fit(sampler="slice")``: the scheme of Li and Neal (2008).

    Attributes
    ----------
    width : float
        Of a step of a sum of coefficients.
    sigma_width : float
        Of a step of log sigma_o.
    steps : int
        Most steps of a slice.
    sigma_updates : int
        Updates of each log sigma_o an iteration.
    """

    width: float = 5.0
    sigma_width: float = 0.5
    steps: int = 10
    sigma_updates: int = 50

    def __post_init__(self) -> None:
        check_real(self.width, "width", low=0, open_low=True)
        check_real(self.sigma_width, "sigma_width", low=0, open_low=True)
        check_int(self.steps, "steps", low=1)
        check_int(self.sigma_updates, "sigma_updates", low=1)

    def plan(self, problem: PatternProblem) -> Plan:
        """Return the updates of an iteration."""
        return [("steps", 1), ("centred", self.sigma_updates)]


@dataclass(frozen=True)
class InterweavingOptions:
    """Options of ``fit(sampler="interweaving")``.

    An iteration updates each sum by a slice on a circle, the sums of a sequence given the predictors at the
    leaves of their tree, and each log sigma_o given the sums and given the sums over their scales, so that
    ancillary and sufficient parametrisations are interweaved (Yu and Meng 2011). Steps of log sigma_o are as
    wide as its prior deviation.

    Attributes
    ----------
    steps : int
        Most steps of a slice of log sigma_o.
    sigma_updates : int
        Updates of both kinds of each log sigma_o an iteration.
    """

    steps: int = 10
    sigma_updates: int = 1

    def __post_init__(self) -> None:
        check_int(self.steps, "steps", low=1)
        check_int(self.sigma_updates, "sigma_updates", low=1)

    @property
    def width(self) -> float:
        """Of no consequence: sums are not stepped out."""
        return 1.0

    @property
    def sigma_width(self) -> None:
        """The deviation of log sigma_o under its prior."""
        return

    def plan(self, problem: PatternProblem) -> Plan:
        """Return the updates of an iteration; there are trees of sequences alone."""
        paths = [] if problem.parent is None else [("paths", 1)]
        return [("turns", 1), *paths, *([("centred", 1), ("scaled", 1)] * self.sigma_updates)]


Options = SliceOptions | InterweavingOptions
OPTIONS: dict[str, type[Options]] = {"slice": SliceOptions, "interweaving": InterweavingOptions}


def choose(sampler: object, options: Mapping[str, Any], fit: Callable[..., object]) -> tuple[str, Options]:
    """Return the sampler that ``sampler`` stands for, and its options.

    ``"auto"`` is interweaving: it has many times the effective draws a second of the slice sampler.

    Raises
    ------
    ParameterError
        If the sampler is not known, or an option is out of range.
    UnknownNameError
        If the sampler has no such option.
    """
    check_choice(sampler, "sampler", SAMPLERS)
    name = "interweaving" if sampler == "auto" else str(sampler)
    kind = OPTIONS[name]
    for option in options:
        if option not in kind.__dataclass_fields__:
            known = kind.__dataclass_fields__
            raise unknown_option(option, f"for sampler={name!r}", known, fit)
    with named(f"sampler={name!r}"):
        return name, kind(**options)
