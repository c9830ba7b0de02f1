"""The updates of pattern models in plain numpy: slow, obvious, the twin of the compiled loop.

Every density is that of the whole model; nothing is kept from one update to the next but the state. Random
numbers are drawn in the order of the compiled loop, so that both make the same chain of the same generator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from pyrjsel._typing import FloatArray
from pyrjsel.patterns.groups import PatternProblem

Density = Callable[[float], float]


@dataclass
class PatternTwin:
    """One chain.

    Attributes
    ----------
    problem : PatternProblem
    s : ndarray (C, G)
    log_sigma : ndarray (O + 1,)
    plan : sequence of (str, int)
        Updates of an iteration, and how often each is made.
    width : float
        Of a step of a sum in ``steps``.
    steps : int
        Most steps of a slice.
    sigma_width : float, optional
        Of a step of log sigma_o, by default its deviation under the prior.
    """

    problem: PatternProblem
    s: FloatArray
    log_sigma: FloatArray
    plan: Sequence[tuple[str, int]]
    width: float = 5.0
    steps: int = 10
    sigma_width: float | None = None

    def __post_init__(self) -> None:
        problem = self.problem
        n, groups = problem.cases.shape[1], problem.n_groups
        self.member = np.zeros((n, groups))
        self.counts = np.zeros((groups, problem.order + 1))
        for g in range(groups):
            self.member[problem.rows[problem.indptr[g] : problem.indptr[g + 1]], g] = 1.0
        for o in range(problem.order + 1):
            part = slice(problem.order_ptr[o], problem.order_ptr[o + 1])
            self.counts[problem.order_group[part], o] = problem.order_count[part]
        self.cauchy = problem.prior.family == "cauchy"
        self.widths: list[float] = problem.prior.table(self.sigma_width)[:, 4].tolist()

    # ------------------------------------------------------------------ densities

    def scale(self, log_sigma: FloatArray) -> FloatArray:
        """Return the scale of each sum, shape (G,)."""
        if self.cauchy:
            return self.counts @ np.exp(log_sigma)
        return np.sqrt(self.counts @ np.exp(2.0 * log_sigma))

    def log_likelihood(self, s: FloatArray) -> float:
        """Return the log probability of the classes of the cases given sums."""
        eta = s @ self.member.T
        if len(self.problem.cases) == 2:
            eta = np.vstack([np.zeros_like(eta), eta])
        return float(np.sum(self.problem.cases * (eta - logsumexp(eta, axis=0))))

    def log_prior(self, s: FloatArray, log_sigma: FloatArray) -> float:
        """Return the log density of sums given scales."""
        scale = self.scale(log_sigma)
        if self.cauchy:
            return float(-np.log(np.pi * scale * (1.0 + (s / scale) ** 2)).sum())
        return float((-0.5 * (s / scale) ** 2 - np.log(np.sqrt(2.0 * np.pi) * scale)).sum())

    def log_density(self) -> float:
        """Return the log density of the classes of the cases, the sums and log sigma."""
        return self._joint(self.s, self.log_sigma)

    def _joint(self, s: FloatArray, log_sigma: FloatArray) -> float:
        hyper = float(self.problem.prior.logpdf(log_sigma[1:]).sum())
        return self.log_likelihood(s) + self.log_prior(s, log_sigma) + hyper

    # ------------------------------------------------------------------ updates

    def slice(self, density: Density, x: float, width: float, rng: np.random.Generator) -> float:
        """Return a point of the slice through x, by stepping out and shrinkage (Neal 2003, figs 3 and 5)."""
        level = density(x) - rng.standard_exponential()
        low = x - width * rng.random()
        high = low + width
        left = int(self.steps * rng.random())
        right = self.steps - 1 - left
        while left > 0 and density(low) > level:
            low, left = low - width, left - 1
        while right > 0 and density(high) > level:
            high, right = high + width, right - 1
        while True:
            new = low + (high - low) * rng.random()
            if density(new) >= level:
                return float(new)
            low, high = (new, high) if new < x else (low, new)

    def with_sum(self, c: int, g: int, x: float) -> FloatArray:
        """Return the sums with that of group g and class c replaced."""
        s = self.s.copy()
        s[c, g] = x
        return s

    def update_steps(self, rng: np.random.Generator) -> None:
        """Update each sum by a stepped-out slice."""
        for c, g in np.ndindex(*self.s.shape):

            def density(x: float, c: int = c, g: int = g) -> float:
                return self._joint(self.with_sum(c, g, x), self.log_sigma)

            self.s[c, g] = self.slice(density, float(self.s[c, g]), self.width, rng)

    def update_turns(self, rng: np.random.Generator) -> None:
        """Update each sum by a slice of the likelihood on a circle."""
        scale = self.scale(self.log_sigma)
        for c, g in np.ndindex(*self.s.shape):
            x = float(self.s[c, g])
            level = self.log_likelihood(self.s) - rng.standard_exponential()
            other = 0.0 if self.cauchy else scale[g] * rng.standard_normal()
            length = np.pi if self.cauchy else 2.0 * np.pi
            angle = length * rng.random()
            low, high = angle - length, angle
            while True:
                if self.cauchy:
                    new = float(scale[g] * np.tan(np.arctan(x / scale[g]) + angle))
                else:
                    new = float(x * np.cos(angle) + other * np.sin(angle))
                if self.log_likelihood(self.with_sum(c, g, new)) >= level:
                    break
                low, high = (angle, high) if angle < 0 else (low, angle)
                angle = low + (high - low) * rng.random()
            self.s[c, g] = new

    def update_paths(self, rng: np.random.Generator) -> None:
        """Update the sums given the predictors at the leaves, by the joint normal distribution of paths.

        The vector of path sums at inner groups is drawn from its normal distribution given those at the
        leaves, one group after the other from the first on, each given those drawn before and the leaves.
        """
        parent = self.problem.parent
        assert parent is not None
        groups = self.problem.n_groups
        leaves = np.setdiff1d(np.arange(groups), parent)
        for c in range(len(self.s)):
            variance = self.scale(self.log_sigma) ** 2
            if self.cauchy:
                draws = np.array([rng.standard_exponential() for _ in range(groups)])
                variance = 0.5 * (variance + self.s[c] ** 2) / draws
            # s = path - path of the parent.
            difference = np.eye(groups)
            difference[np.arange(1, groups), parent[1:]] = -1.0
            path = np.linalg.solve(difference, self.s[c])
            precision = difference.T @ (difference / variance[:, None])
            known = list(leaves)
            for g in np.setdiff1d(np.arange(groups), leaves):
                # Those neither known nor g are integrated out: block elimination.
                rest = np.setdiff1d(np.arange(groups), [*known, g])
                keep = np.array([g, *known])
                schur = precision[np.ix_(keep, keep)]
                if rest.size:
                    cross = precision[np.ix_(keep, rest)]
                    schur = schur - cross @ np.linalg.solve(precision[np.ix_(rest, rest)], cross.T)
                mean = -schur[0, 1:] @ path[known] / schur[0, 0]
                path[g] = mean + rng.standard_normal() / np.sqrt(schur[0, 0])
                known.append(g)
            self.s[c] = difference @ path

    def update_centred(self, rng: np.random.Generator) -> None:
        """Update each log sigma_o given the sums."""
        for o in range(1, self.problem.order + 1):

            def density(t: float, o: int = o) -> float:
                return self._joint(self.s, self._with_scale(o, t))

            self.log_sigma[o] = self.slice(density, self.log_sigma[o], self.widths[o - 1], rng)

    def update_scaled(self, rng: np.random.Generator) -> None:
        """Update each log sigma_o given the sums over their scales."""
        for o in range(1, self.problem.order + 1):
            standard = self.s / self.scale(self.log_sigma)

            def density(t: float, o: int = o, standard: FloatArray = standard) -> float:
                log_sigma = self._with_scale(o, t)
                hyper = float(self.problem.prior.logpdf(log_sigma[1:]).sum())
                return hyper + self.log_likelihood(standard * self.scale(log_sigma))

            self.log_sigma[o] = self.slice(density, self.log_sigma[o], self.widths[o - 1], rng)
            self.s = standard * self.scale(self.log_sigma)

    def _with_scale(self, o: int, t: float) -> FloatArray:
        log_sigma = self.log_sigma.copy()
        log_sigma[o] = t
        return log_sigma

    def iterate(self, rng: np.random.Generator) -> None:
        """Run one iteration."""
        for update, times in self.plan:
            for _ in range(times):
                getattr(self, f"update_{update}")(rng)
