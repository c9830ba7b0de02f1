"""Options of ``fit``, by sampler."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from pyrjsel._validate import check_choice, check_int, unknown_option
from pyrjsel.kernel.samplers.mcmc import THIN, USUAL
from pyrjsel.runtime import AUTO

SAMPLERS = ("smc", "mcmc")
ORDERS = ("random", "given")
EVIDENCE = ("tempering", "stream")

# Those that are settings of the loop, which checks them, by sampler.
LOOP = {
    "smc": ("particles", "move_fraction", "ess_threshold", "resampling", "importance", "rejuvenate"),
    "mcmc": ("rejuvenate",),
}


@dataclass(frozen=True)
class FilterOptions:
    """Options of ``fit(sampler="smc")`` beside those of the loop.

    Attributes
    ----------
    row_order : {"random", "given"}
        Order in which rows are taken.
    runs : int
        Independent runs; the first is the result, and all give the error of the log evidence.
    evidence : {"tempering", "stream"}
        How widths are compared: by tempering, or by the evidence of the passes.
    """

    row_order: str = "random"
    runs: int = 1
    evidence: str = "tempering"

    def __post_init__(self) -> None:
        check_choice(self.row_order, "row_order", ORDERS)
        check_int(self.runs, "runs", low=1)
        check_choice(self.evidence, "evidence", EVIDENCE)


@dataclass(frozen=True)
class ChainOptions:
    """Options of ``fit(sampler="mcmc")``, as everywhere in the package.

    Attributes
    ----------
    draws : "auto" or int
    mcse : float
        In posterior deviations.
    max_draws, chains : int
    max_seconds : float or None
    burn_in, thin : int or None
    """

    draws: int | str = AUTO
    mcse: float = USUAL.mcse
    max_draws: int = USUAL.max_draws
    max_seconds: float | None = None
    burn_in: int | None = None
    thin: int | None = None
    chains: int = 4

    @property
    def step(self) -> int:
        """Every so many iterations are kept."""
        if self.thin is not None:
            return self.thin
        return THIN if isinstance(self.draws, str) else 1


Options = FilterOptions | ChainOptions


def choose(
    sampler: object, options: Mapping[str, Any], fit: Callable[..., object]
) -> tuple[Options, dict[str, Any]]:
    """Return the options of a sampler, and those of its loop.

    Raises
    ------
    ParameterError
        If the sampler is not known, or an option is out of range.
    UnknownNameError
        If the sampler has no such option.
    """
    sampler = str(check_choice(sampler, "sampler", SAMPLERS))
    kind: type[Options] = FilterOptions if sampler == "smc" else ChainOptions
    loop = LOOP[sampler]
    own = [field.name for field in fields(kind)]
    for name in options:
        if name not in own and name not in loop:
            known = [*own, *loop]
            raise unknown_option(name, f"for sampler={sampler!r}", known, fit)
    chosen = kind(**{name: value for name, value in options.items() if name in own})
    return chosen, {name: value for name, value in options.items() if name in loop}
