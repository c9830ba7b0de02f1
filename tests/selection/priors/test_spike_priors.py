"""Spike-and-slab and inverse gamma priors as users give them, and the sampler `gibbs` behind `rj.linear`."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pyrjsel as rj


def frame(n=40, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    data["f"] = np.array(["u", "v", "w"])[np.arange(n) % 3]
    data["w"] = rng.integers(1, 4, n)
    data["y"] = 1.0 + data["a"] - 0.5 * (data["f"] == "v") + rng.normal(size=n)
    return data


DATA, FORMULA = frame(), "y ~ a + b + c + f"
COLUMNS = ["a", "b", "c", "f[T.v]", "f[T.w]"]


def fit(prior, formula=FORMULA, data=DATA, sampler="gibbs", draws=300, **options):
    known = {name: options.pop(name) for name in ("scheme", "swaps", "start") if name in options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        model = rj.linear(formula, data, coef_prior=prior, **options)
        return model.fit(sampler=sampler, rng=1, chains=2, draws=draws, progress=False, **known)


class TestSpikeSlab:
    @pytest.mark.parametrize(
        ("tau", "c", "message"),
        [
            (0, 100, "'tau' parameter of SpikeSlab must be a finite number in (0, inf)"),
            (-1.0, 100, "'tau' parameter of SpikeSlab must be a finite number in (0, inf)"),
            (np.nan, 100, "'tau' parameter"),
            (True, 100, "'tau' parameter"),
            ("a", 100, "'tau' parameter of SpikeSlab must be a number above 0, a sequence of them"),
            (0.1, 1, "'c' parameter of SpikeSlab must be a finite number in (1, inf)"),
            (0.1, 0.5, "'c' parameter"),
            (0.1, None, "'c' parameter"),
            ([0.1, -0.2], 100, "'tau' parameter"),
            ({"a": 0.1}, {"a": 1.0}, "'c' parameter"),
            ({}, 100, "'tau' parameter"),
            ({1: 0.1}, 100, "'tau' parameter"),
            ([[0.1]], 100, "'tau' parameter"),
            (1e200, 100, "since it is squared"),
        ],
    )
    def test_what_it_must_be(self, tau, c, message):
        with pytest.raises(rj.ParameterError, match=re.escape(message)):
            rj.SpikeSlab(tau, c)

    @pytest.mark.parametrize("name", ["scaled", "standardize"])
    def test_switches(self, name):
        with pytest.raises(rj.ParameterError, match=f"'{name}' parameter of SpikeSlab must be True or False"):
            rj.SpikeSlab(0.1, 100, **{name: 1})

    def test_names_sequences_and_numbers_say_the_same(self):
        numbers = (0.1, 0.2, 0.3, 0.4, 0.5)
        by_name = {"f": 9.0, "a": 0.1, "b": 0.2, "c": 0.3, "f[T.v]": 0.4, "f[T.w]": 0.5}
        for tau in (numbers, list(numbers), np.array(numbers), by_name):
            model = rj.linear(FORMULA, DATA, coef_prior=rj.SpikeSlab(tau, 9))
            scale = model.regression.scale
            np.testing.assert_allclose(model.regression.prior.precision, (scale * numbers) ** -2.0)
        model = rj.linear(FORMULA, DATA, coef_prior=rj.SpikeSlab(0.1, {"a": 4, "b": 5, "c": 6, "f": 7}))
        np.testing.assert_array_equal(model.regression.prior.ratio, [4, 5, 6, 7, 7])
        model = rj.linear(FORMULA, DATA, coef_prior=rj.SpikeSlab(0.1, 9, standardize=True))
        np.testing.assert_allclose(model.regression.prior.precision, 100.0)

    def test_descriptions_are_values(self):
        one, other = (rj.SpikeSlab({"a": 0.1, "b": 0.2}, [2.0, 3.0]) for _ in range(2))
        assert one == other
        assert hash(one) == hash(other)
        assert one != rj.SpikeSlab({"a": 0.1, "b": 0.3}, [2.0, 3.0])

    def test_names_that_are_missing_or_not_known(self):
        with pytest.raises(rj.UnknownNameError, match=r"unknown name 'd' in 'tau'"):
            rj.linear(FORMULA, DATA, coef_prior=rj.SpikeSlab({"a": 1, "b": 1, "c": 1, "f": 1, "d": 1}, 9))
        with pytest.raises(rj.ParameterError, match=r"'c' parameter of SpikeSlab.*none for b, f\[T\.w\]"):
            rj.linear(FORMULA, DATA, coef_prior=rj.SpikeSlab(1.0, {"a": 2, "c": 2, "f[T.v]": 2}))
        with pytest.raises(rj.ParameterError, match="one number for each of the 5 columns"):
            rj.linear(FORMULA, DATA, coef_prior=rj.SpikeSlab([1.0, 2.0], 9))

    def test_other_families_have_none(self):
        binary = DATA.assign(y=(DATA["y"] > 1).astype(int))
        with pytest.raises(rj.ParameterError, match="'coef_prior' parameter of LogitSelection"):
            rj.logit(FORMULA, binary, coef_prior=rj.SpikeSlab(0.1, 9))

    def test_screening_takes_the_numbers_of_the_kept_columns(self):
        prior = rj.SpikeSlab(
            {"a": 0.1, "b": 0.2, "c": 0.3, "f": 0.4}, (9.0, 8.0, 7.0, 6.0, 5.0), standardize=True
        )
        sigma = rj.InverseGamma([2.0, 2.5, 3.0, 3.5, 4.0], 1.0)
        results = fit(prior, sigma_prior=sigma, sampler="enumerate")
        smaller = results.screen(float(results.inclusion["posterior"].nlargest(2).iloc[-1]) - 1e-9)
        kept = list(smaller.term_names)
        assert len(kept) == 2
        by_term = {"a": [0.1], "b": [0.2], "c": [0.3], "f": [0.4, 0.4]}
        want = np.concatenate([by_term[name] for name in kept])
        np.testing.assert_allclose(smaller.regression.prior.precision, want**-2.0)
        np.testing.assert_array_equal(smaller.regression.sigma[0], [2.0, 2.5, 3.0])
        assert smaller.fit(sampler="gibbs", rng=1, draws=200, chains=2).posterior.gamma.shape[1] == 2


class TestInverseGamma:
    @pytest.mark.parametrize("bad", [0, -1.0, np.inf, "x", None, [], [1.0, 0.0], [[1.0]], True])
    def test_what_it_must_be(self, bad):
        with pytest.raises(rj.ParameterError, match="'a' parameter of InverseGamma"):
            rj.InverseGamma(bad, 1.0)
        with pytest.raises(rj.ParameterError, match="'b' parameter of InverseGamma"):
            rj.InverseGamma(1.0, bad)

    def test_density(self):
        assert rj.InverseGamma(2.5, 3.0).logpdf(0.7) == pytest.approx(
            stats.invgamma(2.5, scale=3.0).logpdf(0.7)
        )
        by_size = rj.InverseGamma([1.0, 2.5], 3.0)
        assert by_size.logpdf(0.7, 1) == pytest.approx(stats.invgamma(2.5, scale=3.0).logpdf(0.7))

    def test_one_for_each_size(self):
        with pytest.raises(rj.ParameterError, match=r"must be a number or have 5 entries.*Got 3 instead"):
            rj.linear(FORMULA, DATA, coef_prior=rj.SpikeSlab(1, 9), sigma_prior=rj.InverseGamma([1, 2, 3], 1))
        with pytest.raises(rj.ParameterError, match=r"'sigma_prior' parameter of LinearSelection.*SpikeSlab"):
            rj.linear(FORMULA, DATA, sigma_prior=rj.InverseGamma([1, 2, 3, 4, 5], 1))


class TestFits:
    def test_results(self):
        results = fit(rj.SpikeSlab(0.1, 100), weights="w", draws=500)
        assert results.sampler == "gibbs"
        assert results.draws.coefficients.shape == (2, 500, 6)
        assert results.draws.variance.shape == (2, 500)
        assert np.all(results.draws.coefficients != 0)
        text = str(results.summary())
        for part in ("gibbs", "SpikeSlab(tau=0.1, c=100", "1 / sigma^2", "2 x 500"):
            assert part in text
        table = results.coefficients
        assert list(table.index) == ["Intercept", *COLUMNS]
        assert table.notna().all(axis=None)
        forecast = results.get_prediction(DATA.head(3)).summary_frame()
        assert np.all(forecast["obs_ci_lower"] < forecast["mean_ci_lower"])
        for which in ("hpm", "mpm"):
            assert results.predict(DATA.head(3), which=which).notna().all()
        assert {"acceptance_flip", "acceptance_swap", "ess_size"} <= set(results.diagnostics.columns)

    @pytest.mark.parametrize("prior", [rj.HyperG(3), rj.Normal(1.0, scaled=False), rj.SpikeSlab(0.1, 100)])
    def test_a_seed_says_all(self, prior):
        one, other = (fit(prior) for _ in range(2))
        pd.testing.assert_frame_equal(one.inclusion, other.inclusion)
        np.testing.assert_array_equal(one.draws.coefficients, other.draws.coefficients)
        np.testing.assert_array_equal(one.draws.variance, other.draws.variance)

    def test_start(self):
        for start in ("empty", ["a", "f"]):
            assert fit(rj.SpikeSlab(0.1, 100), start=start).posterior.probability.sum() == pytest.approx(1)
        with pytest.raises(rj.UnknownNameError, match="unknown term 'd' in 'start'"):
            fit(rj.SpikeSlab(0.1, 100), start=["d"])
        with pytest.raises(rj.ParameterError, match="must be a feasible model"):
            fit(rj.GPrior("n"), start=["a", "b"], max_size=1)

    def test_options(self):
        with pytest.raises(rj.ParameterError, match="'scheme' parameter of sampler='gibbs' must be one of"):
            fit(rj.GPrior("n"), scheme="both")
        with pytest.raises(rj.ParameterError, match="'swaps' parameter"):
            fit(rj.GPrior("n"), swaps=-1)
        with pytest.raises(rj.NotAvailableError, match=r"scheme='conditional'.*needs a SpikeSlab"):
            fit(rj.GPrior("n"), scheme="conditional")
        assert fit(rj.GPrior("n"), swaps=0).diagnostics["acceptance_swap"].isna().all()

    @pytest.mark.parametrize("scheme", ["collapsed", "conditional"])
    @pytest.mark.parametrize("scaled", [True, False])
    class TestEdges:
        """Whatever is odd about the data, enumeration and sampler agree to within a rough error."""

        def check(self, scaled, scheme, formula, data, **options):
            prior = rj.SpikeSlab(0.2, 25, scaled=scaled)
            found = fit(prior, formula, data, scheme=scheme, draws=1500, **options)
            exact = fit(prior, formula, data, sampler="enumerate", **options)
            # 3,000 draws, in conditional sweeps worth a tenth of that: 6 standard errors of a share.
            np.testing.assert_allclose(found.inclusion["posterior"], exact.inclusion["posterior"], atol=0.17)
            spread = exact.bse.to_numpy()
            away = np.abs(found.params - exact.params).to_numpy()
            assert np.all(away <= 0.4 * spread + 1e-12)
            return found

        def test_one_term(self, scaled, scheme):
            self.check(scaled, scheme, "y ~ a", DATA)

        def test_no_term(self, scaled, scheme):
            """600 independent draws: sigma^2 is an inverse gamma variate of 39 degrees of freedom."""
            found, y, n = (
                fit(rj.SpikeSlab(0.2, 25, scaled=scaled), "y ~ 1", DATA, scheme=scheme),
                DATA["y"],
                len(DATA),
            )
            # Six standard errors, of the mean of sigma^2 with its tail of some 10 % more than a normal one.
            assert found.params["Intercept"] == pytest.approx(y.mean(), abs=6 * y.std() / np.sqrt(600 * n))
            mean = y.var() * (n - 1) / (n - 3)
            assert found.draws.variance.mean() == pytest.approx(mean, rel=6 * np.sqrt(2 / (n - 5) / 600))

        def test_all_terms_always_in(self, scaled, scheme):
            found = self.check(scaled, scheme, "y ~ a + b", DATA, always=["a", "b"])
            np.testing.assert_array_equal(found.inclusion["posterior"], 1.0)

        def test_equal_columns(self, scaled, scheme):
            data = DATA.assign(b=DATA["a"], c=1.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rj.RankWarning)
                found = self.check(scaled, scheme, "y ~ a + b + c", data)
            # The constant column is a prior draw: its inclusion is that of the prior given the others.
            assert 0 < found.inclusion["posterior"]["c"] < 1

        def test_fewer_rows_than_columns(self, scaled, scheme):
            self.check(scaled, scheme, FORMULA, DATA.head(4), sigma_prior=rj.InverseGamma(3, 2))

        def test_two_rows(self, scaled, scheme):
            self.check(scaled, scheme, "y ~ a", DATA.head(2), sigma_prior=rj.InverseGamma(4, 2))

        def test_a_perfect_fit(self, scaled, scheme):
            data = DATA.assign(y=2.0 * DATA["a"])
            self.check(scaled, scheme, "y ~ a + b", data, sigma_prior=rj.InverseGamma(2, 1))

        def test_a_constant_response(self, scaled, scheme):
            data = DATA.assign(y=3.0)
            self.check(scaled, scheme, "y ~ a + b", data, sigma_prior=rj.InverseGamma(2, 1))
            with pytest.raises(rj.DataError, match="constant"):
                fit(rj.SpikeSlab(0.2, 25, scaled=scaled), "y ~ a + b", data, scheme=scheme)

        def test_weights_and_offset(self, scaled, scheme):
            data = DATA.assign(o=np.linspace(-1, 1, len(DATA)), w=DATA["w"] * (np.arange(len(DATA)) > 3))
            self.check(scaled, scheme, FORMULA, data, weights="w", offset="o")


def test_perfect_fits_without_a_prior_of_sigma():
    data = DATA.assign(y=2.0 * DATA["a"])
    with pytest.raises(rj.DataError, match="fit the response perfectly"):
        rj.linear("y ~ a + b", data, coef_prior=rj.SpikeSlab(0.1, 9))
    with pytest.raises(rj.DataError, match="columns that outnumber rows"):
        rj.linear(FORMULA, DATA.head(5), coef_prior=rj.SpikeSlab(0.1, 9))
    # Priors that scale with sigma keep the posterior proper.
    results = fit(rj.SpikeSlab(0.1, 9, scaled=True), "y ~ a + b", data, sampler="enumerate")
    assert np.isfinite(results.models["log_marginal"]).all()
    assert fit(rj.SpikeSlab(0.1, 9, scaled=True), FORMULA, DATA.head(4)).posterior.probability[0] > 0


def test_one_row_is_too_few():
    with pytest.raises(rj.DataError, match="at least 2 rows"):
        rj.linear("y ~ a", DATA.head(1), coef_prior=rj.SpikeSlab(0.1, 9))


def test_auto_is_gibbs_where_walks_have_no_closed_form(monkeypatch):
    monkeypatch.setattr("pyrjsel.selection.samplers.registry.most_enumerated", lambda regression: 4)
    for prior in (rj.SpikeSlab(0.1, 9), rj.SpikeSlab(0.1, 9, scaled=True), rj.Normal(1.0, scaled=False)):
        assert fit(prior, sampler="auto").sampler == "gibbs"
        with pytest.raises(rj.NotAvailableError, match="sampler='gibbs'"):
            fit(prior, sampler="collapsed")
    assert fit(rj.GPrior("n"), sampler="auto").sampler == "collapsed"
