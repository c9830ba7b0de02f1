"""What models of families with a size have in common."""

from pyrjsel._validate import bad_value, check_real
from pyrjsel.distributions import LogNormal
from pyrjsel.families import Sized
from pyrjsel.selection.models.base import Selection


class SizedSelection(Selection):
    """Base class of models with a size, such as theta of negative binomial counts."""

    _family: Sized

    @classmethod
    def _sized(cls, value: float | None, prior: LogNormal | None) -> Sized:
        """Return the family with a known size or the prior of an unknown one, ``LogNormal(0, 2)`` if None."""
        kind, name = type(cls._family), cls._family.parameter
        chosen = LogNormal(0.0, 2.0) if prior is None else prior
        if not isinstance(chosen, LogNormal):
            raise bad_value(f"{name}_prior", "None or a LogNormal", prior)
        if value is None:
            return kind(None, float(chosen.w), float(chosen.s))
        check_real(value, name, low=0, open_low=True)
        if prior is not None:
            raise bad_value(f"{name}_prior", f"None if {name} is known", prior)
        return kind(float(value))

    def _priors(self) -> dict[str, object]:
        priors, family = super()._priors(), self._family
        if not family.nuisance.names:
            return priors
        return {**priors, f"{family.parameter} prior": LogNormal(family.log_mean, family.log_sd)}
