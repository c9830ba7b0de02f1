"""Options of the samplers of pattern models, and default run lengths."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyrjsel._called import named
from pyrjsel._validate import check_choice, check_int, check_real, unknown_option
from pyrjsel.patterns.groups import PatternProblem
from pyrjsel.runtime import Accuracy

SAMPLERS = ("auto", "interweaving", "slice")
# Li and Neal (2008) run 4,000 iterations: 250 draws with thinning interval 10 after a burn-in of 1,500.
# Interweaving forgets its initial state within a few hundred iterations.
THIN = 10
BURN_IN = {"slice": 1500, "interweaving": 500}
# Default accuracy of automatic runs, in posterior standard deviations: 0.05 takes 400 effective draws of
# each scale. All draws are held in memory; 1,500 take about 5 times as long as 250.
USUAL = Accuracy(mcse=0.05, max_draws=1500)

# Updates of an iteration, each with its number of repetitions.
Plan = list[tuple[str, int]]


@dataclass(frozen=True)
class SliceOptions:
    """Options of ``fit(sampler="slice")``: the scheme of Li and Neal (2008).

    Attributes
    ----------
    width : float
        Initial width of the slice for a sum of coefficients.
    sigma_width : float
        Initial width of the slice for log sigma_o.
    steps : int
        Largest number of stepping-out steps.
    sigma_updates : int
        Updates of each log sigma_o per iteration.
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

    An iteration updates each sum by slice sampling on a circle; the sums of a sequence model also jointly,
    given the linear predictors at the leaves of their tree; and each log sigma_o given the sums and given the
    standardised sums, which interweaves the centred and non-centred parametrisations (Yu and Meng 2011). The
    initial width of the slice for log sigma_o is its prior standard deviation.

    Attributes
    ----------
    steps : int
        Largest number of stepping-out steps for log sigma_o.
    sigma_updates : int
        Updates of each log sigma_o per iteration, in both parametrisations.
    """

    steps: int = 10
    sigma_updates: int = 1

    def __post_init__(self) -> None:
        check_int(self.steps, "steps", low=1)
        check_int(self.sigma_updates, "sigma_updates", low=1)

    @property
    def width(self) -> float:
        """Unused: sums are updated without stepping out."""
        return 1.0

    @property
    def sigma_width(self) -> None:
        """None: the prior standard deviation of log sigma_o."""
        return

    def plan(self, problem: PatternProblem) -> Plan:
        """Return the updates of an iteration; only sequence models have trees."""
        paths = [] if problem.parent is None else [("paths", 1)]
        return [("turns", 1), *paths, *([("centred", 1), ("scaled", 1)] * self.sigma_updates)]


Options = SliceOptions | InterweavingOptions
OPTIONS: dict[str, type[Options]] = {"slice": SliceOptions, "interweaving": InterweavingOptions}


def choose(sampler: object, options: Mapping[str, Any], fit: Callable[..., object]) -> tuple[str, Options]:
    """Return the name of the sampler and its options.

    ``"auto"`` is interweaving, which has many times as many effective draws per second as the slice sampler.

    Raises
    ------
    ParameterError
        If the sampler is unknown, or an option is out of range.
    UnknownNameError
        If the sampler does not have an option.
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
