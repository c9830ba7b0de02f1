"""Marginal likelihoods and posteriors of single models, against sums over grids with likelihoods of scipy.

Of families whose integrals have parameters besides coefficients, several predictors or dependent rows; those
of other families are tested in ``evidence``.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from family_cases import FAMILIES, design
from grids import by_grid, student_density
from scipy import stats
from scipy.special import log_softmax
from statsmodels.duration.hazard_regression import PHReg
from turns import every

import pyrjsel as rj

SIZE = rj.LogNormal(0.5, 1.5)
NORMAL = rj.Normal(1.0, intercept=rj.Normal(2.0))


def with_size(density):
    """Log density of (intercept, coefficients, log size), under normal priors."""

    def log_density(frame, terms, prior, v):
        eta, t = v[:, :-1] @ design(frame, terms).T + frame["shift"].to_numpy(), v[:, -1:]
        own = density(frame["y"].to_numpy(), frame["n"].to_numpy(), eta, t).sum(axis=1)
        own += stats.norm.logpdf(v[:, :-1], 0, [2.0] + [1.0] * len(terms)).sum(axis=1)
        return own + stats.norm.logpdf(t[:, 0], SIZE.w, SIZE.s)

    return log_density


def of_student(frame, terms, prior, v):
    return student_density(v, frame[terms].to_numpy(), (frame["y"] - frame["shift"]).to_numpy(), 4, prior)


def of_cox(ties):
    """Log density of coefficients; by default their prior has the information of one event, at 0."""

    def log_density(frame, terms, prior, v):
        if not terms:
            model = PHReg(frame["y"], frame[["a"]], frame["died"], offset=frame["shift"], ties=ties)
            return np.full(len(v), model.loglike(np.zeros(1)))
        model = PHReg(frame["y"], frame[terms], frame["died"], offset=frame["shift"], ties=ties)
        d = len(terms)
        precision = (
            -model.hessian(np.zeros(d)) / frame["died"].sum() if prior is None else np.eye(d) / prior.scale**2
        )
        law = stats.multivariate_normal(np.zeros(d), np.linalg.inv(precision))
        return np.array([model.loglike(each) for each in v]) + law.logpdf(v)

    return log_density


def of_classes(frame, terms, prior, v):
    """Log density of intercepts, which are flat, and coefficients by column and class."""
    y, x = np.searchsorted(["low", "mid", "top"], frame["y"]), frame[terms].to_numpy()
    w, d = frame["w"].to_numpy(float), len(terms)
    p, away = np.bincount(y, w)[1:] / w.sum(), x - np.average(x, axis=0, weights=w)
    precision = np.kron((away * w[:, None]).T @ away, np.diag(p) - np.outer(p, p)) / w.sum()
    eta = np.einsum("nk,mkl->mnl", design(frame, terms), v.reshape(len(v), 1 + d, 2))
    eta = log_softmax(np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2), axis=2)
    value = eta[:, np.arange(len(y)), y] @ w - 0.5 * np.sum((v[:, 2:] @ precision) * v[:, 2:], axis=1)
    return value + (0.5 * np.linalg.slogdet(precision)[1] - d * np.log(2 * np.pi) if d else 0.0)


class Case(NamedTuple):
    """A family, a prior of coefficients, the log density of parameters, and how many there are."""

    family: str
    prior: Any
    log_density: Any
    alone: int  # without terms
    by_term: int = 1
    options: Any = None

    def test(self, terms):
        family = FAMILIES[self.family]
        frame = family.frame(n=40).assign(w=lambda rows: rows["n"] if self.options else 1)
        options = {"coef_prior": self.prior, **(self.options or {})}
        return frame, family.model("y ~ a + b", frame, **options)


NEGBIN = with_size(lambda y, n, eta, t: stats.nbinom.logpmf(y, np.exp(t), 1 / (1 + np.exp(eta - t))))
GAMMA = with_size(lambda y, n, eta, t: stats.gamma.logpdf(y, n * np.exp(t), scale=np.exp(eta - t) / n))
CASES = {
    "negbin": Case("negbin, theta", NORMAL, NEGBIN, 2, options={"theta_prior": SIZE}),
    "gamma": Case("gamma, shape", NORMAL, GAMMA, 2, options={"shape_prior": SIZE}),
    "cox": Case("cox", None, of_cox("efron"), 0),
    "cox, normal": Case("cox, breslow", rj.Normal(0.7), of_cox("breslow"), 0),
    "classes": Case("multinomial", None, of_classes, 2, 2),
    "classes, weights": Case("multinomial", None, of_classes, 2, 2, {"weights": "n"}),
    "student, g": Case("student", rj.GPrior("n"), of_student, 2),
    "student, normal": Case("student", rj.Normal(0.6, mean=0.2), of_student, 2),
    "student, standardised": Case("student", rj.Normal(0.8, standardize=True, scaled=True), of_student, 2),
}


@pytest.mark.parametrize("terms", every(3, [["a"], [], ["a", "b"]]), ids=str)
@pytest.mark.parametrize("name", CASES)
def test_integrals_agree_with_quadrature(name, terms):
    """Marginal likelihoods, by Laplace's method too, and moments of draws of all parameters."""
    case = CASES[name]
    frame, model = case.test(terms)
    size = case.alone + case.by_term * len(terms)
    single = model.fit(rng=3, pairs=256)._marginal
    which = np.array([name in terms for name in ("a", "b")], dtype=np.uint8)
    found, constant = single.integrate(which, pairs=2**15), model.regression.log_constant
    if not size:
        assert found.log_marginal + constant == pytest.approx(
            case.log_density(frame, terms, None, np.zeros((1, 0)))[0]
        )
        return

    def log_density(v):
        return case.log_density(frame, terms, case.prior, v)

    want, mean, sd = by_grid(log_density, size, **({"step": 0.5, "reach": 14} if size == 1 else {}))
    # Six standard errors in 27 comparisons, 6e-8, and the error of the quadrature.
    assert found.variance < 1e-5
    assert abs(found.log_marginal + constant - want) < 6 * np.sqrt(found.variance) + 1e-4
    # Laplace's method is known to be within a few times 1 / n.
    assert abs(single.approximate(which).log_marginal + constant - want) < 0.1
    drawn, values = single.sample(which, 4000, np.random.default_rng(4))
    columns = single.finder.columns
    drawn = model.regression.to_raw(drawn)[:, columns[1:] if case.alone == 0 else columns]
    drawn = np.column_stack([drawn, *(np.log(value) for value in values.values())])
    # Of 4,000 draws systematic resampling leaves an effective number of more than 2,000: six errors each.
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 6 * sd / np.sqrt(2000))
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=6 / np.sqrt(2 * 2000))
