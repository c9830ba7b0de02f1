"""Posteriors of small selection problems by numerical integration, apart from the package.

Written from the mathematics alone: columns as they are, one dense matrix a model, every model of the
space in a plain list. Nothing of ``pyrjsel`` is used here, so that an error in the package cannot be
repeated. The expensive integrals are made once, by ``make_oracle.py``, and kept in ``data``.

A problem has n rows with response y (proportions where weights count trials, or counts and means of
counts), weights w, offsets o and J terms. A model is a string of J digits, "1" for the terms that are in.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from scipy.special import beta as beta_function
from scipy.special import comb, expit, factorial, gammaln, ndtri


@dataclass(frozen=True)
class Term:
    """A term: its columns (n, d_j) as they are, the variables it uses, the terms below it."""

    name: str
    columns: np.ndarray
    variables: tuple[str, ...]
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """Rows and terms; `new` holds the same terms' columns for rows to predict, `new_offset` their offsets."""

    terms: tuple[Term, ...]
    y: np.ndarray
    w: np.ndarray
    o: np.ndarray
    column_names: tuple[str, ...]
    new: tuple[np.ndarray, ...] = ()
    new_offset: np.ndarray = field(default_factory=lambda: np.zeros(0))
    family: str = "binomial"

    @cached_property
    def models(self) -> list[str]:
        return ["".join(digits) for digits in product("01", repeat=len(self.terms))]

    def inside(self, model: str) -> list[int]:
        return [j for j, digit in enumerate(model) if digit == "1"]

    def places(self, model: str) -> list[int]:
        """Return the positions, in `column_names`, of the columns of a model, the intercept's 0 first."""
        starts = np.cumsum([1, *(term.columns.shape[1] for term in self.terms)])
        return [0, *(k for j in self.inside(model) for k in range(starts[j], starts[j + 1]))]


# ---------------------------------------------------------------------- coefficient priors


@dataclass(frozen=True)
class Coordinates:
    """A model in the coordinates c of its prior.

    eta = o + Z c, log f(c) = norm - (c - mu)'P(c - mu)/2, and beta = A c on the columns as they are.
    """

    Z: np.ndarray
    mu: np.ndarray
    P: np.ndarray
    norm: float
    A: np.ndarray


def coordinates(problem: Problem, model: str, prior: dict) -> Coordinates | None:
    """Return the coordinates of a model under `prior`; None where its g-prior does not exist.

    `prior` is ``{"kind": "g", "g": number | "n" | "4n", "intercept": "joint" | "flat" | [mean, sd]}`` or
    ``{"kind": "normal", "mean": , "sd": , "standardize": bool, "intercept": "flat" | [mean, sd]}``.
    """
    w, n = problem.w, problem.y.size
    X = np.column_stack([np.empty((n, 0)), *(problem.terms[j].columns for j in problem.inside(model))])
    p = X.shape[1]
    total = w.sum()
    m = (w @ X) / total
    s = np.sqrt(w @ (X - m) ** 2 / total)
    centred = prior["intercept"] != "joint" if prior["kind"] == "g" else prior["standardize"]
    scaled = prior["kind"] == "normal" and prior["standardize"]
    Z = np.column_stack([np.ones(n), ((X - m) if centred else X) / (s if scaled else 1.0)])
    A = np.diag(np.concatenate([[1.0], 1.0 / s if scaled else np.ones(p)]))
    if centred:
        A[0, 1:] = -m / (s if scaled else 1.0)

    mu, P = np.zeros(p + 1), np.zeros((p + 1, p + 1))
    if prior["kind"] == "g":
        g = {"n": total, "4n": 4 * total}.get(prior["g"], prior["g"])
        if np.linalg.matrix_rank(Z * np.sqrt(w)[:, None]) < p + 1:
            return None
        columns = slice(0, None) if prior["intercept"] == "joint" else slice(1, None)
        P[columns, columns] = Z[:, columns].T @ (w[:, None] * Z[:, columns]) / g
    else:
        mu[1:], P[1:, 1:] = prior["mean"], np.eye(p) / prior["sd"] ** 2
    proper = slice(0, None)
    if prior["intercept"] == "flat":
        proper = slice(1, None)
    elif prior["intercept"] != "joint":
        mu[0], P[0, 0] = prior["intercept"][0], prior["intercept"][1] ** -2.0
    block = P[proper, proper]
    norm = 0.5 * np.linalg.slogdet(block)[1] - 0.5 * len(block) * np.log(2 * np.pi)
    return Coordinates(Z, mu, P, norm, A)


# ---------------------------------------------------------------------- likelihoods


def log_likelihood(problem: Problem, eta: np.ndarray) -> np.ndarray:
    """Return sum of w (y eta - log(1 + exp(eta))), or w (y eta - exp(eta)), over the rows of eta (n, ...)."""
    if problem.family == "poisson":
        with np.errstate(over="ignore"):  # the log-likelihood of an infinite mean is -inf
            cumulant = np.exp(eta)
    else:
        cumulant = np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))
    return (problem.w * problem.y) @ eta - problem.w @ cumulant


def mean(problem: Problem, eta: np.ndarray) -> np.ndarray:
    """Return expected responses."""
    return np.exp(eta) if problem.family == "poisson" else expit(eta)


def variance(problem: Problem, mu: np.ndarray) -> np.ndarray:
    """Return the variances of single responses with means `mu`, the slopes of `mean`."""
    return mu if problem.family == "poisson" else mu * (1 - mu)


def simulate(problem: Problem, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a response."""
    if problem.family == "poisson":
        return rng.poisson(problem.w * np.exp(eta)) / problem.w
    return rng.binomial(problem.w.astype(int), expit(eta)) / problem.w


def log_joint(problem: Problem, at: Coordinates, c: np.ndarray) -> np.ndarray:
    """Return log-likelihood plus log prior at coefficients c (m, d)."""
    eta = problem.o[:, None] + at.Z @ c.T
    away = c - at.mu
    return log_likelihood(problem, eta) + at.norm - 0.5 * np.sum(away @ at.P * away, axis=1)


def find_mode(problem: Problem, at: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    """Return the mode of log_joint and minus its Hessian there, by damped Newton steps."""
    c = np.zeros(at.mu.size)
    for _ in range(500):
        q = mean(problem, problem.o + at.Z @ c)
        gradient = at.Z.T @ (problem.w * (problem.y - q)) - at.P @ (c - at.mu)
        H = at.Z.T @ ((problem.w * variance(problem, q))[:, None] * at.Z) + at.P
        step = np.linalg.solve(H, gradient)
        if gradient @ step < 1e-20:
            return c, H
        size, here = 1.0, log_joint(problem, at, c[None])[0]
        while log_joint(problem, at, (c + size * step)[None])[0] < here - 1e-12 and size > 1e-10:
            size /= 2
        c = c + size * step
    raise ArithmeticError("no mode")


def laplace(problem: Problem, model: str, prior: dict) -> float:
    """Return log joint at the mode + d/2 log 2 pi - log det H / 2; -inf where the prior does not exist."""
    at = coordinates(problem, model, prior)
    if at is None:
        return -np.inf
    c, H = find_mode(problem, at)
    return float(
        log_joint(problem, at, c[None])[0] + 0.5 * c.size * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]
    )


# ---------------------------------------------------------------------- integrals

DF = 5.0
ADAPTATIONS = 3


@dataclass
class Sample:
    """Weighted draws of the coefficients beta (m, d) of one model; weights sum to 1."""

    log_m: float
    error: float
    beta: np.ndarray
    weight: np.ndarray


def sample_model(problem: Problem, model: str, prior: dict, log2: int, scrambles: int, seed: int) -> Sample:
    """Importance sampling with 2**log2 draws in each of `scrambles` independent scrambled Sobol nets.

    The proposal is Student with 5 degrees of freedom, first at the mode with the inverse Hessian, then
    with mean and covariance of the weighted draws of the round before. `error` is the relative standard
    error of the marginal likelihood, from the spread of the independent nets.
    """
    at = coordinates(problem, model, prior)
    if at is None:
        return Sample(-np.inf, 0.0, np.empty((0, 0)), np.empty(0))
    centre, H = find_mode(problem, at)
    spread = np.linalg.inv(H)
    rng = np.random.default_rng(seed)
    for _ in range(ADAPTATIONS):
        c, log_w = _student_draws(problem, at, centre, spread, min(log2, 14), rng)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        centre = w @ c
        spread = (c - centre).T @ (w[:, None] * (c - centre))
    parts = [_student_draws(problem, at, centre, spread, log2, rng) for _ in range(scrambles)]
    log_w = np.stack([part[1] for part in parts])
    top = log_w.max()
    means = np.exp(log_w - top).mean(axis=1)
    mean = means.mean()
    c = np.concatenate([part[0] for part in parts])
    w = np.exp(log_w - top).ravel()
    return Sample(
        float(top + np.log(mean)),
        float(means.std(ddof=1) / np.sqrt(scrambles) / mean),
        c @ at.A.T,
        w / w.sum(),
    )


def _student_draws(
    problem: Problem,
    at: Coordinates,
    centre: np.ndarray,
    spread: np.ndarray,
    log2: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return 2**log2 draws (m, d) from a Student law and log target minus log proposal."""
    from scipy.special import gammaincinv
    from scipy.stats.qmc import Sobol

    d = centre.size
    u = Sobol(d + 1, rng=rng).random_base2(log2)
    u = np.clip(u, 1e-16, 1 - 1e-16)
    chi2 = 2.0 * gammaincinv(DF / 2, u[:, 0])
    z = ndtri(u[:, 1:]) * np.sqrt(DF / chi2)[:, None]
    root = np.linalg.cholesky(spread)
    c = centre + z @ root.T
    log_q = (
        gammaln((DF + d) / 2)
        - gammaln(DF / 2)
        - 0.5 * d * np.log(DF * np.pi)
        - np.log(np.diag(root)).sum()
        - 0.5 * (DF + d) * np.log1p(np.sum(z**2, axis=1) / DF)
    )
    log_p = np.concatenate([log_joint(problem, at, part) for part in np.array_split(c, 1 + len(c) // 8192)])
    return c, log_p - log_q


def lattice(problem: Problem, model: str, prior: dict, step: float = 0.5) -> float:
    """Return the log marginal likelihood of a model by the trapezoidal rule on a lattice.

    In coordinates where the Hessian at the mode is the identity; the rule converges geometrically for
    an analytic integrand that dies out at both ends. The lattice grows along each coordinate as long as
    its faces hold anything. For up to 3 columns.
    """
    at = coordinates(problem, model, prior)
    assert at is not None
    mode, H = find_mode(problem, at)
    root = np.linalg.inv(np.linalg.cholesky(H)).T
    top = log_joint(problem, at, mode[None])[0]
    low, high = np.full(mode.size, -8.0), np.full(mode.size, 8.0)
    while True:
        axes = [np.arange(a, b + step / 2, step) for a, b in zip(low, high, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        points = mode + grid.reshape(-1, mode.size) @ root.T
        value = np.concatenate(
            [log_joint(problem, at, part) for part in np.array_split(points, 1 + len(points) // 8192)]
        )
        value = value.reshape(grid.shape[:-1]) - top
        grown = False
        for k in range(mode.size):
            for side, bound, sign in ((0, low, -1), (-1, high, 1)):
                # A face below exp(-32) of the mode holds less than 1e-12 of the integral.
                if np.take(value, side, axis=k).max() > -32:
                    bound[k] += 4 * sign
                    grown = True
        if not grown:
            return float(top + np.log(np.exp(value).sum() * step**mode.size) - 0.5 * np.linalg.slogdet(H)[1])


# ---------------------------------------------------------------------- priors over models


def log_model_prior(
    problem: Problem, model: str, prior: tuple, always: tuple = (), heredity: str | None = None
) -> float:
    """Return the log prior of a model before constraints, up to a constant.

    `prior` is ("uniform",), ("bernoulli", p or {term: p}), ("betabinomial", a, b), ("poisson", mean) or
    ("cost", {term: cost}). Terms in `always` do not count. Under heredity all but the first and the last are
    products over main effects and interactions, of which those count that the model lets in.
    """
    free = [j for j, term in enumerate(problem.terms) if term.name not in always]
    if not heredity or prior[0] in ("uniform", "cost"):
        return _log_prior_of(problem, model, prior, free)
    names = {problem.terms[j].name for j in problem.inside(model)}
    enough = {"strong": all, "weak": any}[heredity]
    value = 0.0
    for order in sorted({problem.terms[j].name.count(":") for j in free}):
        every = [problem.terms[j] for j in free]
        opened = [
            j
            for j, term in zip(free, every, strict=True)
            if term.name.count(":") == order
            and (not term.below or enough(name in names for name in term.below))
        ]
        value += _log_prior_of(problem, model, prior, opened)
    return value


def _log_prior_of(problem: Problem, model: str, prior: tuple, free: list[int]) -> float:
    inside = [j for j in free if model[j] == "1"]
    J, k = len(free), len(inside)
    kind, *values = prior
    if kind == "uniform":
        return 0.0
    if kind == "bernoulli":
        p = values[0] if isinstance(values[0], dict) else {term.name: values[0] for term in problem.terms}
        q = [p[problem.terms[j].name] if j in inside else 1 - p[problem.terms[j].name] for j in free]
        return float(np.log(q).sum())
    if kind == "betabinomial":
        return float(np.log(beta_function(values[0] + k, values[1] + J - k) / beta_function(*values)))
    if kind == "poisson":
        # The mass of size k is spread evenly over the subsets of that size.
        mass = [values[0] ** i / factorial(i) for i in range(J + 1)]
        return float(np.log(mass[k] / sum(mass) / comb(J, k)))
    assert kind == "cost"
    price = values[0]
    least = min(price[problem.terms[j].name] for j in free)
    n = problem.w.sum()
    return sum(
        -0.5 * problem.terms[j].columns.shape[1] * (price[problem.terms[j].name] / least - 1) * np.log(n)
        for j in inside
    )


def cost_of(problem: Problem, model: str, costs: dict) -> float:
    """Return the cost of a model: every variable that its terms use once; a priced term pays that alone."""
    variables = {name for term in problem.terms for name in term.variables}
    keys = set()
    for j in problem.inside(model):
        term = problem.terms[j]
        keys |= {term.name} if term.name in costs and term.name not in variables else {*term.variables}
    return float(sum(costs.get(key, 0.0) for key in keys))


def allowed(
    problem: Problem,
    model: str,
    *,
    always: tuple = (),
    costs: dict | None = None,
    budget: float | None = None,
    heredity: str | None = None,
    max_size: int | None = None,
) -> bool:
    """Whether a model satisfies the constraints."""
    names = {problem.terms[j].name for j in problem.inside(model)}
    if not {*always} <= names or (max_size is not None and len(names) > max_size):
        return False
    if budget is not None and cost_of(problem, model, costs or {}) > budget * (1 + 1e-9):
        return False
    for term in problem.terms:
        if heredity and term.name in names and term.below:
            present = [name in names for name in term.below]
            if not (all(present) if heredity == "strong" else any(present)):
                return False
    return True


def model_prior(problem: Problem, prior: tuple, constraints: dict) -> np.ndarray:
    """Return the prior probabilities of all models under the constraints, in the order of `models`."""
    always = constraints.get("always", ())
    heredity = constraints.get("heredity")
    mass = [
        np.exp(log_model_prior(problem, model, prior, always, heredity))
        if allowed(problem, model, **constraints)
        else 0.0
        for model in problem.models
    ]
    return np.array(mass) / np.sum(mass)


def inclusion(problem: Problem, probability: np.ndarray) -> np.ndarray:
    """Return inclusion probabilities (J,) from the probabilities of all models."""
    return probability @ np.array([[int(digit) for digit in model] for model in problem.models])


# ---------------------------------------------------------------------- posteriors


@dataclass(frozen=True)
class Table:
    """What is known of every model under one coefficient prior; rows in the order of `models`.

    Attributes
    ----------
    prior : dict
        The coefficient prior.
    log_m, error : ndarray (m,)
        Log marginal likelihoods and their relative standard errors.
    first, second, positive : ndarray (m, D + 1)
        Posterior mean, mean square and probability of a positive sign of each coefficient given the
        model, 0 outside it.
    mean, square : ndarray (m, rows)
        Posterior mean and mean square of the expected response of each new row given the model.
    """

    prior: dict
    log_m: np.ndarray
    error: np.ndarray
    first: np.ndarray
    second: np.ndarray
    positive: np.ndarray
    mean: np.ndarray
    square: np.ndarray

    def posterior(self, prior: np.ndarray) -> np.ndarray:
        """Return posterior probabilities of the models from prior ones."""
        mass = np.where(prior > 0, np.exp(self.log_m - self.log_m[prior > 0].max()) * prior, 0.0)
        return mass / mass.sum()

    @staticmethod
    def average(probability: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Average rows of `values` over models; rows of models without a prior count nothing."""
        return probability[probability > 0] @ values[probability > 0]
