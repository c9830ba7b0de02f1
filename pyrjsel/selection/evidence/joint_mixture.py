"""Integrals over coefficients, nuisance parameters and g, under a mixture of g-priors.

The marginal likelihood is a sum over nodes of log g (or of log(g - least)) of those given g, whose modes
:class:`JointFinder` finds. Importance draws are of (node, coefficients, t) jointly, and their weights exact.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from pyrjsel._core import special
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.evidence.importance import log_student
from pyrjsel.selection.evidence.joint import CONVERGED, LOG_2PI, JointFinder, half_log_det
from pyrjsel.selection.regression.glm import Regression

# Step of the nodes, at most so many times the standard deviation of a peak, where a normal density has an
# error of 1e-6; densities like that of the logarithm of a gamma variate have one of 1e-5 with the largest.
STEP, STEPS = 1.0, 1.15
# Nodes with less than e^-CUT of the largest mass are left out.
CUT = 13.0


class MixtureFinder(JointFinder):
    """Modes given the nodes of log g, and integrals, with the methods of :class:`ModeFinder`.

    After a search `at`, `factor` and `log_posterior` are those of the most probable node, as if the normal
    distribution there had the mass of all.
    """

    def __init__(self, regression: Regression, max_columns: int) -> None:
        super().__init__(regression, max_columns)
        assert regression.prior.mixture is not None
        self.mixture = regression.prior.mixture
        self.rows = regression.prior.total_weight
        self._forget()

    def _forget(self) -> None:
        # By node: mode and factor there, log mass with the step, log g, and log prior density of the node.
        self.nodes: list[tuple[FloatArray, FloatArray]] = []
        self.mass, self.log_g, self.log_density = np.empty((3, 0))

    @property
    def node_weights(self) -> FloatArray:
        """Posterior probabilities of the nodes of the last model; empty for the model without columns."""
        return np.asarray(np.exp(self.mass - special.logsumexp(self.mass))) if self.nodes else np.empty(0)

    def visit(self, k: int) -> None:
        """Let `at` and `factor` be those of the last model given the k-th node."""
        self.at, self.factor = self.nodes[k]

    def maximum_likelihood(self, gamma: ByteArray) -> tuple[float, float, float]:
        """Return the largest log-likelihood of a model, smallest and largest linear predictor there."""
        self._forget()
        return super().maximum_likelihood(gamma)

    def _find(self) -> None:
        """Find the modes at the nodes of log g from the mode at a typical one, outward."""
        self._forget()
        self.terms = self.columns.size - self.regression.leading
        if not self.terms:
            super()._find()
            return
        step = STEP
        while step > STEPS * np.sqrt(2.0 / (self.terms + self.mixture.narrow)):
            step /= 2.0
        self.step = step
        middle = step * round(self.regression.prior.typical_log_g / step)
        found, first, top = {}, self.at, -np.inf
        for direction in (1, -1):
            self.at, t = first, middle if direction > 0 else middle - step
            while True:
                found[t] = self._at_node(t)
                if self.status != CONVERGED:
                    return
                top = max(top, found[t][1])
                if found[t][1] < top - CUT:
                    break
                if t == middle:
                    first = self.at
                t += direction * step
        kept = [t for t in sorted(found) if found[t][1] >= top - CUT]
        self.nodes = [found[t][0] for t in kept]
        self.mass = np.array([found[t][1] for t in kept])
        self.log_g, self.log_density = self._prior_at(np.array(kept))
        self.log_marginal = float(special.logsumexp(self.mass))
        self.visit(int(np.argmax(self.mass)))
        self.log_posterior = self.log_marginal - self._volume(self.factor)

    def _prior_at(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log g at nodes, and log prior densities with the step and the power of g of coefficients."""
        log_g = self.mixture.log_g_at(t, self.rows, self.terms)
        density = self.mixture.density_at(t, self.rows, self.terms)
        return log_g, density + np.log(self.step) - 0.5 * self.terms * log_g

    def _at_node(self, t: float) -> tuple[tuple[FloatArray, FloatArray], float]:
        """Return mode and factor at a node of log g, from the start in `at`, and its log mass."""
        log_g, density = self._prior_at(np.array([t]))
        with self._given(log_g[0]):
            self.status = self._newton(True)
        return (self.at, self.factor), self.log_posterior + self._volume(self.factor) + float(density[0])

    @contextmanager
    def _given(self, log_g: float) -> Iterator[None]:
        whole = self.precision
        self.precision = whole * np.exp(-log_g)
        yield
        self.precision = whole

    def _given_g(self) -> AbstractContextManager[None]:
        """Return a context in which `precision` is that of the prior given the most probable g."""
        return self._given(self.log_g[np.argmax(self.mass)]) if self.nodes else super()._given_g()

    def _volume(self, factor: FloatArray) -> float:
        """Return the log integral of a normal density whose maximum is that of the prior at g = 1."""
        return self.constant + 0.5 * len(factor) * LOG_2PI - half_log_det(factor)

    def _integrate(self, radius: FloatArray, direction: FloatArray, df: float, uniform: Any) -> Any:
        """Draw from the proposal at the mode of a node for each pair; return draws and log weights."""
        if not self.nodes:
            return super()._integrate(radius, direction, df, uniform)
        owner = np.searchsorted(np.cumsum(self.node_weights)[:-1], uniform, side="right")
        points, values = np.empty((2 * radius.size, self.at.size)), np.empty(2 * radius.size)
        log_density = log_student(radius, self.at.size, df)
        for k in np.unique(owner):
            pairs = np.flatnonzero(owner == k)
            rows = np.column_stack([2 * pairs, 2 * pairs + 1]).ravel()
            at, factor = self.nodes[k]
            rays = solve_triangular(factor, direction[pairs].T, lower=True, trans="T").T
            # As if the normal distribution at the node had its mass.
            height = self.mass[k] - self.log_density[k] - self._volume(factor)
            points[rows], targets = self._log_targets(at, rays, radius[pairs], self.log_g[k])
            values[rows] = targets - height - np.repeat(log_density[pairs], 2)
        return points, values

    def _log_prior(self, b: FloatArray, t: FloatArray, log_g: float | None) -> FloatArray:
        """Return log prior densities of coefficients without their constant, g known or integrated out."""
        if not self.nodes:
            return super()._log_prior(b, t, log_g)
        form = self._factor_of_prior(t) * self._exponent(b)
        if log_g is not None:
            return np.asarray(form * np.exp(-log_g) - self.scales * (t[:, 0] - self.typical))
        each = self.log_density + form[:, None] * np.exp(-self.log_g)
        return np.asarray(special.logsumexp(each, axis=1) - self.scales * (t[:, 0] - self.typical))
