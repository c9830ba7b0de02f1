"""rj.linear as users see it: tables, predictions, invariances, errors."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import pyrjsel as rj
from pyrjsel.families import Gaussian

INVERSE_GAMMA = rj.InverseGamma(2.0, 3.0)


def make_frame(n=60, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n) + 4, "z": rng.normal(size=n), "u": rng.normal(size=n)})
    frame["g"] = np.array(list("abc"))[rng.integers(0, 3, n)]
    frame["w"] = rng.integers(1, 5, n)
    frame["o"] = rng.normal(size=n)
    frame["y"] = 2 + frame["x"] - 0.4 * frame["z"] + (frame["g"] == "b") + rng.normal(size=n)
    return frame


FRAME = make_frame()


def fit(formula="y ~ x + z + u + g", data=None, **options):
    return rj.linear(formula, FRAME if data is None else data, **options).fit(progress=False, rng=1)


class TestTables:
    results = fit(weights="w", offset="o")

    def test_enumeration_has_no_monte_carlo_error(self):
        assert self.results.sampler == "enumerate"
        assert (self.results.inclusion["mcse"] == 0).all()
        assert self.results.inclusion["ess"].isna().all()
        assert (self.results.models["mcse"] == 0).all()
        assert self.results.models["posterior"].sum() == pytest.approx(1)
        assert self.results.covered == pytest.approx(1)

    def test_deviance_is_minus_twice_llf(self):
        for row in self.results.models.itertuples():
            part = FRAME[[term for term in row.terms if term != "g"]]
            if "g" in row.terms:
                part = part.join(pd.get_dummies(FRAME["g"], drop_first=True).astype(float))
            found = sm.WLS(FRAME["y"] - FRAME["o"], part.assign(one=1.0), weights=FRAME["w"]).fit()
            assert row.deviance == pytest.approx(-2 * found.llf)

    def test_log_marginals_and_odds_agree(self):
        table = self.results.models
        prior = self.results.model.space.log_prior(self.results.posterior.gamma)
        log_odds = table["log_marginal"].iloc[0] + prior[0] - table["log_marginal"] - prior
        np.testing.assert_allclose(np.log(table["odds"]), log_odds, atol=1e-9)

    def test_summary_says_what_was_fitted(self):
        text = str(self.results.summary())
        for part in (
            "Linear model selection",
            "1 / sigma^2",
            "GPrior(g='n')",
            "Weights",
            "Mean (sd)",
            "exact",
        ):
            assert part in text
        assert "separated" not in text
        assert self.results.separated == {}
        assert "<SelectionResults of enumerate" in repr(self.results)
        assert "a=2.0" in str(fit(sigma_prior=INVERSE_GAMMA).summary())

    def test_coefficients(self):
        table = self.results.coefficients
        assert list(table.index) == ["Intercept", "x", "z", "u", "g[T.b]", "g[T.c]"]
        # The data were made with a slope of 1 and unit errors in 60 weighted rows: an sd between 0.1 and 0.2.
        assert 0.1 < table.loc["x", "sd"] < 0.2
        assert abs(table.loc["x", "mean"] - 1.0) < 3 * table.loc["x", "sd"]
        assert (table["ci_lower"] <= table["ci_upper"]).all()
        assert table.loc["x", "prob_positive"] > 0.999


def test_screening_keeps_the_error_variance_prior():
    screened = fit(sigma_prior=INVERSE_GAMMA).screen(0.5)
    assert isinstance(screened, rj.LinearSelection)
    assert "x" in screened.term_names
    assert screened.regression.a == 2.0


def test_runs_are_compared_by_what_their_priors_are():
    base = fit()
    assert len(rj.compare_samplers([base, fit(coef_prior=rj.GPrior(60.0))])) == 2
    for other, what in (
        (fit(coef_prior=rj.ZellnerSiow()), "coefficient prior"),
        (fit(coef_prior=rj.HyperG(3)), "coefficient prior"),
        (fit(sigma_prior=INVERSE_GAMMA), "error variance prior"),
    ):
        with pytest.raises(rj.ParameterError, match=f"another {what}"):
            rj.compare_samplers([base, other])
    with pytest.raises(rj.ParameterError, match="another coefficient prior"):
        rj.compare_samplers([fit(coef_prior=rj.HyperG(3)), fit(coef_prior=rj.HyperGN(3))])


class TestPrediction:
    def test_one_model_is_student(self):
        """A model that holds all terms: the predictive law of a row is a Student distribution.

        Means are exact, but for the shrinkage of one in a million; ends of intervals, of 4,000 draws, are
        within 0.2 standard deviations.
        """
        results = fit("y ~ x + z", always=("x", "z"), coef_prior=rj.GPrior(1e6))
        fitted = sm.OLS(FRAME["y"], sm.add_constant(FRAME[["x", "z"]])).fit()
        new = FRAME.head(5)
        found = results.get_prediction(new).summary_frame(alpha=0.1)
        want = fitted.get_prediction(sm.add_constant(new[["x", "z"]])).summary_frame(alpha=0.1)
        scale = np.sqrt(fitted.scale)
        # N + 2a = 59 degrees of freedom in place of statsmodels' 57.
        for name in want:
            tolerance = 1e-5 if name == "mean" else 0.2 * scale
            np.testing.assert_allclose(found[name], want[name], rtol=0, atol=tolerance)
        np.testing.assert_allclose(results.predict(new), found["mean"])

    def test_observation_intervals_hold_new_observations(self):
        """1,000 new rows of the same law: six standard errors of 0.0095, and 0.02 for what 60 rows tell."""
        new = make_frame(1000, seed=9)
        found = fit().get_prediction(new).summary_frame(alpha=0.1)
        inside = (new["y"] > found["obs_ci_lower"]) & (new["y"] < found["obs_ci_upper"])
        assert abs(inside.mean() - 0.9) < 0.08

    def test_quantiles_of_mixtures_are_exact(self):
        rng = np.random.default_rng(2)
        means, variance = (
            rng.normal(size=(7, 300)) * [[0.01], [1], [5], [100], [1e-8], [3], [0]],
            rng.gamma(2, size=300),
        )
        ends = Gaussian().interval(means, 0.02, {"variance": variance})
        for p, column in ((0.01, ends[:, 0]), (0.99, ends[:, 1])):
            below = stats.norm.cdf((column[:, None] - means) / np.sqrt(variance)).mean(axis=1)
            np.testing.assert_allclose(below, p, rtol=0, atol=1e-8)

    def test_rows_of_the_fit_have_their_offset(self):
        results = fit("y ~ x + z", offset="o")
        direct = results.predict(FRAME)
        np.testing.assert_allclose(results.predict(), direct)
        plain = fit("shifted ~ x + z", FRAME.assign(shifted=FRAME["y"] - FRAME["o"]))
        np.testing.assert_allclose(direct, plain.predict(FRAME) + FRAME["o"])


class TestInvariances:
    def same(self, one, other, atol=1e-9):
        np.testing.assert_allclose(
            one.inclusion["posterior"], other.inclusion["posterior"], rtol=0, atol=atol
        )

    @pytest.mark.parametrize("prior", [rj.GPrior("n"), rj.HyperG(3), rj.HyperGN(3), rj.ZellnerSiow()])
    def test_units_do_not_matter_to_g_priors(self, prior):
        base = fit(coef_prior=prior)
        self.same(
            base,
            fit(data=FRAME.assign(x=FRAME["x"] * 1e6 - 3, y=1e-7 * FRAME["y"] + 1), coef_prior=prior),
            1e-7,
        )
        self.same(base, fit(data=FRAME.assign(w=7.0), weights="w", coef_prior=prior))

    def test_coding_of_factors_does_not_matter_to_g_priors(self):
        self.same(fit(), fit("y ~ x + z + u + C(g, Treatment('c'))"))

    def test_rows_of_weight_zero_are_not_there(self):
        w = (FRAME.index < 50).astype(float)
        for prior in (rj.GPrior("n"), rj.Normal(1.0), rj.ZellnerSiow()):
            part = fit(data=FRAME.head(50), coef_prior=prior)
            self.same(fit(data=FRAME.assign(w=w), weights="w", coef_prior=prior), part)

    def test_weights_are_repeated_rows_to_coefficients(self):
        """Not to models: n counts rows. With g fixed, a model's posterior mean is the same."""
        repeated = FRAME.loc[FRAME.index.repeat(FRAME["w"])]
        given = {"coef_prior": rj.GPrior(30.0), "always": ("x", "z")}
        weighted = fit("y ~ x + z", weights="w", **given)
        np.testing.assert_allclose(weighted.params, fit("y ~ x + z", repeated, **given).params)

    def test_scaled_normal_is_the_default(self):
        base = fit(coef_prior=rj.Normal(1.0))
        self.same(base, fit(coef_prior=rj.Normal(1.0, scaled=True)))
        apart = fit(coef_prior=rj.Normal(1.0, scaled=False)).inclusion["posterior"]
        assert np.abs(apart - base.inclusion["posterior"]).max() > 1e-3


def constant(**options):
    return fit(data=FRAME.assign(y=0.1), **options)


def perfect(**options):
    return fit(data=FRAME.assign(y=1 + 2 * FRAME["x"] - FRAME["z"]), **options)


class TestEdges:
    def test_a_constant_response(self):
        with pytest.raises(rj.DataError, match=r"constant.*sigma_prior"):
            constant()
        found = constant(sigma_prior=INVERSE_GAMMA)
        # Nothing to explain: under a g-prior each column costs (1 + g)^(-1/2).
        assert found.best() == ()
        np.testing.assert_allclose(found.params, [0.1, 0, 0, 0, 0, 0], atol=1e-12)

    def test_a_perfect_fit(self):
        for prior in (rj.HyperG(3), rj.HyperGN(3), rj.ZellnerSiow(), rj.Normal(1.0, scaled=False)):
            with pytest.raises(rj.DataError, match=r"perfectly.*sigma_prior"):
                perfect(coef_prior=prior)
            found = perfect(coef_prior=prior, sigma_prior=INVERSE_GAMMA)
            assert {"x", "z"} <= set(found.best())
        # A fixed g leaves 1 / (1 + g) of the sum of squares, a normal prior its own share.
        for prior in (rj.GPrior("n"), rj.Normal(1.0)):
            assert {"x", "z"} <= set(perfect(coef_prior=prior).best())

    def test_more_columns_than_rows_without_a_prior_of_sigma(self):
        """A normal prior in units of the response: models that interpolate have infinite marginals."""
        few = FRAME.head(4)
        with pytest.raises(rj.DataError, match=r"models are infinite.*sigma_prior"):
            fit("y ~ x + z + u", few, coef_prior=rj.Normal(1.0, scaled=False))
        found = fit("y ~ x + z + u", few, coef_prior=rj.Normal(1.0, scaled=False), sigma_prior=INVERSE_GAMMA)
        assert found.models["posterior"].sum() == pytest.approx(1)

    @pytest.mark.filterwarnings("ignore:R-hat:pyrjsel.ConvergenceWarning")  # of 20 draws
    @pytest.mark.filterwarnings("ignore:The run has:pyrjsel.ConvergenceWarning")
    @pytest.mark.parametrize("sampler", ["gibbs", "rjmcmc", "population"])
    def test_samplers_do_not_walk_on_infinite_marginals(self, sampler):
        """Chains with sigma^2 in their state would go on as if nothing were wrong: it only falls, slowly."""
        few = FRAME.head(4)

        def sample(data=few, **options):
            model = rj.linear("y ~ x + z + u", data, coef_prior=rj.Normal(1.0, scaled=False), **options)
            return model.fit(sampler=sampler, draws=20, chains=1, rng=1, n_jobs=1, progress=False)

        with pytest.raises(rj.DataError, match=r"Models of 3 columns fit .* 4 rows perfectly.*sigma_prior"):
            sample()
        for kept in ({"max_size": 2}, {"sigma_prior": INVERSE_GAMMA}):
            assert np.all(sample(**kept).draws.variance > 0)
        # As many columns of a lower rank do not interpolate.
        assert np.all(sample(few.assign(u=few["x"] - few["z"])).draws.variance > 0)

    def test_more_columns_than_rows_under_a_g_prior(self):
        with pytest.warns(
            rj.RankWarning,
            match=r"^There are 5 columns and 4 rows: models of more than 3 columns, and .*'max_size' or 'mod",
        ):
            model = rj.linear("y ~ x + z + u + w + o", FRAME.head(4))
        found = model.fit(progress=False)
        sizes, posterior = found.models["size"], found.models["posterior"]
        assert (posterior[sizes > 3] == 0).all()
        assert (posterior[sizes <= 3] > 0).all()

    @pytest.mark.parametrize("prior", [rj.HyperG(3), rj.HyperGN(3), rj.ZellnerSiow()])
    def test_saturated_models_say_nothing(self, prior):
        """With as many columns as n - 1 the fit is perfect whatever the data: a Bayes factor of 1."""
        with pytest.warns(rj.RankWarning):
            model = rj.linear("y ~ x + z + u + w", FRAME.head(4), coef_prior=prior, model_prior=rj.Uniform())
        table = model.fit(progress=False).models
        null = table.loc[table["size"] == 0, "log_marginal"].item()
        np.testing.assert_allclose(table.loc[table["size"] == 3, "log_marginal"], null, atol=1e-12)

    def test_dependent_columns(self):
        data = FRAME.assign(v=FRAME["x"] + FRAME["z"])
        with pytest.warns(rj.RankWarning, match="x, z, v"):
            model = rj.linear("y ~ x + z + v", data)
        found = model.fit(progress=False)
        assert found.models["posterior"].iloc[-1] == 0
        assert any("linearly dependent" in note for note in found.posterior.notes)
        assert (fit("y ~ x + z + v", data, coef_prior=rj.Normal(1.0)).models["posterior"] > 0).all()

    def test_one_and_two_rows(self):
        with pytest.raises(rj.DataError, match="at least 2 rows"):
            fit("y ~ x", FRAME.head(1), coef_prior=rj.Normal(1.0))
        with pytest.warns(rj.PyrjselWarning, match="no posterior mean"):
            found = fit("y ~ x", FRAME.head(2), coef_prior=rj.Normal(1.0))
        assert found.models["posterior"].sum() == pytest.approx(1)
        assert found.params.isna().all()  # a Cauchy posterior
        assert np.isfinite(found.conf_int().to_numpy()).all()

    def test_no_terms(self):
        for prior in (None, rj.ZellnerSiow(), rj.Normal(1.0), rj.Normal(1.0, scaled=False)):
            found = fit("y ~ 1", coef_prior=prior)
            assert found.params["Intercept"] == pytest.approx(FRAME["y"].mean())
            assert found.covered == 1.0

    def test_zero_weights_everywhere(self):
        with pytest.raises(rj.DataError, match="Got only zeros"):
            fit(weights=np.zeros(60))
        with pytest.raises(rj.DataError, match="non-negative"):
            fit(weights=np.linspace(-1, 1, 60))


class TestParameters:
    def test_priors_of_the_intercept_are_flat(self):
        for prior in (rj.GPrior("n", intercept="joint"), rj.GPrior(4, intercept=rj.Normal(2.0))):
            with pytest.raises(
                rj.ParameterError, match="'intercept' parameter of GPrior must be None or 'flat'"
            ):
                rj.linear("y ~ x", FRAME, coef_prior=prior)
        with pytest.raises(rj.ParameterError, match="'intercept' parameter of Normal"):
            rj.linear("y ~ x", FRAME, coef_prior=rj.Normal(1.0, intercept=rj.Normal(2.0)))

    def test_spikes_are_for_gaussian_models(self):
        binary = FRAME.assign(y=(FRAME["y"] > FRAME["y"].median()).astype(int))
        with pytest.raises(rj.ParameterError, match="'coef_prior' parameter of LogitSelection"):
            rj.logit("y ~ x", binary, coef_prior=rj.SpikeSlab(0.1, 10))
        with pytest.raises(rj.ParameterError, match=r"'coef_prior' parameter of LinearSelection.*HyperG"):
            rj.linear("y ~ x", FRAME, coef_prior=3)

    @pytest.mark.parametrize("bad", [3, "flat", SimpleNamespace(a=1.0), SimpleNamespace(a="1", b=2.0)])
    def test_sigma_prior(self, bad):
        with pytest.raises(rj.ParameterError, match="'sigma_prior' parameter of LinearSelection"):
            rj.linear("y ~ x", FRAME, sigma_prior=bad)

    def test_options_of_other_samplers_are_not_known(self):
        model = rj.linear("y ~ x", FRAME)
        with pytest.raises(rj.UnknownNameError, match="'pairs'"):
            model.fit(pairs=64)
        with pytest.raises(rj.UnknownNameError, match="unknown option 'scheme' for sampler='rjmcmc'"):
            model.fit(sampler="rjmcmc", scheme="fixed")
