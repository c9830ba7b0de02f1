"""Terms, random spaces and an oracle by sets for the tests of model spaces."""

from dataclasses import dataclass, field
from itertools import chain, combinations, product
from types import SimpleNamespace

import numpy as np
import pytest

from pyrjsel.model_space import (
    Bernoulli,
    BetaBinomial,
    CostAdjusted,
    ModelSpace,
    TruncatedPoisson,
    Uniform,
)


@dataclass(frozen=True)
class Term:
    name: str
    columns: tuple[str, ...]
    variables: tuple[str, ...]
    parents: tuple[int, ...] = ()
    near_parents: tuple[int, ...] = ()


@dataclass
class Case:
    """A space and what it was made of, for the oracle."""

    terms: list[Term]
    space: ModelSpace
    prices: dict[str, float] | None
    options: dict = field(default_factory=dict)

    def paid(self, model: frozenset[int]) -> float:
        """Cost of a model by sets of names, apart from the arrays of the space."""
        if self.prices is None:
            return 0.0
        variables = {v for term in self.terms for v in term.variables}
        keys = set()
        for j in model:
            term = self.terms[j]
            own = term.name in self.prices and term.name not in variables
            keys |= {term.name} if own else set(term.variables)
        return sum(self.prices[key] for key in sorted(keys))

    def allowed(self, model: frozenset[int]) -> bool:
        """Whether a model satisfies every constraint, by sets."""
        options = self.options
        if not {j for j, term in enumerate(self.terms) if term.name in options["always"]} <= model:
            return False
        if options["max_size"] is not None and len(model) > options["max_size"]:
            return False
        if options["budget"] is not None and self.paid(model) > options["budget"] * (1 + 1e-9):
            return False
        for j in model:
            term = self.terms[j]
            if options["heredity"] == "strong" and not set(term.parents) <= model:
                return False
            if options["heredity"] == "weak" and term.near_parents and not set(term.near_parents) & model:
                return False
        return True

    def subsets(self) -> list[frozenset[int]]:
        """All subsets of the terms."""
        n = len(self.terms)
        return [frozenset(c) for c in chain.from_iterable(combinations(range(n), k) for k in range(n + 1))]

    def gamma(self, models: list[frozenset[int]]) -> np.ndarray:
        """Models as an array of 0 and 1."""
        rows = np.zeros((len(models), len(self.terms)), dtype=np.uint8)
        for row, model in enumerate(models):
            rows[row, sorted(model)] = 1
        return rows


def plain_terms(n: int) -> list[Term]:
    return [Term(f"x{j}", (f"x{j}",), (f"x{j}",)) for j in range(n)]


def interaction_terms(factor_sets: list[tuple[str, ...]], rng: np.random.Generator) -> list[Term]:
    """Terms with these factors, each factor being a variable; parents worked out by sets."""
    sets = [frozenset(factors) for factors in factor_sets]
    terms = []
    for own, factors in zip(sets, factor_sets, strict=True):
        parents = [j for j, other in enumerate(sets) if other < own]
        near = [j for j in parents if not any(sets[j] < sets[k] for k in parents)]
        name = ":".join(factors)
        columns = tuple(f"{name}[{i}]" for i in range(int(rng.integers(1, 4))))
        terms.append(Term(name, columns, tuple(factors), tuple(parents), tuple(near)))
    return terms


def make_prior(kind: str, terms: list[Term], rng: np.random.Generator):
    """A prior of this kind with random parameters."""
    names = [term.name for term in terms]
    if kind == "uniform":
        return Uniform()
    if kind == "bernoulli":
        return Bernoulli(float(rng.uniform(0.1, 0.9)))
    if kind == "bernoulli by term":
        return Bernoulli({name: float(rng.uniform(0.1, 0.9)) for name in names})
    if kind == "beta-binomial":
        return BetaBinomial(float(rng.uniform(0.5, 3)), float(rng.uniform(0.5, 9)))
    if kind == "truncated Poisson":
        return TruncatedPoisson(float(rng.uniform(0.5, 6)))
    return CostAdjusted({name: float(rng.uniform(0.5, 3)) for name in names})


PRIORS = ("uniform", "bernoulli", "bernoulli by term", "beta-binomial", "truncated Poisson", "cost adjusted")
CONSTRAINTS = tuple(product((False, True), (None, "weak", "strong"), (False, True), (False, True)))


def make_case(prior: str, constraint: tuple, seed: int) -> Case:
    """A random space of at most 9 terms: (budget, heredity, max_size, always)."""
    with_budget, heredity, with_size, with_always = constraint
    rng = np.random.default_rng(seed)
    factor_sets: list[tuple[str, ...]] = [("a",), ("b",), ("c",), ("d",), ("e",)]
    factor_sets += [("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c")]
    # Terms come in any order and some are missing, so that parents may follow children or be absent.
    picked = [factor_sets[i] for i in rng.permutation(len(factor_sets))[: int(rng.integers(6, 10))]]
    terms = interaction_terms(picked, rng)
    used = sorted({v for term in terms for v in term.variables})
    prices = None
    budget = None
    if with_budget:
        prices = {v: float(rng.choice([0.0, 0.1, 0.2, 0.5, 1.0])) for v in used}
        for term in terms:
            if len(term.variables) > 1 and rng.random() < 0.3:
                prices[term.name] = float(rng.choice([0.0, 0.3, 0.7]))
    options = {"heredity": heredity, "always": (), "max_size": None, "budget": None}
    if with_always:
        roots = [term.name for term in terms if not term.parents]
        options["always"] = tuple(roots[:1]) if roots else ()
    if with_size:
        options["max_size"] = int(rng.integers(len(options["always"]), len(terms) + 1))
    if prices is not None:
        start = sum(prices[name] for name in options["always"])
        budget = start + float(rng.choice([0.0, 0.3, 0.8, 1.5]))
        options["budget"] = budget
    space = ModelSpace.build(
        terms, prior=make_prior(prior, terms, rng), costs=prices, n_observations=50, **options
    )
    return Case(terms, space, prices, options)


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    """Makers of terms and random spaces."""
    return SimpleNamespace(
        Term=Term,
        plain=plain_terms,
        interactions=interaction_terms,
        case=make_case,
        priors=PRIORS,
        constraints=CONSTRAINTS,
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that ask for `prior_kind` and `constraint` over every combination."""
    if "prior_kind" in metafunc.fixturenames:
        metafunc.parametrize("prior_kind", PRIORS)
    if "constraint" in metafunc.fixturenames:
        ids = ["-".join(str(part) for part in constraint) for constraint in CONSTRAINTS]
        metafunc.parametrize("constraint", CONSTRAINTS, ids=ids)
