"""Surrogate jumps in plain numpy: slow, obvious, the reference implementation of ``surrogate_jumps.py``.

Only the walk is the package's own, which has a reference implementation of its own. Random numbers of a
jump, in order: a standard normal for each pair and column of the current model and a chi-square for each
pair; those of the walk; the same as before for the proposed model; a uniform one for the decision, and one
for the vector that is chosen.
"""

import numpy as np
import reference_jumps as reference
from scipy import stats
from scipy.special import logsumexp


class Jumps:
    """The jumps.

    Parameters
    ----------
    transition : reference_jumps.Transition
    surrogate : Surrogate
    walk : Walk
    time : float
    pairs : int
    df : float
    """

    def __init__(self, transition, surrogate, walk, time, pairs, df):
        self.transition, self.surrogate, self.walk = transition, surrogate, walk
        self.time, self.pairs, self.df = time, pairs, df

    def log_surrogate(self, gamma):
        """Return log pi~ of a model, up to a constant: a gaussian integral of the expanded likelihood."""
        regression, prior = self.transition.regression, self.transition.regression.prior
        w = np.ones(regression.y.size) if regression.weights is None else regression.weights
        eta = self.surrogate.at @ regression.columns
        mu = regression.family.mean(regression.offset + eta)
        curvature = w * regression.family.curvature(mu)
        own = regression.model_columns(gamma)
        x = regression.columns[own]
        precision = prior.precision[np.ix_(own, own)]
        h = (x * curvature) @ x.T + precision
        c = x @ (w * (regression.y - mu) + curvature * eta) + prior.shift[own]
        proper = precision[1:, 1:] if prior.flat else precision
        return (
            0.5 * np.linalg.slogdet(proper)[1]
            - 0.5 * np.linalg.slogdet(h)[1]
            + 0.5 * c @ np.linalg.solve(h, c)
            - 0.5 * prior.penalty[own].sum()
            + float(self.transition.space.log_prior(gamma))
            + gamma @ (self.surrogate.correction * self.transition.space.free)
        )

    def proposal(self, gamma):
        """Return the mode of a model and the precision there, by Newton's method from the empty model's."""
        own = self.transition.regression.model_columns(gamma)
        b = np.zeros(self.transition.regression.n_columns)
        b[0] = 0.0
        for _ in range(100):
            normal = self.transition.newton(b, own)
            change, before = normal.mean - b[own], b
            share = 1.0
            while True:
                b = before.copy()
                b[own] += share * change
                if self.log_target(gamma, b) >= self.log_target(gamma, before) - 1e-9:
                    break
                share /= 2
            if np.abs(change).max() < 1e-12:
                break
        return own, b[own], self.transition.newton(b, own).precision

    def log_target(self, gamma, b):
        return self.transition.log_target(reference.State(gamma, b))

    def draws(self, rng, gamma, own, mode, precision, b=None):
        """Return draws of a model (2 m, d + 1), in pairs, and the logs of their weights."""
        factor = np.linalg.cholesky(precision)
        z = rng.standard_normal((self.pairs, own.size))
        z *= np.sqrt(self.df / rng.chisquare(self.df, self.pairs))[:, None]
        if b is not None:
            z[0] = factor.T @ (b[own] - mode)
        away = np.linalg.solve(factor.T, z.T).T
        points = np.zeros((2 * self.pairs, self.transition.regression.n_columns))
        points[::2, own], points[1::2, own] = mode + away, mode - away
        law = stats.multivariate_t(mode, np.linalg.inv(precision), df=self.df)
        log_weights = [self.log_target(gamma, point) - law.logpdf(point[own]) for point in points]
        return points, np.array(log_weights)

    def jump(self, rng, gamma, b):
        """Return the next model and coefficients, and the log acceptance ratio."""
        points, log_weights = self.draws(rng, gamma, *self.proposal(gamma), b)
        self.walk.set_state(gamma[None])
        self.walk.run(rng, 1, self.time)
        found = self.walk.gamma()[0]
        new_points, new_weights = self.draws(rng, found, *self.proposal(found))
        log_ratio = (
            logsumexp(new_weights) + self.log_surrogate(gamma)
            - logsumexp(log_weights) - self.log_surrogate(found)
        )  # fmt: skip
        if np.log(rng.random()) < log_ratio:
            gamma, points, log_weights = found, new_points, new_weights
        edges = np.cumsum(np.exp(log_weights - log_weights.max()))
        return gamma, points[np.searchsorted(edges, rng.random() * edges[-1], side="right")], log_ratio
