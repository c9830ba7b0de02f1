"""The draws of a sampler: indices into the table of visited models, and thinned coefficients."""

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
        Unnormalised log posterior density of model and coefficients, in units of the design's columns; of
        the sampler ``collapsed`` that of the model, coefficients integrated out. Reversible jumps of linear
        models have sigma^2 in it, and are given g.
    vectors : sparse array (chains * kept, D + 1)
        Coefficients of the design's columns, intercept first, 0 outside the model, of every
        `coefficients_every`-th draw, chain by chain: of thousands of columns most are 0.
    coefficients_every : int
    nuisance : mapping of str to ndarray (chains, kept)
        Nuisance parameters that go with the coefficients.
    """

    vectors: sparse.csr_array
    coefficients_every: int
    nuisance: Values = field(default_factory=dict)

    @property
    def variance(self) -> FloatArray | None:
        """Error variances that go with the coefficients, (chains, kept), in families that have one."""
        return self.nuisance.get("variance")

    @property
    def coefficients(self) -> FloatArray:
        """Coefficients of every `coefficients_every`-th draw, (chains, kept, D + 1); made on demand."""
        return self.vectors.toarray().reshape(len(self.model), -1, self.vectors.shape[1])
