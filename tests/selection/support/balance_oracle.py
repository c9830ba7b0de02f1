"""Log acceptance ratios of single moves from the definitions, and checks of the compiled ones.

The oracle is written on the columns as they are, from the definitions of the priors and from scipy's
densities; the loop works on standardised columns, and cancels and updates all it can.
"""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from pyrjsel.model_space import Bernoulli
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

# Tiny spaces: every constraint, factors of 2 and 3 columns, an interaction, dependent columns.
SPACES = {
    "free": (["a", "f3", "b"], {}),
    "a big factor": (["f4", "a"], {"model_prior": Bernoulli({"f4": 0.2, "a": 0.7})}),
    "budget": (["a", "f3", "b"], {"costs": {"a": 1, "f3": 1, "b": 2}, "budget": 2}),
    "largest size": (["a", "f3", "b"], {"max_size": 1}),
    "always": (["a", "f3", "b"], {"always": ["f3"]}),
    "strong heredity": (["a:b", "a", "b"], {"heredity": "strong"}),
    "weak heredity": (["a", "a:f3", "f3"], {"heredity": "weak"}),
    # Where a term must not leave because of another that stays.
    "strong heredity, four": (["a:b", "a", "c", "b"], {"heredity": "strong"}),
    "dependent": (["a", "a+b", "b"], {}),
    "one term": (["f3"], {}),
    "no term": ([], {}),
}
# Sums of some 30 terms of size one, and determinants and inverses of matrices with condition numbers up to
# 1e4: rounding leaves about 2e-12 of values up to a few hundred. Ratios of far updates are differences of
# hundreds, whose Newton steps have rounding of their own: up to 3e-13 of them was seen.
TOLERANCE, OF_RATIOS = 1e-10, 1e-12


def information_weights(case):
    """What the rows weigh in the information of a g-prior: their weights, or those of the null model."""
    weights = np.ones(case.y.size) if case.weights is None else case.weights
    if case.prior.information == "unit":
        return weights
    offset = np.zeros(case.y.size) if case.offset is None else case.offset
    a = brentq(lambda a: weights @ case.likelihood.score(case.y, offset + a), -20, 20, xtol=1e-14)
    return weights * case.likelihood.curve(case.likelihood.mean(offset + a), offset + a)


class Oracle:
    """Target and proposals of a problem in raw coordinates, at the inverse temperature t."""

    def __init__(self, case, fixed=None, t=1.0):
        self.case, self.fixed, self.t = case, fixed, t
        n = case.y.size
        self.weights = np.ones(n) if case.weights is None else case.weights
        self.offset = np.zeros(n) if case.offset is None else case.offset
        self.design = np.column_stack([np.ones(n), case.x])
        self.mean = self.weights @ case.x / self.weights.sum()
        self.sd = np.sqrt(self.weights @ (case.x - self.mean) ** 2 / self.weights.sum())
        # Raw coefficients are linear in internal ones.
        self.to_raw = np.diag(np.concatenate([[1.0], 1 / self.sd]))
        self.to_raw[0, 1:] = -self.mean / self.sd
        self.starts = np.concatenate([[1], 1 + np.cumsum(case.sizes)]).astype(int)

    def log_likelihood(self, eta):
        return self.weights @ self.case.likelihood.log(self.case.y, eta)

    def score(self, eta):
        return self.weights * self.case.likelihood.score(self.case.y, eta)

    def information(self, x, eta):
        return (x.T * (self.weights * self.case.likelihood.curve(self.case.y, eta))) @ x

    def null_gram(self, x):
        """The information of centred columns in a g-prior."""
        w = information_weights(self.case)
        x = x - w @ x / w.sum()
        return (x.T * w) @ x

    def block(self, j):
        return np.arange(self.starts[j], self.starts[j + 1])

    def columns(self, gamma):
        return np.concatenate([[0], *(self.block(j) for j in np.flatnonzero(gamma))]).astype(int)

    def dependent(self, gamma):
        """Whether a g-prior does not exist."""
        x = self.design[:, self.columns(gamma)] * np.sqrt(self.weights)[:, None]
        return isinstance(self.case.prior, GPrior) and np.linalg.matrix_rank(x, tol=1e-8) < x.shape[1]

    def prior(self, gamma):
        """R, mean and covariance of a normal R beta (beta raw), and log |d(R beta)/db|, b internal."""
        columns = self.columns(gamma)
        prior, d, slopes = self.case.prior, columns.size, columns[1:] - 1
        centred = np.concatenate([[1.0], self.mean[slopes]])  # the intercept of centred columns
        jacobian = -np.log(self.sd[slopes]).sum()
        identity = np.eye(d)
        if isinstance(prior, GPrior):
            g = {"n": self.weights.sum(), "4n": 4 * self.weights.sum()}.get(prior.g, prior.g)
            if prior.information == "unit" and prior.intercept in (None, "joint"):
                x = self.design[:, columns]
                return identity, np.zeros(d), g * np.linalg.inv((x.T * self.weights) @ x), jacobian
            covariance = g * np.linalg.inv(self.null_gram(self.case.x[:, slopes]))
            if prior.intercept in (None, "flat"):
                return identity[1:], np.zeros(d - 1), covariance, jacobian
            whole = np.zeros((d, d))
            whole[0, 0], whole[1:, 1:] = prior.intercept.scale**2, covariance
            mean = np.concatenate([[prior.intercept.mean], np.zeros(d - 1)])
            return np.vstack([centred, identity[1:]]), mean, whole, jacobian
        intercept = Normal(10.0) if prior.intercept is None else prior.intercept
        rows, scale, mean = identity, np.full(d, prior.scale), np.full(d, prior.mean)
        if prior.standardize:
            rows = np.vstack([centred, self.sd[slopes, None] * identity[1:]])
            jacobian = 0.0
        if intercept == "flat":
            return rows[1:], mean[1:], np.diag(scale[1:] ** 2), jacobian
        scale[0], mean[0] = intercept.scale, intercept.mean
        return rows, mean, np.diag(scale**2), jacobian

    def log_target(self, gamma, b):
        """The log density of the target: t times that of the posterior, of coefficients in a unit."""
        unit = getattr(self.case, "log_unit", 0.0) * (self.columns(gamma).size - 1)
        return self.t * (self.log_posterior(gamma, b) + unit) - unit

    def log_posterior(self, gamma, b):
        log_model = self.case.space.log_prior(gamma)
        if log_model == -np.inf or self.dependent(gamma):
            return -np.inf
        raw = self.to_raw @ b
        eta = self.offset + self.design @ raw
        log_likelihood = self.log_likelihood(eta)
        rows, mean, covariance, jacobian = self.prior(gamma)
        if not len(rows):
            return log_likelihood + log_model
        normal = stats.multivariate_normal(mean, covariance)
        return log_likelihood + normal.logpdf(rows @ raw[self.columns(gamma)]) + jacobian + log_model

    def newton(self, gamma, b, moved, share=1.0, longest=np.inf, spread=1.0):
        """A share of a Newton step of the log target of `gamma` from `b` in the internal columns `moved`.

        Score and Hessian are t times those of the posterior.
        """
        columns = self.columns(gamma)
        rows, mean, covariance, _ = self.prior(gamma)
        raw, x = (self.to_raw @ b)[columns], self.design[:, columns]
        eta = self.offset + x @ raw
        score, hessian = x.T @ self.score(eta), self.information(x, eta)
        if len(rows):
            precision = np.linalg.inv(covariance)
            score = score - rows.T @ precision @ (rows @ raw - mean)
            hessian = hessian + rows.T @ precision @ rows
        score, hessian = self.t * score, self.t * hessian
        step = self.to_raw[np.ix_(columns, moved)]
        precision = step.T @ hessian @ step
        inverse = np.linalg.inv(precision)
        change = inverse @ step.T @ score
        change = change * min(share, longest / np.sqrt(change @ precision @ change))
        return stats.multivariate_normal(b[moved] + change, spread**2 * inverse)

    def block_proposal(self, gamma, b, j):
        """q_j given the rest of (gamma, b), whatever term j is there."""
        block = self.block(j)
        if self.fixed is not None:
            factor = self.fixed[1][block, : block.size]
            return stats.multivariate_t(self.fixed[0][block], np.linalg.inv(self.t * factor @ factor.T), df=4)
        with_term, without = gamma.copy(), b.copy()
        with_term[j], without[block] = 1, 0.0
        normal = self.newton(with_term, without, block)
        return stats.multivariate_t(normal.mean, normal.cov, df=4)

    def log_choice(self, move, gamma):
        """Log probability that the loop tries this very move, given its kind, from model `gamma`."""
        free = self.case.space.free == 1
        inside, outside = (gamma == 1)[free].sum(), (gamma == 0)[free].sum()
        return {"swap": -np.log(max(1, inside * outside)), "coefficients": 0.0}.get(move, -np.log(free.sum()))


def loop_at(case, gamma, b, fixed=None, t=1.0):
    mean, factor = fixed or (None, None)
    # A gaussian case at fixed scales makes its chains itself.
    make = getattr(case, "make_chain", partial(make_chain, case.regression))
    loop = make(
        case.space,
        gamma,
        b,
        max_columns=case.regression.widest(case.space.max_size),
        raw_shift=case.regression.raw_shift,
        n_swaps=1,
        fixed_mean=mean,
        fixed_factor=factor,
    )
    loop.set_temperature(t)
    return loop


def models(case):
    return [np.array(g, dtype=np.uint8) for g in product((0, 1), repeat=case.space.n_terms)]


def random_b(oracle, gamma, rng):
    b = np.zeros(oracle.design.shape[1])
    columns = oracle.columns(gamma)
    b[columns] = oracle.case.likelihood.reach * rng.normal(size=columns.size)
    return b


def move_between(gamma, new):
    """The kind of move from one model to another, with the term that leaves and the one that enters."""
    leaves, enters = np.flatnonzero((gamma == 1) & (new == 0)), np.flatnonzero((gamma == 0) & (new == 1))
    kinds = {(0, 1): "birth", (1, 0): "death", (1, 1): "swap"}
    kind = kinds.get((leaves.size, enters.size))
    return kind, (leaves[0] if leaves.size else None), (enters[0] if enters.size else None)


def log_ratio(loop, oracle, kind, leaves, enters, new_b):
    """What the loop says of the move to coefficients `new_b`."""
    block = None if enters is None else np.ascontiguousarray(new_b[oracle.block(enters)])
    if kind == "birth":
        return loop.log_ratio("birth", int(enters), block=block)
    if kind == "death":
        return loop.log_ratio("death", int(leaves))
    return loop.log_ratio("swap", int(leaves), int(enters), block)


def expected(oracle, kind, here, there, leaves, enters):
    """log pi(x') + log q(x' -> x) - log pi(x) - log q(x -> x') of a flip or swap."""
    (gamma, b), (new_gamma, new_b) = here, there
    log_q = oracle.log_choice(kind, gamma)
    log_q_back = oracle.log_choice(kind, new_gamma)
    middle, middle_b = gamma & new_gamma, np.where(new_b == 0, 0.0, b)
    if enters is not None:
        log_q += oracle.block_proposal(middle, middle_b, enters).logpdf(new_b[oracle.block(enters)])
    if leaves is not None:
        log_q_back += oracle.block_proposal(middle, middle_b, leaves).logpdf(b[oracle.block(leaves)])
    return oracle.log_target(new_gamma, new_b) + log_q_back - oracle.log_target(gamma, b) - log_q


def moved(oracle, b, leaves, enters, rng):
    new_b = b.copy()
    if leaves is not None:
        new_b[oracle.block(leaves)] = 0.0
    if enters is not None:
        block = oracle.block(enters)
        new_b[block] = oracle.case.likelihood.reach * rng.normal(size=block.size)
    return new_b


def check_flips_and_swaps(case, rng, fixed=None, t=1.0, oracle=Oracle):
    """Check every flip and swap between two models of a space, and count the kinds."""
    oracle, seen = oracle(case, fixed, t), dict.fromkeys(("birth", "death", "swap", "refused"), 0)
    for gamma, new_gamma in product(models(case), repeat=2):
        kind, leaves, enters = move_between(gamma, new_gamma)
        b = random_b(oracle, gamma, rng)
        if kind is None or oracle.log_target(gamma, b) == -np.inf:
            continue
        if any(j is not None and not case.space.free[j] for j in (leaves, enters)):
            continue  # the loop never tries to move a term that is always in
        new_b = moved(oracle, b, leaves, enters, rng)
        forth = log_ratio(loop_at(case, gamma, b, fixed, t), oracle, kind, leaves, enters, new_b)
        if oracle.log_target(new_gamma, new_b) == -np.inf:
            assert forth == -np.inf, (kind, gamma, new_gamma)
            seen["refused"] += 1
            continue
        back_kind = {"birth": "death", "death": "birth"}.get(kind, kind)
        back = log_ratio(loop_at(case, new_gamma, new_b, fixed, t), oracle, back_kind, enters, leaves, b)
        want = expected(oracle, kind, (gamma, b), (new_gamma, new_b), leaves, enters)
        assert forth == pytest.approx(want, abs=TOLERANCE, rel=0), (kind, gamma, new_gamma)
        assert back == pytest.approx(-forth, abs=TOLERANCE, rel=0), (kind, gamma, new_gamma)
        # Which terms are tried has the same probability both ways: the loop leaves it out of the ratio.
        assert oracle.log_choice(kind, gamma) == oracle.log_choice(back_kind, new_gamma)
        seen[kind] += 1
    return seen


def check_updates(case, rng, reach, t=1.0, oracle=Oracle):
    """Check an update of the coefficients of every model of a space."""
    oracle = oracle(case, t=t)
    for gamma in models(case):
        b = random_b(oracle, gamma, rng)
        new_b = (b if reach < 1 else 0.0) + reach * random_b(oracle, gamma, rng)
        if oracle.log_target(gamma, b) == -np.inf:
            continue
        columns = oracle.columns(gamma)
        want = oracle.log_target(gamma, new_b) - oracle.log_target(gamma, b)
        step = (1.0, 3 + 2 * np.sqrt(columns.size)) if reach == 1 else (reach**2 / 2, 2 * reach)
        want += oracle.newton(gamma, new_b, columns, *step, reach).logpdf(b[columns])
        want -= oracle.newton(gamma, b, columns, *step, reach).logpdf(new_b[columns])
        forth = loop_at(case, gamma, b, t=t).log_ratio("coefficients", 0, block=new_b[columns], reach=reach)
        back = loop_at(case, gamma, new_b, t=t).log_ratio("coefficients", 0, block=b[columns], reach=reach)
        assert forth == pytest.approx(want, abs=TOLERANCE, rel=OF_RATIOS)
        assert back == pytest.approx(-forth, abs=TOLERANCE, rel=OF_RATIOS)
