"""Models with a g-prior in plain numpy, and expansions at maxima by statsmodels."""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from numpy.polynomial.hermite import hermgauss
from scipy import special

import pyrjsel as rj

FAMILY = {"logit": sm.families.Binomial(), "poisson": sm.families.Poisson()}


def poisson(eta):
    return np.exp(eta), np.exp(eta)


def binomial(eta):
    mean = special.expit(eta)
    return mean, mean * (1.0 - mean)


FAMILIES = {
    "binomial": (binomial, lambda y, eta: y * eta - np.logaddexp(0.0, eta)),
    "poisson": (poisson, lambda y, eta: y * eta - np.exp(eta)),
}


class Reference:
    """One model: the mode given g, Laplace's value and a product of Gauss-Hermite rules, in plain numpy."""

    def __init__(self, family, y, x, w, offset):
        self.moments, self.density = FAMILIES[family]
        self.y, self.w, self.offset = y, w, offset
        linear = special.logit(y @ w / w.sum()) if family == "binomial" else np.log(y @ w / w.sum())
        for _ in range(50):  # the null model
            mean, curvature = self.moments(linear + offset)
            linear += w @ (y - mean) / (w @ curvature)
        null = w * self.moments(linear + offset)[1]
        x = x - null @ x / null.sum()
        self.z, self.start = np.column_stack([np.ones(len(y)), x]), linear
        self.null = (x * null[:, None]).T @ x
        self.d = x.shape[1]

    def at(self, log_g, nodes=None):
        precision = np.zeros((self.d + 1, self.d + 1))
        precision[1:, 1:] = self.null * np.exp(-log_g)
        b = np.zeros(self.d + 1)
        b[0] = self.start
        for _ in range(100):
            mean, curvature = self.moments(self.z @ b + self.offset)
            hessian = (self.z * (self.w * curvature)[:, None]).T @ self.z + precision
            step = np.linalg.solve(hessian, self.z.T @ (self.w * (self.y - mean)) - precision @ b)
            # Shorter steps keep far starts from overshooting; the last ones are whole.
            size = np.max(np.abs(step))
            b += step if size < 1.0 else step / size
            if size < 1e-10:
                break
        else:
            raise AssertionError("no mode")
        constant = 0.5 * np.linalg.slogdet(self.null)[1] - 0.5 * self.d * (log_g + np.log(2 * np.pi))

        def value(points):
            prior = -0.5 * np.einsum("ki,ij,kj->k", points, precision, points)
            eta = points @ self.z.T + self.offset
            return self.density(self.y, eta) @ self.w + prior + constant

        half_volume = 0.5 * (self.d + 1) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(hessian)[1]
        if nodes is None:
            return float(value(b[None])[0] + half_volume)
        t, weight = hermgauss(nodes)
        grid = np.stack(np.meshgrid(*[t] * (self.d + 1), indexing="ij")).reshape(self.d + 1, -1).T
        log_weight = sum(np.meshgrid(*[np.log(weight) + t**2] * (self.d + 1), indexing="ij")).ravel()
        factor = np.linalg.cholesky(np.linalg.inv(hessian))
        points = b + np.sqrt(2.0) * grid @ factor.T
        log_volume = np.log(np.diag(factor)).sum() + 0.5 * (self.d + 1) * np.log(2.0)
        return float(special.logsumexp(value(points) + log_weight) + log_volume)

    def mixture(self, prior, n, at, **how):
        values = np.array([self.at(log_g, **how) for log_g in prior.log_g_at(at, n, self.d)])
        values += prior.density_at(at, n, self.d)
        return float(special.logsumexp(values) + np.log(at[1] - at[0]))


def problem(family, seed, n=60, p=3, effect=0.7, weighted=False, offset=False):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{k}" for k in range(p)])
    if p > 1:
        x["x1"] += 0.7 * x["x0"]
    shift = rng.normal(scale=0.4, size=n) if offset else np.zeros(n)
    eta = -0.3 + effect * x["x0"].to_numpy() + shift
    w = rng.integers(1, 5, size=n).astype(float) if weighted else np.ones(n)
    if family == "binomial":
        y = rng.binomial(w.astype(int), special.expit(eta)) / w
        kind = rj.LogitSelection
    else:
        y = rng.poisson(w * np.exp(eta)) / w
        kind = rj.PoissonSelection
    given = {"weights": w} if weighted else {}
    return kind, y, x, w, shift, given | ({"offset": shift} if offset else {})


def data(family):
    """Return 60 rows: two effects, one of them weak, two related columns, and a factor of three levels."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((60, 2))
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 0] + x[:, 1]})
    table["level"] = rng.choice(["p", "q", "r"], 60)
    linear = 0.3 + 0.9 * table["a"] - 0.3 * (table["level"] == "q")
    table["n"] = rng.integers(1, 4, 60)
    table["shift"] = rng.normal(0, 0.2, 60)
    if family == "logit":
        table["y"] = rng.binomial(table["n"], 1 / (1 + np.exp(-linear))) / table["n"]
    else:
        table["y"] = rng.poisson(np.exp(linear))
    return table, {"weights": "n", "offset": "shift"}


def maximum(table, family, columns):
    """Return the largest log-likelihood, J, the information S of slopes centred by W, and the slopes."""
    x = np.column_stack([np.ones(len(table)), *columns])
    n = table["n"].to_numpy()
    response = np.column_stack([n * table["y"], n * (1 - table["y"])]) if family == "logit" else table["y"]
    weights = None if family == "logit" else n
    fit = sm.GLM(response, x, family=FAMILY[family], offset=table["shift"], freq_weights=weights).fit(
        tol=1e-14, maxiter=100
    )
    mu = np.asarray(fit.fittedvalues)
    w = n * (mu * (1 - mu) if family == "logit" else mu)
    centred = x[:, 1:] - (w @ x[:, 1:]) / w.sum()
    return fit.llf, w.sum(), (centred * w[:, None]).T @ centred, np.asarray(fit.params)[1:]


def enumerated(model, **options):
    results = model.fit(sampler="enumerate", **options)
    names, posterior = np.array(results.model.term_names), results.posterior
    values = dict(
        zip(
            [frozenset(names[gamma.astype(bool)]) for gamma in posterior.gamma],
            posterior.log_marginal,
            strict=True,
        )
    )
    return results, {terms: value - values[frozenset()] for terms, value in values.items()}
