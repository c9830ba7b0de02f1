"""The sampler of mixture classifiers in plain numpy: every density from its definition, slow and obvious.

Takes random numbers in the order of the compiled loop, so that both give the same draws.
"""

import numpy as np
from scipy.stats import gamma, norm

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.mixture.background import log_background, normal_evidence
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.mixture.sampling import MixtureOptions, MixtureState


class MixtureTwin:
    """One chain.

    Parameters
    ----------
    problem : MixtureProblem
    options : MixtureOptions
    state : MixtureState
        Is copied.
    """

    def __init__(self, problem: MixtureProblem, options: MixtureOptions, state: MixtureState) -> None:
        self.problem, self.prior, self.space = problem, problem.prior, problem.space
        self.conditional = options.proposal == "conditional"
        self.moves = self.space.n_free if options.moves is None else options.moves
        self.gamma, self.beta = state.gamma.copy(), state.beta.copy()
        self.precision, self.mean = state.precision.copy(), state.mean.copy()
        self.weight, self.class_prior = state.weight.copy(), state.prior.copy()
        self.kernel, self.klass = state.kernel.copy(), state.klass.copy()
        self.z = state.z.T.copy()
        self.free = np.flatnonzero(self.space.free)
        self.cap = min(self.free.size, self.space.max_size - (self.space.n_terms - self.free.size))
        self.log_rows = np.nan

    # --- densities ------------------------------------------------------------------------------------

    def log_input(self, i: int, beta: float, precision: FloatArray, mean: FloatArray) -> float:
        """Log density of input i and its kernels, given the kernels of the rows."""
        seen = ~np.isnan(self.z[:, i])
        rows = norm.logpdf(self.z[:, i], mean[self.kernel], precision[self.kernel] ** -0.5)
        return self.prior.log_kernels(beta, precision, mean) + float(rows[seen].sum())

    def log_background(self, gamma: ByteArray) -> float:
        """Log density of the inputs that are not selected."""
        return log_background(self.z, gamma, self.problem)

    def log_complete(self) -> float:
        """Log density of everything, kernels and classes of the rows included, up to a constant."""
        w = self.weight[self.klass, self.kernel]
        value = np.log(w).sum() + np.log(self.class_prior[self.klass]).sum()
        value += self.prior.log_weights(self.weight, self.class_prior)
        for i in np.flatnonzero(self.gamma).tolist():
            value += self.log_input(i, self.beta[i], self.precision[i], self.mean[i])
        return float(value + self.log_background(self.gamma) + self.space.log_prior(self.gamma))

    def log_likelihood(self) -> float:
        """Log density of labels and inputs given the rest, kernels of the rows summed out."""
        return self.log_rows + self.log_background(self.gamma)

    def log_posterior(self) -> float:
        """Log density of labels, inputs and parameters, kernels of the rows summed out."""
        value = self.log_likelihood() + self.prior.log_weights(self.weight, self.class_prior)
        for i in np.flatnonzero(self.gamma).tolist():
            value += self.prior.log_kernels(self.beta[i], self.precision[i], self.mean[i])
        return float(value + self.space.log_prior(self.gamma))

    # --- proposals ------------------------------------------------------------------------------------

    def sums(self, i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Rows of each kernel that have input i, their mean and their squares about it."""
        D = self.problem.components
        count, centre, square = np.zeros(D), np.zeros(D), np.zeros(D)
        for d in range(D):
            x = self.z[self.kernel == d, i]
            x = x[~np.isnan(x)]
            if x.size:
                count[d], centre[d], square[d] = x.size, x.mean(), ((x - x.mean()) ** 2).sum()
        return count, centre, square

    def precision_proposal(self, i: int) -> tuple[FloatArray, FloatArray]:
        """Shapes and rates of the gamma distributions of precisions of kernels that hold rows."""
        prior = self.prior
        count, _, square = self.sums(i)
        held = count > 0
        shape = prior.alpha + 0.5 * (count - 1.0)
        beta = prior.g / prior.h
        for _ in range(4):
            guess = np.minimum(shape[held] / (beta + 0.5 * square[held]), prior.max_precision)
            beta = (prior.g + held.sum() * prior.alpha) / (prior.h + guess.sum())
        least = (shape + 2.0 * np.sqrt(np.maximum(shape, 0.0))) / prior.max_precision
        return shape, np.maximum(beta + 0.5 * square, least)

    def mean_conditional(self, i: int, precision: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of the means of kernels given their precisions and rows."""
        count, centre, _ = self.sums(i)
        known = 1.0 + count * precision
        return count * precision * centre / known, known**-0.5

    def log_proposal(self, i: int, beta: float, precision: FloatArray, mean: FloatArray) -> float:
        """Log density with which kernels of input i are proposed."""
        prior = self.prior
        held = self.sums(i)[0] > 0
        if not self.conditional:
            held = np.zeros_like(held)
        shape, rate = self.precision_proposal(i)
        centre, deviation = self.mean_conditional(i, precision)
        value = gamma.logpdf(precision[held], shape[held], scale=1.0 / rate[held]).sum()
        total = prior.h + precision[held].sum()
        value += gamma.logpdf(beta, prior.g + held.sum() * prior.alpha, scale=1.0 / total)
        value += gamma.logpdf(precision[~held], prior.alpha, scale=1.0 / beta).sum()
        if self.conditional:
            return float(value + norm.logpdf(mean, centre, deviation).sum())
        return float(value + norm.logpdf(mean).sum())

    def propose(self, i: int, rng: np.random.Generator) -> tuple[float, FloatArray, FloatArray | None] | None:
        """Propose kernels of input i, means None if they are drawn later; None where one is too large."""
        prior, D = self.prior, self.problem.components
        held = (self.sums(i)[0] > 0) & self.conditional
        shape, rate = self.precision_proposal(i)
        precision = np.zeros(D)
        for d in np.flatnonzero(held):
            precision[d] = rng.standard_gamma(shape[d]) / rate[d]
            if precision[d] > prior.max_precision:
                return None
        total = prior.h + precision.sum()
        beta = rng.standard_gamma(prior.g + held.sum() * prior.alpha) / total
        for d in np.flatnonzero(~held):
            precision[d] = rng.standard_gamma(prior.alpha) / beta
            if precision[d] > prior.max_precision:
                return None
        return beta, precision, None if self.conditional else rng.standard_normal(D)

    # --- moves ----------------------------------------------------------------------------------------

    def kinds(self, size: int) -> list[str]:
        """Return the moves from a subset with so many free inputs, each as likely as the others."""
        found = ["add"] if size < self.cap else []
        found += ["remove"] if size > 0 else []
        return found + (["exchange"] if 0 < size < self.free.size else [])

    def log_choice(self, move: str, size: int) -> float:
        """Log probability with which one particular move is tried."""
        kinds = self.kinds(size)
        ways = {"add": self.free.size - size, "remove": size, "exchange": size * (self.free.size - size)}
        return -float(np.log(len(kinds) * ways[move])) if move in kinds else -np.inf

    def log_ratio(
        self, out: int, into: int, beta: float, precision: FloatArray, mean: FloatArray
    ) -> tuple[ByteArray, float]:
        """Return the subset that a move leads to, and its log acceptance ratio."""
        new = self.gamma.copy()
        size = int(self.gamma[self.free].sum())
        if out >= 0:
            new[out] = 0
        if into >= 0:
            new[into] = 1
        value = self.space.log_prior(new) - self.space.log_prior(self.gamma)
        if value == -np.inf:
            return new, -np.inf
        value += self.log_background(new) - self.log_background(self.gamma)
        move, back = ("add", "remove") if out < 0 else ("remove", "add") if into < 0 else ("exchange",) * 2
        value += self.log_choice(back, int(new[self.free].sum())) - self.log_choice(move, size)
        if out >= 0:
            kernels = self.beta[out], self.precision[out], self.mean[out]
            value += self.log_proposal(out, *kernels) - self.log_input(out, *kernels)
        if into >= 0:
            kernels = beta, precision, mean
            value += self.log_input(into, *kernels) - self.log_proposal(into, *kernels)
        return new, float(value)

    def move(self, rng: np.random.Generator) -> None:
        """Try one move."""
        inside = self.free[self.gamma[self.free] == 1]
        outside = self.free[self.gamma[self.free] == 0]
        kinds = self.kinds(inside.size)
        if not kinds:
            return
        move, out, into = kinds[int(rng.random() * len(kinds))], -1, -1
        if move != "add":
            out = int(inside[int(rng.random() * inside.size)])
        if move != "remove":
            into = int(outside[int(rng.random() * outside.size)])
        new = self.gamma.copy()
        new[[j for j in (out, into) if j >= 0]] ^= 1
        if not self.space.feasible(new):
            return
        D = self.problem.components
        beta, precision, mean = 1.0, np.ones(D), None
        if into >= 0:
            proposed = self.propose(into, rng)
            if proposed is None:
                return
            beta, precision, mean = proposed
        # Conditional means are drawn once it is known that they are wanted: the ratio is the same for all.
        new, value = self.log_ratio(out, into, beta, precision, np.zeros(D) if mean is None else mean)
        if np.log(rng.random()) >= value:
            return
        self.gamma = new
        if into >= 0:
            centre, deviation = self.mean_conditional(into, precision)
            drawn = centre + deviation * rng.standard_normal(D) if mean is None else mean
            self.beta[into], self.precision[into], self.mean[into] = beta, precision, drawn

    # --- conditionals ---------------------------------------------------------------------------------

    def cut_gamma(self, shape: float, rate: float, rng: np.random.Generator) -> float:
        """Draw from a gamma distribution below the largest precision."""
        most = self.prior.max_precision
        c = rate * most
        while c >= shape - 0.5 * np.sqrt(shape):
            x = rng.standard_gamma(shape) / rate
            if x <= most:
                return float(x)
        while True:
            x = np.exp(np.log(rng.random()) / (shape - c))
            if np.log(rng.random()) < c * (np.log(x) + 1.0 - x):
                return float(most * x)

    def kernels(self, i: int, rng: np.random.Generator) -> None:
        """Draw the kernels of a selected input."""
        prior, D = self.prior, self.problem.components
        total = prior.h + self.precision[i].sum()
        self.beta[i] = rng.standard_gamma(prior.g + D * prior.alpha) / total
        count, centre, square = self.sums(i)
        at, deviation = self.mean_conditional(i, self.precision[i])
        for d in range(D):
            self.mean[i, d] = at[d] + deviation[d] * rng.standard_normal()
            spread = square[d] + count[d] * (centre[d] - self.mean[i, d]) ** 2
            self.precision[i, d] = self.cut_gamma(
                prior.alpha + 0.5 * count[d], self.beta[i] + 0.5 * spread, rng
            )

    def weights(self, rng: np.random.Generator) -> None:
        """Draw class weights and class probabilities."""
        counts = np.zeros_like(self.weight)
        np.add.at(counts, (self.klass, self.kernel), 1.0)
        for k, row in enumerate(counts):
            drawn = rng.standard_gamma(1.0 + row)
            self.weight[k] = drawn / drawn.sum()
        drawn = rng.standard_gamma(1.0 + counts.sum(axis=1))
        self.class_prior = drawn / drawn.sum()

    def inputs(self, rng: np.random.Generator) -> None:
        """Draw missing inputs under the gaussian background."""
        for n, i in zip(*np.nonzero(np.isnan(self.problem.z)), strict=True):
            if self.gamma[i]:
                d = self.kernel[n]
                new = self.mean[i, d] + rng.standard_normal() / np.sqrt(self.precision[i, d])
                before, old = self.log_background(self.gamma), self.z[n, i]
                self.z[n, i] = new
                if np.log(rng.random()) >= self.log_background(self.gamma) - before:
                    self.z[n, i] = old
                continue
            # Up to a constant the density of all inputs is (a + (z - c)^2)^-(f + 1)/2 in one of them: three
            # of its values say what a and c are.
            N, p = self.z.shape
            degrees = self.prior.surplus(p) + p + N - 1.0
            power = [self.log_evidence(n, i, x) * -2.0 / (degrees + 1.0) for x in (-1.0, 0.0, 1.0)]
            low, middle, high = np.exp(np.array(power) - power[1])
            curve, slope = 0.5 * (low + high) - middle, 0.5 * (high - low)
            centre = -0.5 * slope / curve
            width = np.sqrt(middle / curve - centre**2)
            scale = np.sqrt(2.0 * rng.standard_gamma(0.5 * degrees))
            self.z[n, i] = centre + width / scale * rng.standard_normal()

    def log_evidence(self, n: int, i: int, value: float) -> float:
        """Log density of all inputs under the null model with one of them changed."""
        z = self.z.copy()
        z[n, i] = value
        return normal_evidence(z, self.prior, self.prior.surplus(z.shape[1]))

    def rows(self, rng: np.random.Generator) -> None:
        """Draw kernels and missing classes of the rows."""
        inside = np.flatnonzero(self.gamma)
        log_kernel = np.zeros((len(self.z), self.problem.components))
        for i in inside:
            x = norm.logpdf(self.z[:, i, None], self.mean[i], self.precision[i] ** -0.5)
            log_kernel += np.where(np.isnan(x), 0.0, x)
        self.log_rows = 0.0
        joint = self.class_prior[:, None] * self.weight
        for n, label in enumerate(self.problem.label):
            part = joint.sum(axis=0) if label < 0 else joint[label]
            share = part * np.exp(log_kernel[n] - log_kernel[n].max())
            self.log_rows += np.log(share.sum()) + log_kernel[n].max()
            self.kernel[n] = d = chosen(share, rng)
            if label < 0:
                self.klass[n] = chosen(joint[:, d], rng)

    def sweep(self, rng: np.random.Generator) -> None:
        """One sweep."""
        for i in np.flatnonzero(self.gamma).tolist():
            self.kernels(i, rng)
        for _ in range(self.moves):
            self.move(rng)
        self.weights(rng)
        if self.problem.background == "gaussian":
            self.inputs(rng)
        self.rows(rng)


def chosen(share: FloatArray, rng: np.random.Generator) -> int:
    """Return a position with probability in proportion to its share."""
    bounds = np.cumsum(share)
    return int(min(np.searchsorted(bounds, rng.random() * bounds[-1], side="right"), share.size - 1))
