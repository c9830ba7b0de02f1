"""The smallest spaces: one model, one term, no term; every sampler, every table."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import integrate
from selection_cases import COEFFICIENT_PRIORS, load
from selection_checks import batch_error, coefficient_prior, far_away, fit
from selection_oracle import Problem, Term, lattice

import pyrjsel as rj

SAMPLERS = ["enumerate", "rjmcmc"]
WARD = load("ward")[1].frame

PRICES = {"age": 1.0, "bp": 2.0, "stage": 1.0}
ONE_MODEL = {
    "full": ({"always": ("stage", "age", "bp")}, ("stage", "age", "bp")),
    "full by size": ({"always": ("age", "stage"), "max_size": 2}, ("stage", "age")),
    "full by budget": ({"always": "bp", "costs": PRICES, "budget": 2.0}, ("bp",)),
}


def look_at_everything(results):
    """Call every table and prediction; return the text of the summary."""
    assert results.coefficients["mean"].notna().all()
    assert len(results.inclusion) == len(results.model.term_names)
    assert results.models["posterior"].sum() == pytest.approx(1.0, abs=1e-12)
    assert results.covered == pytest.approx(1.0, abs=1e-12)
    assert (results.conf_int()[0] <= results.conf_int()[1]).all()
    assert np.isfinite(results.models["deviance"]).all()
    frame = results.get_prediction().summary_frame()
    assert ((frame["mean"] > 0) & (frame["mean"] < 1)).all()
    for which in ("bma", "hpm", "mpm"):
        assert results.predict(which=which).notna().all()
    assert repr(results).startswith("<SelectionResults")
    assert len(results.diagnostics) >= 1
    text = str(results.summary())
    assert results.model.design.response in text
    assert "nan" not in text.lower()
    return text


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("constraints", ONE_MODEL.values(), ids=ONE_MODEL)
@pytest.mark.parametrize("prior", ["4n joint", "raw"])
def test_a_space_of_one_model(sampler, constraints, prior):
    options, terms = constraints
    model = rj.logit("y ~ stage + age + bp", WARD, coef_prior=coefficient_prior(prior), **options)
    assert model.count_models() == 1
    results = fit(model, sampler=sampler, draws=500, rng=1)
    look_at_everything(results)
    assert results.models["terms"].tolist() == [terms]
    assert results.models["posterior"].tolist() == [1.0]
    assert results.best("hpm") == results.best("mpm") == terms
    assert results.inclusion["posterior"].to_dict() == {
        name: float(name in terms) for name in model.term_names
    }
    assert results.inclusion["prior"].tolist() == results.inclusion["posterior"].tolist()
    outside = [name for name in results.params.index if name.split("[")[0] not in (*terms, "Intercept")]
    assert (results.params[outside] == 0).all()
    assert (results.coefficients.loc[outside, "prob_positive"] == 0).all()
    if sampler == "rjmcmc":
        assert results.draws.model.shape == (4, 500)
        assert not results.draws.model.any()


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("prior", ["4n joint", "n flat", "raw", "standard shifted"])
def test_one_term(sampler, prior):
    """Two models, whose odds a lattice of two dimensions knows to eight digits."""
    problem = load("ward")[0]
    age = Problem(
        (Term("age", WARD[["age"]].to_numpy(float), ("age",)),), problem.y, problem.w, problem.o, ()
    )
    out, inside = (lattice(age, m, COEFFICIENT_PRIORS[prior]) for m in "01")
    exact = 1 / (1 + np.exp(out - inside))
    model = rj.logit("y ~ age", WARD, coef_prior=coefficient_prior(prior))
    results = fit(model, sampler=sampler, draws=4000, rng=4)
    look_at_everything(results)
    found = results.inclusion.loc["age"]
    assert found["prior"] == 0.5
    if sampler == "enumerate":
        # Six reported integration errors.
        assert abs(found["posterior"] - exact) < 6 * found["mcse"]
        assert found["mcse"] < 0.002
    else:
        assert far_away([found["posterior"]], [exact], [found["mcse"]], ["age"]) == {}
        assert np.isnan(results.diagnostics.loc["all", "acceptance_swap"])  # no pair of terms to swap


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("prior", ["4n joint", "raw", "n flat"])
def test_no_term_at_all(sampler, prior):
    """The intercept alone: its posterior by quadrature in one dimension."""
    variance = {"4n joint": 4.0, "raw": 100.0, "n flat": np.inf}[prior]
    ones, n = WARD["y"].sum(), len(WARD)

    def moment(power):
        def integrand(a):
            return a**power * np.exp(ones * a - n * np.log1p(np.exp(a)) - a**2 / 2 / variance + 30)

        return integrate.quad(integrand, -3, 3, epsabs=0, epsrel=1e-10)[0]

    mean = moment(1) / moment(0)
    sd = np.sqrt(moment(2) / moment(0) - mean**2)
    model = rj.logit("y ~ 1", WARD, coef_prior=coefficient_prior(prior))
    results = fit(model, sampler=sampler, draws=2000, rng=2)
    text = look_at_everything(results)
    assert sampler in text
    assert results.models["terms"].tolist() == [()]
    assert results.best() == ()
    assert len(results.inclusion) == 0
    if sampler == "enumerate":
        # Antithetic draws of stratified radius: over seeds the mean of a posterior this close to normal errs
        # by 1e-4 of its sd, and the sd by 0.2 %.
        assert abs(results.params["Intercept"] - mean) < 2e-3 * sd
        assert results.bse["Intercept"] == pytest.approx(sd, rel=0.02)
    else:
        b = results.draws.coefficients
        assert far_away(b.mean(axis=(0, 1)), [mean], batch_error(b), ["Intercept"]) == {}
        assert results.draws.included.shape == (4, 2000, 0)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_terms_that_no_model_can_hold(sampler):
    """A price beyond the budget: prior and posterior 0."""
    costs = {"age": 1.0, "bp": 50.0, "smoke": 1.0}
    model = rj.logit("y ~ age + bp + smoke", WARD, costs=costs, budget=1.0)
    results = fit(model, sampler=sampler, draws=500, rng=3)
    look_at_everything(results)
    assert results.inclusion.loc["bp", ["prior", "posterior"]].tolist() == [0.0, 0.0]
    assert not any("bp" in terms for terms in results.models["terms"])


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_tiny_data_set(sampler):
    """Three rows and two terms, one success."""
    frame = pd.DataFrame({"y": [0, 1, 0], "a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 1.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.SeparationWarning)
        results = rj.logit("y ~ a + b", frame, coef_prior=rj.Normal(1.0)).fit(
            sampler=sampler, draws=4000, rng=1
        )
    terms = tuple(Term(name, frame[[name]].to_numpy(float), (name,)) for name in "ab")
    problem = Problem(terms, frame["y"].to_numpy(float), np.ones(3), np.zeros(3), ())
    log_m = np.array([lattice(problem, m, COEFFICIENT_PRIORS["raw"], step=0.75) for m in problem.models])
    # BetaBinomial(1, 1): sizes 0, 1 and 2 have a third each.
    mass = np.exp(log_m) * np.array([1 / 3, 1 / 6, 1 / 6, 1 / 3])
    exact = [mass[2:].sum() / mass.sum(), mass[1::2].sum() / mass.sum()]
    found = results.inclusion
    if sampler == "enumerate":
        # Seven reported errors, known themselves to a fifth; 1e-5 for the lattice.
        assert np.all(np.abs(found["posterior"] - exact) < 7 * found["mcse"] + 1e-5)
    else:
        assert far_away(found["posterior"], exact, found["mcse"], ["a", "b"]) == {}
