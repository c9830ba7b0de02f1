"""Gaussian regressions for reversible jumps: rows and a normal prior given sigma^2 and g."""

from dataclasses import dataclass, replace

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import FloatArray
from pyrjsel.families import Family, Nuisance
from pyrjsel.selection.priors.base import CompiledPrior
from pyrjsel.selection.regression.gaussian import ROUNDING, GaussianRegression
from pyrjsel.selection.regression.glm import ROWS_TOL, Regression

NO_DENSITY = (
    "Reversible jumps need a density of coefficients that does not depend on the fit of each model: "
    "information='observed', EmpiricalBayes, BIC and AIC have none. Fit with sampler='enumerate' or "
    "sampler='collapsed'."
)


def state_nuisance(family: Family) -> Nuisance:
    """Return the parameters of states besides coefficients: sigma^2, and log g (0 if g is fixed)."""
    return replace(family.nuisance, inner=("log_g",))


@dataclass(frozen=True, kw_only=True)
class GaussianRows(Regression):
    """A gaussian regression reduced to few rows with the same likelihood, and its prior at sigma^2 = g = 1.

    The likelihood depends on the data only through sums. The rows are one for the intercept, one for each
    direction of the columns, and one for the residual of the response. They have the same sums as the data,
    and minus the response as their offset: a linear predictor is a residual.

    Attributes
    ----------
    whole : GaussianRegression
        The original regression.
    """

    whole: GaussianRegression

    @property
    def nuisance(self) -> Nuisance:
        """Parameters of a state besides coefficients: sigma^2, and log g (0 if g is fixed)."""
        return state_nuisance(self.family)

    @classmethod
    def of(cls, whole: GaussianRegression) -> "GaussianRows":
        """Return the reduced rows of a regression.

        Raises
        ------
        NotAvailableError
            For spike-and-slab priors.
        """
        prior = whole.prior
        if prior.ratio is not None:
            raise NotAvailableError(
                "Reversible jumps move between models of some of the columns, and SpikeSlab has all of them "
                "in every model. Fit with sampler='gibbs'."
            )
        if not prior.proper:
            raise NotAvailableError(NO_DENSITY)
        root, image, rest = whole.square_root()
        size, rank = root.shape
        columns, response = np.zeros((size + 1, rank + 2)), np.zeros(rank + 2)
        columns[0, 0] = np.sqrt(whole.total_weight)
        response[0] = columns[0, 0] * whole.centre
        columns[1:, 1:-1], response[1:-1], response[-1] = root, image, np.sqrt(rest)
        precision = np.zeros((size + 1, size + 1))
        precision[1:, 1:] = prior.matrix(whole.gram)
        nothing = np.zeros(1)
        compiled = CompiledPrior(
            precision,
            np.concatenate([nothing, prior.precision * prior.mean]),
            np.concatenate([nothing, whole.penalty]),
            True,
            ROWS_TOL if whole.close else prior.rank_tol,
            np.concatenate([nothing, prior.log_weights]) if prior.rank_tol == 0 else None,
        )
        return cls(
            columns=columns,
            mean=whole.mean,
            scale=whole.scale,
            y=np.zeros(rank + 2),
            offset=-response,
            weights=None,
            term_start=whole.term_start,
            prior=compiled,
            saturated=0.0,
            family=whole.family,
            whole=whole,
        )

    @property
    def origin(self) -> float:
        """Centre subtracted from the raw-scale intercept before moments are accumulated."""
        return self.whole.centre

    @property
    def scaled(self) -> bool:
        """Whether prior variances are multiples of sigma^2."""
        return self.whole.prior.scaled

    def at(self, variance: float, log_g: float) -> Regression:
        """Return the regression with known error variances and a normal prior, given sigma^2 and g.

        Parameters
        ----------
        variance, log_g : float
            sigma^2 and the logarithm of g, which is 0 except for mixtures of g-priors.

        Returns
        -------
        Regression
            Regression of the same rows, with weights 1 / sigma^2.
        """
        log_scale = -log_g - (np.log(variance) if self.scaled else 0.0)
        scale, prior = np.exp(log_scale), self.prior
        known = CompiledPrior(
            prior.precision * scale,
            prior.shift * scale,
            prior.penalty * scale,
            True,
            prior.rank_tol,
            None if prior.log_weights is None else prior.log_weights + log_scale,
        )
        return Regression(
            self.columns,
            self.mean,
            self.scale,
            self.y,
            self.offset,
            np.full(self.y.size, 1.0 / variance),
            self.term_start,
            known,
            self.saturated,
            self.family,
        )

    def first(self) -> tuple[Regression, FloatArray]:
        """Return the regression at typical values of sigma^2 and g, and these: sigma^2 and log g."""
        whole = self.whole
        left = max(whole.least_residual, ROUNDING) if whole.spare else 1.0
        variance = whole.total * left / whole.nu
        log_g = whole.prior.log_g(whole.n)
        return self.at(variance, log_g), np.array([variance, log_g])

    def scores(self) -> FloatArray:
        """Return the score statistic of each column (D,), as for other regressions, with unknown sigma^2."""
        whole = self.whole
        if not whole.square:
            return np.zeros(whole.cross.size)
        return whole.n * whole.cross**2 / (whole.total_weight * whole.square)

    def least_power(self, max_size: int) -> float:
        """Return the t above which powers t of posteriors of at most `max_size` terms are integrable."""
        # mathematics: jumps-least-power
        d = self.widest(max_size) - 1 if self.scaled else 0
        return (d + 3.0) / (self.whole.n + d + 2.0 * self.whole.a + 2.0)
