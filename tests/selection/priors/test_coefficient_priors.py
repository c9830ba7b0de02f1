"""The interface of each registered coefficient prior."""

import numpy as np
import pytest

import pyrjsel as rj
from pyrjsel.selection.models.registry import CLASSES, MODELS
from pyrjsel.selection.priors.base import Columns
from pyrjsel.selection.priors.confluent import Confluent
from pyrjsel.selection.priors.registry import COEF_PRIORS, GAUSSIAN, GENERALISED

# (sigma^2 in the state of Gibbs samplers, integrals behind marginal likelihoods, sigma^2 needed for closed
# ones of some columns, models without a prior), as `selection.md` derives them; each prior is there.
ANSWERS = {
    rj.Normal(1.0): (False, False, False, False),
    rj.Normal(1.0, scaled=False): (True, True, True, False),
    rj.GPrior("n"): (False, False, False, True),
    rj.HyperG(3): (False, True, False, True),
    rj.HyperGN(3): (False, True, False, True),
    rj.ZellnerSiow(): (False, True, False, True),
    rj.Robust(): (False, True, False, True),
    rj.Intrinsic(): (False, True, False, True),
    rj.BetaPrime(): (False, True, False, True),
    rj.CCH(0.5, 100): (False, True, False, True),
    rj.EmpiricalBayes(): (False, True, False, True),
    rj.BIC(): (False, True, False, True),
    rj.AIC(): (False, True, False, True),
    rj.SpikeSlab(0.1, 10, scaled=True): (True, False, False, False),
    rj.SpikeSlab(0.1, 10): (True, True, False, False),
}
SCALE = np.array([1.0, 2.0])


def test_every_registered_prior_is_among_the_cases():
    assert {type(prior) for prior in ANSWERS} == set(COEF_PRIORS.values()) == {*GAUSSIAN, *GENERALISED}
    assert all(name == prior.__name__ and getattr(rj, name) is prior for name, prior in COEF_PRIORS.items())


@pytest.mark.parametrize("prior", ANSWERS, ids=repr)
def test_gaussian_forms(prior):
    form = prior.compile_gaussian(SCALE, 20)
    answers = (form.in_state, form.quadrature, form.given_variance, form.rank_tol > 0)
    assert answers == ANSWERS[prior]
    assert (form.ratio is not None) == isinstance(prior, rj.SpikeSlab)
    if isinstance(prior, Confluent):
        with pytest.raises(rj.NotAvailableError, match=f"{type(prior).__name__}.*sampler='collapsed'"):
            form.conditional(20.0)
        return
    assert form.proper == (not isinstance(prior, (rj.EmpiricalBayes, rj.BIC, rj.AIC)))
    # Where g is in the state of a chain, how it is drawn is known, and it starts at a number.
    assert (form.conditional(20.0) is not None) == (form.log_g(20.0) > 0)


def test_numbers_tell_priors_apart():
    forms = [prior.compile_gaussian(SCALE, 20).numbers for prior in (*ANSWERS, rj.GPrior(7), rj.HyperG(4))]
    said = {(word, *(float(x) for array in arrays for x in array)) for word, arrays in forms}
    assert len(said) == len(forms)


@pytest.mark.parametrize("kind", COEF_PRIORS.values(), ids=COEF_PRIORS)
def test_a_prior_for_gaussian_models_alone_says_so(kind):
    prior = next(each for each in ANSWERS if type(each) is kind)
    columns = Columns(np.zeros(2), np.ones(2), np.eye(2), 20.0)
    if kind in GENERALISED:
        assert prior.compile(columns).precision.shape == (3, 3)
        return
    with pytest.raises(NotImplementedError, match=kind.__name__):
        prior.compile(columns)
    with pytest.raises(rj.ParameterError, match="coef_prior"):
        rj.logit("low ~ age", rj.datasets.birthwt().data, coef_prior=prior)


def test_models_stand_in_one_registry():
    assert all(getattr(rj, name) == model.from_formula for name, model in MODELS.items())
    assert all(getattr(rj, name) is model for name, model in CLASSES.items())
