"""Options of ``fit``, by sampler."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyrjsel._validate import check_choice, check_int, check_real, unknown_name

SAMPLERS = ("smc", "mcmc")
ORDERS = ("random", "given")
IMPORTANCE = ("exact", "paper")
RESAMPLING = ("systematic", "stratified", "multinomial", "residual")
# Particles of a compiled loop are counted in int32.
MOST_PARTICLES = 10**8


@dataclass(frozen=True)
class FilterOptions:
    """Options of ``fit(sampler="smc")``.

    Attributes
    ----------
    particles : int
        Particles N.
    move_fraction : float
        The share c of births, and of deaths, at most, in (0, 1/2).
    row_order : {"random", "given"}
        Order in which rows are taken.
    importance : {"exact", "paper"}
        Weights of the particles; those that the paper prints are biased, and here for comparison.
    rejuvenate : int
        Reversible-jump moves of each particle after each row.
    resampling : {"systematic", "stratified", "multinomial", "residual"}
        Scheme.
    threshold : float
        Particles are resampled where their effective number is below this share of N.
    runs : int
        Independent runs; the first is the result, and from all comes the error of the log evidence.
    """

    particles: int = 250
    move_fraction: float = 0.25
    row_order: str = "random"
    importance: str = "exact"
    rejuvenate: int = 1
    resampling: str = "systematic"
    threshold: float = 0.5
    runs: int = 1

    def __post_init__(self) -> None:
        owner = "sampler='smc'"
        check_int(self.particles, "particles", owner, low=1, high=MOST_PARTICLES)
        check_real(
            self.move_fraction, "move_fraction", owner, low=0, high=0.5, open_low=True, open_high=True
        )
        check_choice(self.row_order, "row_order", owner, ORDERS)
        check_choice(self.importance, "importance", owner, IMPORTANCE)
        check_int(self.rejuvenate, "rejuvenate", owner, low=0)
        check_choice(self.resampling, "resampling", owner, RESAMPLING)
        check_real(self.threshold, "threshold", owner, low=0, high=1)
        check_int(self.runs, "runs", owner, low=1)


@dataclass(frozen=True)
class ChainOptions:
    """Options of ``fit(sampler="mcmc")``.

    Attributes
    ----------
    draws, thin, chains : int
        As everywhere in the package.
    burn_in : int or None
        Iterations left out; None is ``draws // 5``.
    """

    draws: int = 2000
    burn_in: int | None = None
    thin: int = 1
    chains: int = 4


Options = FilterOptions | ChainOptions
OPTIONS: dict[str, type[Options]] = {"smc": FilterOptions, "mcmc": ChainOptions}


def choose(sampler: object, options: Mapping[str, Any], owner: str) -> Options:
    """Return the options of a sampler.

    Raises
    ------
    ParameterError
        If the sampler is not known, or an option is out of range.
    UnknownNameError
        If the sampler has no such option.
    """
    name = str(check_choice(sampler, "sampler", owner, SAMPLERS))
    kind = OPTIONS[name]
    for option in options:
        if option not in kind.__dataclass_fields__:
            raise unknown_name(option, f"for sampler={name!r} the option", owner, kind.__dataclass_fields__)
    return kind(**options)
