"""The sampler of mixture classifiers in plain numpy: every density from its definition, slow and obvious.

Takes random numbers in the order of the compiled loop, so that both give the same draws.
"""

from copy import copy
from typing import Self

import numpy as np
from reference_background import normal_evidence
from scipy.special import logsumexp
from scipy.stats import dirichlet, gamma, norm

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.mixture.options import MixtureOptions
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.mixture.problem import MixtureProblem, gains
from pyrjsel.mixture.sampler import MixtureState, Replica, filled


def log_kernels_of_input(prior: MixturePrior, beta: float, precision: FloatArray, mean: FloatArray) -> float:
    """Log density of the kernels (D,) of one input: -inf where a precision exceeds the largest one."""
    if np.any(precision > prior.max_precision):
        return -np.inf
    value = gamma.logpdf(beta, prior.g, scale=1.0 / prior.h)
    value += gamma.logpdf(precision, prior.alpha, scale=1.0 / beta).sum()
    return float(value + norm.logpdf(mean).sum() - prior.log_mass(len(precision)))


class MixtureTwin:
    """One replica of a chain.

    Parameters
    ----------
    problem : MixtureProblem
    options : MixtureOptions
    replica : Replica
        Is copied.
    power : float, default 1
        Of the density of selected inputs given the kernels of the rows over that of the null model.
    """

    def __init__(
        self, problem: MixtureProblem, options: MixtureOptions, replica: Replica, power: float = 1.0
    ) -> None:
        self.problem, self.prior, self.space, self.power = problem, problem.prior, problem.space, power
        self.conditional = options.proposal == "conditional"
        self.moves = self.space.n_free if options.moves is None else options.moves
        self.gamma, self.beta = replica.gamma.copy(), replica.beta.copy()
        self.precision, self.mean = replica.precision.copy(), replica.mean.copy()
        self.weight, self.class_prior = replica.weight.copy(), replica.prior.copy()
        self.kernel, self.klass = replica.kernel.copy(), replica.klass.copy()
        self.z = filled(problem, replica.imputed).T.copy()
        self.free = np.flatnonzero(self.space.free)
        self.cap = min(self.free.size, self.space.max_size - (self.space.n_terms - self.free.size))

    # --- densities ------------------------------------------------------------------------------------

    def log_input(self, i: int, precision: FloatArray, mean: FloatArray) -> FloatArray:
        """Log density of input i of the rows by kernel (N, D), 0 where it is missing."""
        value: FloatArray = norm.logpdf(self.z[:, i, None], mean, precision**-0.5)
        return np.where(np.isnan(self.z[:, i, None]), 0.0, value)

    def log_kernels(self) -> FloatArray:
        """Log weight of the rows in a kernel and power of their log density there, by kernel (N, D)."""
        joint = self.class_prior[:, None] * self.weight
        value: FloatArray = np.log(
            np.where(self.problem.label[:, None] < 0, joint.sum(axis=0), joint[self.problem.label])
        )
        for i in np.flatnonzero(self.gamma).tolist():
            value = value + self.power * self.log_input(i, self.precision[i], self.mean[i])
        return value

    def log_null(self, inside: ByteArray) -> float:
        """Log density of a subset of the inputs under the null model."""
        if self.problem.background == "gaussian":
            z = self.z[:, np.asarray(inside, dtype=bool)]
            return normal_evidence(z, self.prior, self.prior.surplus(self.problem.n_inputs))
        return float(gains(self.problem)[0] @ inside)

    def log_background(self) -> float:
        """Log density of the inputs that are not selected."""
        if self.problem.background is None:
            return -self.log_null(self.gamma)
        return self.log_null(np.ones_like(self.gamma)) - self.log_null(self.gamma)

    def log_parameters(self) -> float:
        """Log density of kernels, weights and subset."""
        alike = np.full(self.weight.shape[1], self.problem.weight_prior)
        value = dirichlet.logpdf(self.class_prior, np.ones(len(self.class_prior)))
        value += sum(dirichlet.logpdf(row, alike) for row in self.weight)
        for i in np.flatnonzero(self.gamma).tolist():
            value += log_kernels_of_input(self.prior, self.beta[i], self.precision[i], self.mean[i])
        return float(value + self.space.log_prior(self.gamma))

    def log_target(self) -> float:
        """Log density of labels, inputs and parameters, kernels of the rows summed out, at the power.

        Up to what does not depend on subset, kernels and weights.
        """
        rows = float(logsumexp(self.log_kernels(), axis=1).sum())
        return rows - self.power * self.log_null(self.gamma) + self.log_parameters()

    def log_likelihood(self) -> float:
        """Log density of labels and inputs given the rest, kernels of the rows summed out (power 1)."""
        return float(logsumexp(self.log_kernels(), axis=1).sum()) + self.log_background()

    def log_posterior(self) -> float:
        """Log density of labels, inputs and parameters, kernels of the rows summed out (power 1)."""
        return self.log_likelihood() + self.log_parameters()

    def log_ratio_to_null(self) -> float:
        """Log of what the power is taken of: the density of selected inputs over the null model's."""
        value = -self.log_null(self.gamma)
        for i in np.flatnonzero(self.gamma).tolist():
            rows = self.log_input(i, self.precision[i], self.mean[i])
            value += float(rows[np.arange(len(rows)), self.kernel].sum())
        return value

    # --- proposals ------------------------------------------------------------------------------------

    def sums(self, i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Rows of each kernel that have input i, their mean and their squares about it.

        A row counts as many times as the power is.
        """
        D = self.problem.components
        count, centre, square = np.zeros(D), np.zeros(D), np.zeros(D)
        for d in range(D):
            x = self.z[self.kernel == d, i]
            x = x[~np.isnan(x)]
            if x.size:
                count[d], centre[d], square[d] = x.size, x.mean(), ((x - x.mean()) ** 2).sum()
        return self.power * count, centre, self.power * square

    def precision_proposal(self, i: int) -> tuple[FloatArray, FloatArray]:
        """Shapes and rates of the gamma distributions of precisions of kernels that hold rows."""
        prior = self.prior
        count, _, square = self.sums(i)
        held = count > 0
        shape = prior.alpha + 0.5 * np.maximum(count - 1.0, 0.0)
        beta = prior.g / prior.h
        for _ in range(4):
            guess = np.minimum(shape[held] / (beta + 0.5 * square[held]), prior.max_precision)
            beta = (prior.g + held.sum() * prior.alpha) / (prior.h + guess.sum())
        least = (shape + 2.0 * np.sqrt(shape)) / prior.max_precision
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

    def propose(self, i: int, rng: np.random.Generator) -> tuple[float, FloatArray, FloatArray] | None:
        """Propose kernels of input i; None where a precision is too large."""
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
        if not self.conditional:
            return beta, precision, rng.standard_normal(D)
        centre, deviation = self.mean_conditional(i, precision)
        return beta, precision, centre + deviation * rng.standard_normal(D)

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

    def after(self, out: int, into: int, beta: float, precision: FloatArray, mean: FloatArray) -> Self:
        """Return the replica after a move: `out` has left, `into` has entered (-1: none)."""
        other = copy(self)
        other.gamma, other.beta = self.gamma.copy(), self.beta.copy()
        other.precision, other.mean = self.precision.copy(), self.mean.copy()
        if out >= 0:
            other.gamma[out] = 0
        if into >= 0:
            other.gamma[into] = 1
            other.beta[into], other.precision[into], other.mean[into] = beta, precision, mean
        return other

    def log_ratio(self, out: int, into: int, beta: float, precision: FloatArray, mean: FloatArray) -> float:
        """Return the log acceptance ratio of a move, proposed at the kernels that the rows have."""
        other = self.after(out, into, beta, precision, mean)
        move, back = ("add", "remove") if out < 0 else ("remove", "add") if into < 0 else ("exchange",) * 2
        value = other.log_target() - self.log_target()
        value += self.log_choice(back, int(other.gamma[self.free].sum()))
        value -= self.log_choice(move, int(self.gamma[self.free].sum()))
        if out >= 0:
            value += self.log_proposal(out, self.beta[out], self.precision[out], self.mean[out])
        if into >= 0:
            value -= self.log_proposal(into, beta, precision, mean)
        return value

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
        kernels = 1.0, np.ones(D), np.zeros(D)
        if self.conditional:
            # Kernels of the rows, given all but the inputs that move.
            self.allocate(self.after(out, -1, *kernels).log_kernels(), rng)
        if into >= 0:
            proposed = self.propose(into, rng)
            if proposed is None:
                return
            kernels = proposed
        if np.log(rng.random()) < self.log_ratio(out, into, *kernels):
            self.__dict__.update(self.after(out, into, *kernels).__dict__)

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
            drawn = rng.standard_gamma(self.problem.weight_prior + row)
            self.weight[k] = drawn / drawn.sum()
        drawn = rng.standard_gamma(1.0 + counts.sum(axis=1))
        self.class_prior = drawn / drawn.sum()

    def inputs(self, rng: np.random.Generator) -> None:
        """Draw missing inputs under the gaussian background."""
        for n, i in zip(*np.nonzero(np.isnan(self.problem.z)), strict=True):
            if self.gamma[i]:
                d, everything = self.kernel[n], np.ones_like(self.gamma)
                new = self.mean[i, d] + rng.standard_normal() / np.sqrt(self.power * self.precision[i, d])
                before, old = self.log_null(everything) - self.power * self.log_null(self.gamma), self.z[n, i]
                self.z[n, i] = new
                after = self.log_null(everything) - self.power * self.log_null(self.gamma)
                if np.log(rng.random()) >= after - before:
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

    def allocate(self, log_kernel: FloatArray, rng: np.random.Generator) -> None:
        """Draw kernels of the rows with probabilities in proportion to these."""
        share = np.exp(log_kernel - logsumexp(log_kernel, axis=1, keepdims=True))
        self.kernel = np.array([chosen(row, rng) for row in share], dtype=np.int32)

    def rows(self, rng: np.random.Generator) -> None:
        """Draw kernels and missing classes of the rows."""
        self.allocate(self.log_kernels(), rng)
        joint = self.class_prior[:, None] * self.weight
        for n in np.flatnonzero(self.problem.label < 0):
            self.klass[n] = chosen(joint[:, self.kernel[n]], rng)

    def sweep(self, rng: np.random.Generator) -> None:
        """One sweep."""
        for i in np.flatnonzero(self.gamma).tolist():
            self.kernels(i, rng)
        self.weights(rng)
        if self.problem.background == "gaussian":
            self.inputs(rng)
        for _ in range(self.moves):
            self.move(rng)
        self.rows(rng)


class LadderTwin:
    """Replicas at falling powers that exchange states.

    Parameters
    ----------
    problem : MixtureProblem
    options : MixtureOptions
    state : MixtureState
        Is copied.
    """

    def __init__(self, problem: MixtureProblem, options: MixtureOptions, state: MixtureState) -> None:
        self.replicas = [
            MixtureTwin(problem, options, replica, power)
            for replica, power in zip(state.replicas, state.powers, strict=True)
        ]

    def sweep(self, rng: np.random.Generator) -> None:
        """One sweep of each replica, then exchanges from the first on."""
        for replica in self.replicas:
            replica.sweep(rng)
        for k in range(len(self.replicas) - 1):
            one, other = self.replicas[k : k + 2]
            gain = (one.power - other.power) * (other.log_ratio_to_null() - one.log_ratio_to_null())
            if np.log(rng.random()) < gain:
                self.replicas[k : k + 2] = [other, one]
                one.power, other.power = other.power, one.power


def chosen(share: FloatArray, rng: np.random.Generator) -> int:
    """Return a position with probability in proportion to its share."""
    bounds = np.cumsum(share)
    return int(min(np.searchsorted(bounds, rng.random() * bounds[-1], side="right"), share.size - 1))
