"""The priors of the two variances, as the user gives them and as they are fitted."""

from collections.abc import Sequence
from numbers import Real

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._validate import bad_value
from pyrjsel.distributions import InverseGamma

# a and b of both variances, for a standardised response.
DEFAULT = 0.01

# Why a or b of 0 gives no posterior, by parameter. With as many columns as rows the likelihood tends to a
# constant as the noise variance falls to 0; only with fewer, or given the coefficients, is it unbounded.
IMPROPER = {
    "noise_prior": "the likelihood, with coefficients integrated out, does not fall to 0 with the noise "
    "variance where the kernels can interpolate the response, and 1/variance has no finite integral",
    "coef_prior": "the likelihood tends to a constant as the variance of the coefficients falls to 0, where "
    "1/variance has no finite integral",
}

Prior = InverseGamma | tuple[float, float] | None


def check_prior(prior: Prior, name: str) -> InverseGamma | None:
    """Return the prior `name` of a variance, or raise :class:`ParameterError` with the reason."""
    if prior is None:
        return None
    if isinstance(prior, InverseGamma):
        if prior.by_size:
            raise bad_value(name, "an InverseGamma with one a and one b", prior)
        return prior
    good = isinstance(prior, Sequence) and len(prior) == 2 and all(isinstance(each, Real) for each in prior)
    if not good:
        raise bad_value(name, "None, an InverseGamma, or its a and b", prior)
    if min(prior) == 0:
        raise ParameterError(
            f"The {name!r} parameter of {called()} must have a and b above 0: with 0 the posterior is "
            f"improper, since {IMPROPER[name]}. Got {prior!r} instead."
        )
    return InverseGamma(*prior)


def scaled(prior: InverseGamma | None, variance: float) -> tuple[float, float]:
    """Return a and b where the response is divided by the root of `variance`."""
    if prior is None:
        return DEFAULT, DEFAULT
    return float(prior.a), float(prior.b) / variance  # type: ignore[arg-type]
