"""The sampler of labels given inputs in plain numpy: every density from its definition, slow and obvious.

Takes random numbers in the order of the compiled loop, so that both give the same draws.
"""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import dirichlet, gamma, norm

# As in the compiled loop.
TRUST, AIM, GAIN, NEAR = 0.5, 0.35, 0.1, 0.2
EXCHANGES = 2 / 9
LENGTHS = (0.15, 0.6, 2.4)
SLIDES, SPREAD, LEAST = 6, 0.3, 1e-290


class LabelsTwin:
    """One replica of a chain; parameters as for ``MixtureJob.loop``."""

    def __init__(self, problem, replica, *, conditional, power=1.0):
        self.problem, self.prior, self.space = problem, problem.prior, problem.space
        self.conditional, self.power = conditional, power
        for name in ("gamma", "beta", "precision", "mean", "weight", "prior", "steps"):
            setattr(self, "share" if name == "prior" else name, getattr(replica, name).copy())
        order = np.argsort(problem.label, kind="stable")
        self.z, self.label = problem.z[order], problem.label[order]
        self.counts = np.zeros((2, 3), dtype=np.int64)
        self.free = np.flatnonzero(self.space.free)

    # ------------------------------------------------------------------ densities

    def log_input(self, i, precision, mean):
        """Log density of input i by row and kernel (N, D), 0 where it is missing."""
        z = self.z[:, i, None]
        return np.where(np.isnan(z), 0.0, norm.logpdf(z, mean, precision**-0.5))

    def log_kernels(self, without=-1):
        inside = [i for i in np.flatnonzero(self.gamma) if i != without]
        return sum(
            (self.log_input(i, self.precision[i], self.mean[i]) for i in inside),
            np.zeros((len(self.z), self.weight.shape[1])),
        )

    def log_likelihood(self, log_kernels=None):
        """C: log probability of the labels given the inputs."""
        found = self.log_kernels() if log_kernels is None else log_kernels
        # (N, K): log P_k sum_d w_kd exp L_nd
        every = np.log(self.share) + logsumexp(found[:, None, :] + np.log(self.weight), axis=2)
        return float((every[np.arange(len(self.z)), self.label] - logsumexp(every, axis=1)).sum())

    def log_parameters(self):
        value = dirichlet.logpdf(self.share, np.ones(len(self.share)))
        value += sum(
            dirichlet.logpdf(row, np.full(len(row), self.problem.weight_prior)) for row in self.weight
        )
        for i in np.flatnonzero(self.gamma):
            value += gamma.logpdf(self.beta[i], self.prior.g, scale=1.0 / self.problem.rate[i])
            value += self.log_kernels_given_rate(self.beta[i], self.precision[i], self.mean[i])
        return float(value + self.space.log_prior(self.gamma))

    def log_kernels_given_rate(self, beta, precision, mean):
        return float(
            gamma.logpdf(precision, self.prior.alpha, scale=1.0 / beta).sum() + norm.logpdf(mean).sum()
        )

    def log_target(self):
        return self.power * self.log_likelihood() + self.log_parameters()

    # ------------------------------------------------------------------ proposals of one input

    def fit(self, i, log_kernels):
        """Worth, mean and squares of input i in the rows that each kernel answers for."""
        share = softmax(log_kernels + np.log(self.weight[self.label]), axis=1)
        z = self.z[:, i]
        seen = ~np.isnan(z)
        share, z = share[seen], z[seen, None]
        count = share.sum(axis=0)
        centre = (share * z).sum(axis=0) / np.where(count > 0, count, 1.0)
        trust = TRUST * self.power
        return trust * count, centre, trust * (share * (z - centre) ** 2).sum(axis=0)

    def log_proposal(self, fitted, beta, precision, mean):
        """Log density of kernels given beta: half the prior, half the update by the rows."""
        log_prior = self.log_kernels_given_rate(beta, precision, mean)
        if fitted is None:
            return log_prior
        count, centre, square = fitted
        known = 1.0 + count * precision
        updated = gamma.logpdf(precision, self.prior.alpha + count / 2, scale=1.0 / (beta + square / 2)).sum()
        updated += norm.logpdf(mean, count * precision * centre / known, known**-0.5).sum()
        return float(np.logaddexp(log_prior, updated) - np.log(2.0))

    def draw(self, i, fitted, rng):
        D = self.weight.shape[1]
        count = centre = square = np.zeros(D)
        if fitted is not None and rng.random() < 0.5:
            count, centre, square = fitted
        beta = rng.standard_gamma(self.prior.g) / self.problem.rate[i]
        precision, mean = np.empty(D), np.empty(D)
        for d in range(D):
            precision[d] = rng.standard_gamma(self.prior.alpha + count[d] / 2) / (beta + square[d] / 2)
            known = 1.0 + count[d] * precision[d]
            mean[d] = count[d] * precision[d] * centre[d] / known + rng.standard_normal() / np.sqrt(known)
        return beta, precision, mean

    # ------------------------------------------------------------------ moves

    def kinds(self, gamma):
        size = int(gamma[self.free].sum())
        most = min(len(self.free), self.space.max_size - int(gamma.sum()) + size)
        possible = (size < most, size > 0, 0 < size < len(self.free))
        return [kind for kind, can in enumerate(possible) if can]

    def shares(self, gamma):
        """Probabilities of the possible kinds: of all three, exchanges are a tenth."""
        weight = np.array([EXCHANGES if kind == 2 else 1.0 for kind in self.kinds(gamma)])
        return weight / weight.sum()

    def log_choice(self, gamma, kind):
        """Log probability with which one particular move of a kind is proposed."""
        size = int(gamma[self.free].sum())
        ways = {0: len(self.free) - size, 1: size, 2: size * (len(self.free) - size)}[kind]
        return np.log(self.shares(gamma)[self.kinds(gamma).index(kind)] / ways)

    def changed(self, out, into, kernels):
        new = LabelsTwin.__new__(LabelsTwin)
        new.__dict__ = dict(vars(self))
        for name in ("gamma", "beta", "precision", "mean"):
            setattr(new, name, getattr(self, name).copy())
        if out >= 0:
            new.gamma[out] = 0
        if into >= 0:
            new.gamma[into] = 1
            new.beta[into], new.precision[into], new.mean[into] = kernels
        return new

    def log_ratio(self, out, into, new):
        """Log acceptance ratio of a move to `new`, from target and proposals at both ends."""
        if self.space.why_infeasible(new.gamma) is not None:
            return -np.inf
        kind = 2 if min(out, into) >= 0 else 0 if into >= 0 else 1
        back = {0: 1, 1: 0, 2: 2}[kind]
        value = new.log_target() - self.log_target()
        value += self.log_choice(new.gamma, back) - self.log_choice(self.gamma, kind)
        base = self.log_kernels(without=out)
        for i, state, sign in ((out, self, 1.0), (into, new, -1.0)):
            if i >= 0:
                fitted = self.fit(i, base) if self.conditional else None
                proposed = self.log_proposal(fitted, state.beta[i], state.precision[i], state.mean[i])
                proposed += gamma.logpdf(state.beta[i], self.prior.g, scale=1.0 / self.problem.rate[i])
                value += sign * proposed
        return value

    def move(self, rng):
        kinds = self.kinds(self.gamma)
        if not kinds:
            return
        kind = kinds[int(np.searchsorted(np.cumsum(self.shares(self.gamma)), rng.random(), side="right"))]
        inside, outside = self.free[self.gamma[self.free] == 1], self.free[self.gamma[self.free] == 0]
        out = inside[int(rng.random() * len(inside))] if kind != 0 else -1
        into = outside[int(rng.random() * len(outside))] if kind != 1 else -1
        self.counts[0, kind] += 1
        if self.space.why_infeasible(self.changed(out, into, (1.0, 1.0, 0.0)).gamma) is not None:
            return
        kernels = None
        if into >= 0:
            fitted = self.fit(into, self.log_kernels(without=out)) if self.conditional else None
            kernels = self.draw(into, fitted, rng)
        new = self.changed(out, into, kernels)
        if np.log(rng.random()) < self.log_ratio(out, into, new):
            self.counts[1, kind] += 1
            for name in ("gamma", "beta", "precision", "mean"):
                setattr(self, name, getattr(new, name))

    # ------------------------------------------------------------------ one sweep

    def log_target_without_rate(self, i):
        """Log target with beta_i integrated out, which is drawn after all walks."""
        D, total = self.weight.shape[1], self.problem.rate[i] + self.precision[i].sum()
        given = gamma.logpdf(self.beta[i], self.prior.g + D * self.prior.alpha, scale=1.0 / total)
        return self.log_target() - float(given)

    def walk(self, i, step, set_to, old, log_jacobian, adapt, rng):
        """Accept or reject what `set_to` has been changed to already; `old` is what it was."""
        value = self.log_target_without_rate(i) + log_jacobian - self.before
        accepted = np.log(rng.random()) < value
        if not accepted:
            set_to[...] = old
        if adapt:
            self.steps[step] = np.clip(self.steps[step] * np.exp(GAIN * (accepted - AIM)), 1e-4, 20.0)

    def rescale(self, inputs, rng):
        """Precisions of these inputs times a factor, their rates divided by it."""
        factor, new = np.exp(LENGTHS[int(rng.random() * 3)] * rng.standard_normal()), self
        for i in inputs:
            new = new.changed(-1, i, (self.beta[i] / factor, factor * self.precision[i], self.mean[i]))
        # Of D precisions and the rate of each.
        log_jacobian = len(inputs) * (self.weight.shape[1] - 1) * np.log(factor)
        if np.log(rng.random()) < new.log_target() - self.log_target() + log_jacobian:
            self.beta, self.precision = new.beta, new.precision

    def log_relocation(self, d, inputs):
        """Log density with which the means and precisions of kernel d are proposed, given their rates."""
        z, m = self.z[:, inputs], self.mean[inputs, d]
        weight = self.weight[self.label, d] / self.weight[self.label, d].sum()
        near = norm.logpdf(m, np.where(np.isnan(z), 0.0, z), np.where(np.isnan(z), 1.0, NEAR)).sum(axis=1)
        value = np.logaddexp(norm.logpdf(m).sum(), logsumexp(near, b=weight)) - np.log(2.0)
        scale = 1.0 / self.beta[inputs]
        return value + gamma.logpdf(self.precision[inputs, d], self.prior.alpha, scale=scale).sum()

    def relocate(self, d, inputs, rng):
        """All means and precisions of kernel d anew."""
        z = np.full(self.z.shape[1], np.nan)
        if rng.random() < 0.5:
            count = np.bincount(self.label, minlength=len(self.share))
            mass = np.cumsum(self.weight[:, d] * count)
            k = int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))
            z = self.z[self.label == k][int(rng.random() * count[k])]
        new = self.changed(-1, -1, None)
        for i in inputs:
            new.precision[i, d] = rng.standard_gamma(self.prior.alpha) / self.beta[i]
            jump = rng.standard_normal()
            new.mean[i, d] = jump if np.isnan(z[i]) else z[i] + NEAR * jump
        value = new.log_target() - self.log_target()
        value += self.log_relocation(d, inputs) - new.log_relocation(d, inputs)
        if np.log(rng.random()) < value:
            self.precision, self.mean = new.precision, new.mean

    def slide(self, i, linear, rng):
        """The same quadratic function of input i for all kernels; labels keep their probability."""
        a = LENGTHS[int(rng.random() * 3)] * rng.standard_normal() / self.z[:, i].var()
        b = a * SPREAD if linear else a * (self.z[:, i].mean() + SPREAD * rng.standard_normal())
        u, m = self.precision[i], self.mean[i]
        new_u = u if linear else u + a
        if new_u.min() <= 0:
            return
        new = self.changed(-1, i, (self.beta[i], new_u, (u * m + b) / new_u))
        # At 0 the function is 0.
        joint = np.log(self.share[:, None] * self.weight) + self.log_zero(i) - new.log_zero(i)
        new.share = softmax(logsumexp(joint, axis=1))
        new.weight = softmax(joint, axis=1)
        uniform = rng.random()
        if min(new.share.min(), new.weight.min()) <= LEAST:
            return
        assert new.log_likelihood() == pytest.approx(self.log_likelihood(), abs=1e-6)
        value = new.log_target_without_rate(i) - self.log_target_without_rate(i)
        # From u, u m and logarithms of weights over one of them to means and weights.
        for state, sign in ((new, 1.0), (self, -1.0)):
            parts = np.log(state.share).sum() + np.log(state.weight).sum() - np.log(state.precision[i]).sum()
            value += sign * parts
        if np.log(uniform) < value:
            for name in ("precision", "mean", "weight", "share"):
                setattr(self, name, getattr(new, name))

    def log_zero(self, i):
        return norm.logpdf(0.0, self.mean[i], self.precision[i] ** -0.5)

    def sweep(self, moves, rng, adapt=False):
        p, D, K = self.z.shape[1], self.weight.shape[1], len(self.share)
        inside = np.flatnonzero(self.gamma)
        for i in inside:
            for k in range(SLIDES if not np.isnan(self.z[:, i]).any() else 0):
                self.slide(i, k % 2, rng)
        for d in range(D):
            for i in inside:
                for values, step in ((self.mean, i), (self.precision, p + i)):
                    old, self.before = values[i].copy(), self.log_target_without_rate(i)
                    jump = self.steps[step] * rng.standard_normal()
                    if values is self.mean:
                        values[i, d] += jump
                    else:
                        values[i, d] *= np.exp(jump)
                    self.walk(i, step, values[i], old, 0.0 if values is self.mean else jump, adapt, rng)
        for i in inside:
            shape, rate = self.prior.g + D * self.prior.alpha, self.problem.rate[i] + self.precision[i].sum()
            self.beta[i] = rng.standard_gamma(shape) / rate
            self.rescale([i], rng)
        self.rescale(inside, rng)
        for d in range(D):
            self.relocate(d, inside, rng)
        for k in range(K):
            self.walk_weights(self.weight[k], self.problem.weight_prior, 2 * p + k, adapt, rng)
        self.walk_weights(self.share, 1.0, 2 * p + K, adapt, rng)
        for _ in range(moves):
            self.move(rng)

    def walk_weights(self, weights, concentration, step, adapt, rng):
        """Random walks of log a_d, a_d ~ Gamma(concentration, 1), of which weights are the shares."""
        a = weights * rng.standard_gamma(len(weights) * concentration)
        for d in range(len(weights)):
            old = weights.copy()
            before = self.power * self.log_likelihood() + gamma.logpdf(a, concentration).sum()
            jump = self.steps[step] * rng.standard_normal()
            new = a.copy()
            new[d] *= np.exp(jump)
            weights[...] = new / new.sum()
            value = (
                self.power * self.log_likelihood() + gamma.logpdf(new, concentration).sum() + jump - before
            )
            accepted = np.log(rng.random()) < value
            if accepted:
                a = new
            else:
                weights[...] = old
            if adapt:
                self.steps[step] = np.clip(self.steps[step] * np.exp(GAIN * (accepted - AIM)), 1e-4, 20.0)
