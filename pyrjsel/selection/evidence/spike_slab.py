"""Single models under spike-and-slab priors, with all columns in every model."""

import numpy as np

from pyrjsel._core import special
from pyrjsel._once import alone, kept_property
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.distributions import DEPTH, draw, find_nodes
from pyrjsel.selection.evidence._variance import VarianceEvidence
from pyrjsel.selection.evidence.fixed_scale import MARGIN, NARROW, STEP
from pyrjsel.selection.evidence.gaussian import ModelMoments, SingleModels, variance_evidence
from pyrjsel.selection.regression.gaussian import GaussianRegression

# Numbers in the covariance matrices of a block of models.
BLOCK = 1_000_000
# Nodes of sigma^2 with a smaller proportion of the posterior mass for every model of a block are omitted.
REST = 1e-14


def single_models(regression: GaussianRegression) -> SingleModels:
    """Return the evaluator of single models of a regression."""
    return SingleModels(regression) if regression.prior.ratio is None else SpikeModels(regression)


# Public methods of the class below that use its evidence, a shared workspace.
ALONE = alone("evidence")


class SpikeModels(SingleModels):
    """Single models under spike-and-slab priors, where excluded terms have spikes.

    Parameters
    ----------
    regression : GaussianRegression
        A regression with a spike-and-slab prior.
    """

    def __init__(self, regression: GaussianRegression) -> None:
        super().__init__(regression)
        self.scaled = regression.prior.scaled

    @kept_property
    def evidence(self) -> VarianceEvidence:
        """The compiled evidence; its workspace may be used by one thread at a time.

        The methods ensure that; code that uses the evidence directly needs exclusive access to this object.
        """
        return variance_evidence(self.regression)

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        state.pop("evidence", None)  # raw pointers; recreated when needed
        return state

    def exists(self, gamma: np.ndarray) -> bool:
        """Return True: every model has a coefficient prior."""
        return True

    def log_marginal(self, gamma: np.ndarray) -> float:
        """Return log p(y | model) of model `gamma` (J,).

        The improper densities of the intercept and, without a prior of it, of log sigma^2 count as 1.
        """
        return float(self.log_marginals(np.atleast_2d(gamma))[0])

    @ALONE
    def log_marginals(self, gammas: ByteArray) -> FloatArray:
        """Return log p(y | model) of models `gammas` (m, J)."""
        if self.scaled:
            return self.evidence.values(np.ascontiguousarray(gammas))
        _, value, step = self._nodes(gammas)
        top = value.max(axis=1)
        return np.asarray(top + np.log(np.exp(value - top[:, None]).sum(axis=1) * step))

    @ALONE
    def sums(self, gammas: ByteArray, weights: FloatArray) -> FloatArray:
        """Return weighted sums over models (m, J) of posterior moments of the coefficients.

        Parameters
        ----------
        gammas : ndarray (m, J)
            Models.
        weights : ndarray (m,)
            Their weights.

        Returns
        -------
        ndarray (6, D + 1)
            Means of internal coefficients, with the intercept of the design's own columns minus the mean of
            the response; mean squares; probabilities of being positive (for the whole intercept); inclusion;
            the first two restricted to models with the column's term.
        """
        total = np.zeros((6, self.regression.n_columns))
        step = max(1, BLOCK // self.regression.n_columns**2)
        for at in range(0, len(gammas), step):
            part, weight = gammas[at : at + step], weights[at : at + step]
            mean, square, positive, _ = self._moments(part, self.regression.origin)
            inside = np.column_stack([np.ones(len(part)), self._spread(part)])
            rows = (mean, square, positive, inside, mean * inside, square * inside)
            total += np.stack([weight @ row for row in rows])
        return total

    @ALONE
    def moments(self, gamma: np.ndarray, about: float = 0.0) -> ModelMoments:
        """Return posterior moments of all coefficients under model `gamma` (J,), and of sigma^2.

        Mean and mean square of the intercept are those of its difference from `about`.
        """
        found = self._moments(np.atleast_2d(gamma), about)
        mean, square, positive, variance = (value[0] for value in found)
        scale = np.concatenate([[1.0], self.regression.scale])
        return ModelMoments(
            np.arange(self.regression.n_columns), mean / scale, square / scale**2, positive, float(variance)
        )

    @ALONE
    def sample_own(
        self, gamma: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, FloatArray, dict[str, FloatArray]]:
        """Draw as :meth:`sample` does, for all columns: spikes are not zero."""
        regression, evidence = self.regression, self.evidence
        model = np.ascontiguousarray(np.atleast_2d(gamma), dtype=np.uint8)
        if self.scaled:
            evidence.values(model)
            variance = np.array([evidence.draw_variance(rng) for _ in range(size)])
        else:
            nodes = self._nodes(model)[0]
            variance = np.exp(draw(lambda t: self._log_density(t, model), nodes, size, rng))
        out = np.empty((size, regression.n_columns))
        for row, value in zip(out, variance, strict=True):
            if not self.scaled:
                evidence.condition(value)
            row[1:] = evidence.draws(value, rng)[0]
        spread = np.sqrt(variance / regression.total_weight)
        out[:, 0] = regression.centre + spread * rng.standard_normal(size)
        return np.arange(regression.n_columns), out, {"variance": variance}

    # ------------------------------------------------------------------ parts

    def _spread(self, gammas: ByteArray) -> np.ndarray:
        """Return inclusion by column, (m, D)."""
        return np.repeat(gammas, np.diff(self.regression.term_start), axis=1)

    def _log_density(self, log_variance: FloatArray, gammas: ByteArray) -> FloatArray:
        """Return log p(y, log sigma^2 | model), (m, k), at nodes (k,)."""
        out = np.empty((len(gammas), log_variance.size))
        gammas = np.ascontiguousarray(gammas)
        for i, value in enumerate(log_variance):
            self.evidence.condition(float(np.exp(value)))
            out[:, i] = self.evidence.values(gammas) + value
        return out

    def _nodes(self, gammas: ByteArray) -> tuple[FloatArray, FloatArray, float]:
        """Return nodes (k,) of log sigma^2, log densities (m, k) there, and the step."""
        regression = self.regression
        nu, scale = regression.rows + 2.0 * regression.sigma[0], 2.0 * regression.sigma[1]
        fewest, most = nu.min(), nu.max()
        low = np.log((regression.spectrum.rest + scale.min()) / most) - MARGIN
        high = np.log((regression.square + scale.max()) / fewest) + MARGIN + 2.0 * DEPTH / fewest
        step = float(min(STEP, NARROW / np.sqrt(0.5 * most + 1.0)))
        nodes, value = find_nodes(lambda t: self._log_density(t, gammas), float(low), float(high), step)
        return nodes, value, step

    def _given(self, precision: FloatArray, variance: float) -> tuple[FloatArray, FloatArray]:
        """Return means (m, D) and covariances (m, D, D) of coefficients with prior precisions (m, D).

        Given sigma^2, or for sigma^2 = 1 under priors that scale with it.
        """
        regression = self.regression
        gram = regression.gram / variance
        root = np.sqrt(precision + np.diag(gram))
        correlation = gram / (root[:, :, None] * root[:, None, :])
        diagonal = np.arange(root.shape[1])
        correlation[:, diagonal, diagonal] = 1.0
        covariance = np.linalg.inv(correlation) / (root[:, :, None] * root[:, None, :])
        return covariance @ regression.cross / variance, covariance

    def _moments(
        self, gammas: ByteArray, about: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return means, mean squares and probabilities of being positive (m, D + 1), and E sigma^2 (m,).

        The first two use the intercept minus `about`.
        """
        regression, prior = self.regression, self.regression.prior
        assert prior.ratio is not None
        precision = prior.precision / np.where(self._spread(gammas) > 0, prior.ratio, 1.0)
        if not self.scaled:
            return self._mixed(gammas, precision, about)
        sigma = regression.sigma[:, gammas.sum(axis=1, dtype=np.intp)]
        df = regression.rows + 2.0 * sigma[0]
        mean, covariance = self._given(precision, 1.0)
        variance = (regression.square - mean @ regression.cross + 2.0 * sigma[1]) / df
        mean, scale = self._with_intercept(mean, covariance)
        scale[:, 0] += 1.0 / regression.total_weight
        scale *= variance[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            wider = np.where(df > 2, df / (df - 2.0), np.inf)
        positive = special.stdtr(df[:, None], mean / np.sqrt(scale))
        mean[:, 0] -= about
        square = mean**2 + wider[:, None] * scale
        mean = np.where(df[:, None] > 1, mean, np.nan)  # a Cauchy posterior has no mean
        return mean, square, positive, wider * variance

    def _mixed(
        self, gammas: ByteArray, precision: FloatArray, about: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the same averaged over sigma^2."""
        nodes, value, _ = self._nodes(gammas)
        weights = np.exp(value - value.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        sums = np.zeros((3, len(gammas), self.regression.n_columns))
        for weight, variance in zip(weights.T, np.exp(nodes), strict=True):
            if np.max(weight) < REST:
                continue
            mean, scale = self._with_intercept(*self._given(precision, variance))
            scale[:, 0] += variance / self.regression.total_weight
            positive = special.ndtr(mean / np.sqrt(scale))
            mean[:, 0] -= about
            sums += weight[:, None] * np.stack([mean, mean**2 + scale, positive])
        return sums[0], sums[1], sums[2], weights @ np.exp(nodes)

    def _with_intercept(self, mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and variances (m, D + 1) with the intercept of the design's own columns first.

        The variance of the centred intercept itself is omitted.
        """
        shift = self.regression.raw_shift[1:]
        first = self.regression.centre - mean @ shift
        spread = np.einsum("mkl,k,l->m", covariance, shift, shift)
        diagonal = np.diagonal(covariance, axis1=1, axis2=2)
        return np.column_stack([first, mean]), np.column_stack([spread, diagonal])
