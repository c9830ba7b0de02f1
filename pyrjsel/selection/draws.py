"""Draws of a sampler: row numbers of visited models, and thinned coefficients."""

from dataclasses import dataclass, field

from scipy import sparse

from pyrjsel._typing import FloatArray
from pyrjsel.families import Values
from pyrjsel.model_space import ModelDraws


@dataclass(frozen=True, repr=False)
class Draws(ModelDraws):
    """Draws of all chains after burn-in and thinning.

    Attributes
    ----------
    model, packed, model_cost
        As in :class:`pyrjsel.model_space.ModelDraws`.
    log_posterior : ndarray (chains, draws)
        Unnormalised log posterior density of model and coefficients, in units of the design's columns; for
        the sampler ``collapsed`` that of the model, with coefficients integrated out. For reversible jumps of
        linear models it includes sigma^2 and is conditional on g.
    vectors : sparse array (chains * kept, D + 1)
        Coefficients of the design's columns, intercept first, 0 outside the model, for every
        `coefficients_every`-th draw, chain by chain. Sparse, since most of thousands of columns are 0.
    coefficients_every : int
    nuisance : mapping of str to ndarray (chains, kept)
        Corresponding nuisance parameters.
    """

    vectors: sparse.csr_array
    coefficients_every: int
    nuisance: Values = field(default_factory=dict)

    @property
    def variance(self) -> FloatArray | None:
        """Corresponding error variances, (chains, kept), for families that have one."""
        return self.nuisance.get("variance")

    @property
    def coefficients(self) -> FloatArray:
        """Coefficients of every `coefficients_every`-th draw, (chains, kept, D + 1); computed on demand."""
        return self.vectors.toarray().reshape(len(self.model), -1, self.vectors.shape[1])
