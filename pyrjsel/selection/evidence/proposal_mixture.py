"""Mixtures of Student distributions as proposals for posteriors with two modes or a shoulder."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel.selection.evidence.importance import log_student, match, radii
from pyrjsel.selection.evidence.joint import JointFinder, half_log_det

# Degrees of freedom of the components, as of single proposals matched to draws.
DF = 4.0
# Least share of a component: what earlier draws missed keeps being looked for.
LEAST = 0.1


@dataclass(frozen=True)
class ProposalMixture:
    """Components around the mode, around another place, and around the line between both.

    Draws are of the mixture as a whole: their weights are exact whatever the components are.

    Attributes
    ----------
    anchors : list of tuple
        Centre (d,) and Cholesky factor (d, d) of the precision of each component before there are draws.
    centres : ndarray (k, d)
    roots : ndarray (k, d, d)
        Cholesky factors of the scale matrices.
    shares : ndarray (k,)
    """

    anchors: list[tuple[FloatArray, FloatArray]]
    centres: FloatArray
    roots: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, finder: JointFinder) -> "ProposalMixture | None":
        """Return the mixture for the last model of a finder; None if it has a single mode."""
        if finder.apart is None:
            return None
        ends = [(finder.at, finder.factor), finder.apart]
        scales = [half @ half.T for half in (np.linalg.inv(factor).T for _, factor in ends)]
        way = 0.5 * (ends[1][0] - ends[0][0])
        scales.append(0.5 * (scales[0] + scales[1]) + np.outer(way, way))
        middle = ends[0][0] + way, np.linalg.cholesky(np.linalg.inv(scales[2]))
        anchors = [*ends, middle]
        centres = np.array([centre for centre, _ in anchors])
        return cls(anchors, centres, np.linalg.cholesky(np.array(scales)), np.full(3, 1.0 / 3.0))

    def draw(
        self, finder: JointFinder, pairs: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return radii (P,) of about so many pairs, draws (2 P, d) and their log weights."""
        d, found = self.centres.shape[1], []
        counts = np.maximum(np.rint(self.shares * pairs), 2).astype(int)
        for centre, root, count in zip(self.centres, self.roots, counts, strict=True):
            radius, direction = radii(d, count, DF, rng), rng.standard_normal((count, d))
            direction /= np.sqrt(np.sum(direction**2, axis=1, keepdims=True))
            drawn = finder.weighted(centre, direction @ root.T, radius, np.zeros(count))
            found.append((radius, *drawn))
        radius, points, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        density = special.logsumexp(self._log_densities(points) + np.log(counts / counts.sum()), axis=1)
        return radius, points, values - density + half_log_det(finder.factor)

    def matched(self, points: FloatArray, weights: FloatArray) -> "ProposalMixture":
        """Return the mixture with components matched to weighted draws, by a step of the EM algorithm."""
        own = self._log_densities(points) + np.log(self.shares)
        parts = weights[:, None] * np.exp(own - special.logsumexp(own, axis=1)[:, None]) + 1e-300
        shares = np.maximum(parts.sum(axis=0) / parts.sum(), LEAST)
        fitted = [match(points, part, *anchor) for part, anchor in zip(parts.T, self.anchors, strict=True)]
        centres, roots = (np.array(each) for each in zip(*fitted, strict=True))
        return ProposalMixture(self.anchors, centres, roots, shares / shares.sum())

    def _log_densities(self, points: FloatArray) -> FloatArray:
        """Return log densities (m, k) of components, up to a constant."""
        out = np.empty((len(points), len(self.shares)))
        for k, (centre, root) in enumerate(zip(self.centres, self.roots, strict=True)):
            z = solve_triangular(root, (points - centre).T, lower=True)
            out[:, k] = log_student(np.sqrt(np.sum(z * z, axis=0)), centre.size, DF) - half_log_det(root)
        return out
