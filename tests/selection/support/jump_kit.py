"""Reversible jumps of small gaussian problems: chains at a state, and the tempered target in closed form."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from scipy.special import gammaln, logsumexp
from slopes import CURVE, SCORE

from pyrjsel.families import Gaussian
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, ZellnerSiow
from pyrjsel.selection.priors.gaussian import FixedG
from pyrjsel.selection.regression.gaussian_rows import GaussianRows
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

PRIORS = {
    "g": GPrior("n"),
    "hyper-g": HyperG(3),
    "hyper-g/n": HyperGN(4),
    "zellner-siow": ZellnerSiow(),
    "normal": Normal(0.8),
    "normal, mean": Normal(1.2, mean=0.4, standardize=True),
    "unscaled": Normal(0.8, mean=0.2, scaled=False),
}


def loop_at(rows, space, gamma, b, t=1.0, n_swaps=1, fixed=None, **rest):
    """A compiled chain at a model and coefficients, sigma^2 and log g."""
    mean, factor = fixed or (None, None)
    loop = make_chain(rows,
        space, np.asarray(gamma, dtype=np.uint8), np.asarray(b, dtype=float),
        max_columns=rows.widest(space.max_size), raw_shift=rows.raw_shift, n_swaps=n_swaps,
        fixed_mean=mean, fixed_factor=factor, **rest,
    )  # fmt: skip
    loop.set_temperature(t)
    return loop


def fixed_scales(case, variance, log_g):
    """The problem that a case is at a sigma^2 and a g, for the oracle of detailed balance.

    Weights are those over sigma^2; the prior has the variances that it has there.
    """
    rows, prior = GaussianRows.of(case.regression), case.prior
    weights = np.ones(case.y.size) if case.weights is None else case.weights
    if isinstance(prior, Normal):
        unit = np.sqrt(variance) if prior.scaled is not False else 1.0
        known = Normal(prior.scale * unit, prior.mean, standardize=prior.standardize, intercept="flat")
    elif isinstance(prior, GPrior):
        known = GPrior(prior.value(case.regression.n), intercept="flat")
    else:
        known = GPrior(float(np.exp(log_g)), intercept="flat")
    mixed = case.regression.prior.conditional(1.0) is not None
    scales = np.array([variance, log_g if mixed else 0.0])

    def chain(space, gamma, b, **rest):
        return make_chain(rows, space, gamma, np.concatenate([b, scales]), **rest)

    return SimpleNamespace(
        regression=SimpleNamespace(widest=rows.widest, raw_shift=rows.raw_shift),
        make_chain=chain,
        space=case.space,
        x=case.x,
        y=case.y,
        weights=weights / variance,
        offset=case.offset,
        prior=known,
        sizes=np.diff(rows.term_start),
        log_unit=0.5 * (scales[1] + np.log(rows.whole.total / rows.whole.nu)),
        likelihood=SimpleNamespace(
            family=Gaussian(),
            log=lambda y, eta: -0.5 * (y - eta) ** 2,
            mean=lambda eta: eta,
            score=SCORE["identity"],
            curve=CURVE["identity"],
            reach=1.0,
        ),
    )


@dataclass
class Tempered:
    """The power t of a posterior whose prior variances are multiples of sigma^2, g known: all in closed form.

    It is that of the density of coefficients over s, s^2 the sum of squares over its degrees of freedom.
    With quadratic form (b - m)'H(b - m) + S of all d + 1 coefficients, the density of (b, sigma^2 | gamma) to
    the power t is that of a normal and an inverse gamma variate.
    """

    case: object
    t: float

    def parts(self, gamma):
        """Mean and precision of the coefficients over t / sigma^2, and shape and scale of sigma^2."""
        regression, t = self.case.regression, self.t
        y, n = self.case.y, self.case.y.size
        w = np.ones(n) if self.case.weights is None else self.case.weights
        y = y if self.case.offset is None else y - self.case.offset
        columns = regression.model_columns(gamma)[1:] - 1
        x = (self.case.x[:, columns] - regression.mean[columns]) / regression.scale[columns]
        x = np.column_stack([np.ones(n), x])
        prior = regression.prior
        if isinstance(prior, FixedG):
            form, mean = (x.T * w) @ x / prior.g, np.zeros(x.shape[1])
            form[0] = form[:, 0] = 0.0
        else:
            form = np.diag(np.concatenate([[0.0], prior.precision[columns]]))
            mean = np.concatenate([[0.0], prior.mean[columns]])
        precision = (x.T * w) @ x + form
        centre = np.linalg.solve(precision, x.T @ (w * y) + form @ mean)
        rest = w @ (y - x @ centre) ** 2 + (centre - mean) @ form @ (centre - mean) + 2 * regression.b
        d = columns.size
        shape = t * (0.5 * (n + d) + regression.a + 1) - 0.5 * (d + 1) - 1
        log_form = np.linalg.slogdet(form[1:, 1:])[1]
        return centre, precision, shape, 0.5 * t * rest, log_form

    def log_mass(self, gamma):
        """The log of the integral of the power over coefficients and sigma^2; inf where there is none."""
        log_model = float(self.case.space.log_prior(gamma))
        if log_model == -np.inf:
            return -np.inf
        centre, precision, shape, scale, log_form = self.parts(gamma)
        if shape <= 0:
            return np.inf
        n, d, t = self.case.y.size, centre.size - 1, self.t
        value = 0.5 * (t - 1) * d * np.log(self.case.regression.total / self.case.regression.nu)
        value += t * (log_model - 0.5 * (n + d) * np.log(2 * np.pi) + 0.5 * log_form)
        value += 0.5 * (d + 1) * np.log(2 * np.pi / t) - 0.5 * np.linalg.slogdet(precision)[1]
        return value + gammaln(shape) - shape * np.log(scale)

    def probabilities(self, models):
        """Probabilities of models under the power."""
        log_mass = np.array([self.log_mass(gamma) for gamma in models])
        return np.exp(log_mass - logsumexp(log_mass))

    def draw(self, models, rng):
        """A model, and its coefficients, sigma^2 and log g, from the power."""
        gamma = models[rng.choice(len(models), p=self.probabilities(models))]
        centre, precision, shape, scale, _ = self.parts(gamma)
        variance = scale / rng.standard_gamma(shape)
        noise = np.linalg.solve(np.linalg.cholesky(precision).T, rng.standard_normal(centre.size))
        b = np.zeros(self.case.regression.n_columns + 2)
        b[self.case.regression.model_columns(gamma)] = centre + np.sqrt(variance / self.t) * noise
        b[-2] = variance
        return gamma, b
