"""Formulas and responses as users of R and newcomers write them: one sentence says what to write here."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.design import Design
from pyrjsel.sklearn import SelectionRegressor

RANDOM = "random effects are not available; write C(g)"
POWER = "write the power as I(x**2)"

# A formula, and what its message holds.
REFUSED = {
    "Surv(t, d) ~ x": 'write rj.cox("t ~ ...", data, event="d")',
    "survival::Surv(t, d == 1) ~ x": "write rj.cox(\"t ~ ...\", data, event=data.eval('d == 1'))",
    "Surv(t) ~ x": 'write rj.cox("t ~ ...", data, event=None)',
    "Surv(t, s, d) ~ x": 'give the follow-up time as response, event="d"',
    "cbind(n - y, y) ~ x": "I((n - y) / ((n - y) + y))",
    "cbind(success, failure) ~ x": "weights=data.eval('success + failure')",
    "success | trials(n) ~ x": "pass n as the parameter weights=",
    "y ~ x + offset(log(n))": "such as np.log(data['n']), as the parameter offset=",
    "y ~ x + (1 | g)": RANDOM,
    "y ~ (x || g)": RANDOM,
    "y ~ (x | g)": "random effects are not available",
    "y ~ x + frailty(g)": RANDOM,
    "y ~ x + strata(g)": "write C(g) for a factor",
    "y ~ x + cluster(g)": "leave it out, or write C(g) for a factor",
    "y ~ factor(g)": "write C(g) for a factor",
    "y ~ as.factor(g)": "write C(g) for a factor",
    "y ~ relevel(g, ref='v')": "write C(g, Treatment('v'))",
    "y ~ C(g, ref='v')": "write a reference level as C(x, Treatment('a'))",
    "y ~ as.numeric(g)": "pandas.to_numeric",
    "y ~ rcs(x, 4)": "cr(x, df=3)",
    "y ~ ns(x, 3)": "cr(x, df=3)",
    "y ~ splines::ns(x, df = 5)": "cr(x, df=5)",
    "y ~ s(x)": "cr(x, df=4) or bs(x, df=4)",
    "y ~ pspline(x, df=3)": "cr(x, df=3) or bs(x, df=3)",
    "y ~ te(x, a)": "te(cr(x, df=3), cr(a, df=3))",
    "y ~ ti(x, a)": "te(cr(x, df=3), cr(a, df=3))",
    "y ~ bs(x)": "must specify either df or knots",
    "y ~ poly(x, 2, raw=TRUE)": "write poly(x, 2), whose powers are raw",
    "y ~ .^2": "write powers as **, as in (a + b)**2",
    "y ~ (a+b)^2": "write powers as **, as in (a + b)**2",
    "y ~ x^2": POWER,
    "y ~ I(x^2)": POWER,
    "y ~ x**2": POWER,
    "y ~ np.power(x, 2)": "write I(x**2)",
    "y ~ pow(x, 2)": "write I(x**2)",
    "y ~ ln(x)": "write np.log(x)",
    "y ~ math.log(x)": "write np.log()",
    "y ~ pmax(x, 2)": "write np.maximum(x, 2)",
    "y ~ ifelse(x > 2, 1, 0)": "write np.where(x > 2, 1, 0)",
    "y ~ cut(x, 3)": "pandas.cut",
    "y ~ lag(x)": "compute it as a column of the data first",
    "y ~ np.mean(x)": "compute it as a column of the data first",
    "y ~ class": "write the column as Q('class')",
    "y ~ x + def": "write the column as Q('def')",
    "y ~ np.log(lambda)": "write the column as Q('lambda')",
    "y ~ if": "write the column as Q('if')",
    "y ~ my col": "as Q('my col')",
    "y ~ `my col`": "write the column as Q('my col')",
    "y ~ 'my col'": "unusual column names inside Q()",
    "y ~ data$x": "without 'data$'",
    "y ~ data['x']": "write the name of a column alone",
    "y ~ Solar.R": "Q('Solar.R')",
    "y ~ x, a": "write + between terms",
    "y ~ x \u2212 1": "U+2212 (minus sign); type - instead",
    "y ~ x\u00a0+ a": "U+00A0 (no-break space); type a space instead",
    "y ~ x + \u200ba": "U+200B (zero width space); type nothing instead",
    "y ~ Q(\u201cmy col\u201d)": "type a straight quotation mark instead",
    "y ~ C(g, levels=[\u2018u\u2019])": "type a straight quotation mark instead",
    "y \u223c x": "type ~ instead",
    "y ~ x\u00b2": "type a power, as in I(x**2)",
    "y ~ a %in% b": "a nested term as a:b",
    "y ~ g %in% c('u', 'v')": "I((x == 'a') | (x == 'b'))",
    "y ~ I(x %% 2)": "I(x % 2)",
    "y ~ I(x == TRUE)": "Write True",
    "y ~ !d": "write 'not' as ~",
    "y ~ x > 2 & a > 0": "as in I((a > 1) & (b > 1))",
    "y ~ (x > 2) & (a > 0)": "inside I(), as in I((a > 1) & (b > 1))",
    "y ~ (x > 2)|a": "inside I(), as in I((a > 1) | (b > 1))",
    "y ~ sum(x)": "as a column of the data first",
    "y ~ x**.5": "write powers of values inside I()",
    "y ~ (x > 2) && (a > 0)": "(a > 1) & (b > 1)",
    "y ~ x##a": "write main effects and interaction as a*b",
    "y ~ 0 + x": "Leave out '- 1' or '+ 0'",
    "y ~ x - 1": "Leave out '- 1' or '+ 0'",
    "y ~": "a term is missing at its end",
    f"y ~ s({'-' * 2000}x)": "cr(x, df=4)",
    "y ~ C(g, levels=c('u', 'v'))": "a list of numbers or strings, such as ['a', 'b']",
}
# What is the same here, or what a message says to write, and the number of terms.
ACCEPTED = {
    "y ~ a:b": 1,
    "y ~ a*b": 3,
    "y ~ (a + b)**2": 3,
    "y ~ log(x)": 1,
    "y ~ poly(x, 2)": 2,
    "y ~ x + a - x": 1,
    "y ~ cr(x, df=3)": 1,
    "y ~ te(cr(x, df=3), cr(a, df=3))": 1,
    "y ~ Q('class') + Q('my col')": 2,
    "y ~ C(g, Treatment('v'))": 1,
    "y ~ I((g == 'u') | (g == 'v'))": 1,
    "y ~ I((x > 2) & (a > 0))": 1,
    "y ~ I(x**2) + np.where(x > 2, 1, 0)": 2,
    "y ~ I((x > 2) ^ True)": 1,
}


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    made = pd.DataFrame(rng.uniform(1, 5, (60, 8)), columns=["y", "x", "a", "b", "t", "s", "class", "my col"])
    return made.assign(
        g=rng.choice([*"uvw"], 60),
        d=rng.integers(0, 2, 60),
        success=rng.integers(0, 5, 60),
        failure=rng.integers(1, 5, 60),
    )


@pytest.mark.parametrize("formula", REFUSED)
def test_a_formula_is_refused_with_what_to_write(frame, formula):
    with pytest.raises((rj.FormulaError, rj.UnknownNameError)) as caught:
        rj.linear(formula, frame)
    message = str(caught.value)
    assert REFUSED[formula] in message
    assert "LinearSelection" in message
    assert "A formula may use" not in message  # the list of all functions
    assert len(message) < 300


@pytest.mark.parametrize("formula", ACCEPTED)
def test_what_is_told_to_write_can_be_read(frame, formula):
    assert len(rj.linear(formula, frame).term_names) == ACCEPTED[formula]


def test_other_models_say_the_same(frame):
    for fit in (
        lambda: rj.pattern_logit("d ~ interactions(factor(g), order=1)", frame),
        lambda: rj.mixture_classifier("g ~ factor(g)", frame),
        lambda: rj.kernel_regression("y ~ factor(g)", frame),
        lambda: rj.cox("t ~ factor(g)", frame, event="d"),
        lambda: rj.linear("y ~ factor(g)", lambda: iter([frame])),
    ):
        with pytest.raises(rj.FormulaError, match=r"write C\(g\) for a factor"):
            fit()


def test_a_function_of_the_user_comes_before_advice(frame):
    model = rj.linear("y ~ s(x) + cut(a)", frame, functions={"s": np.sqrt, "cut": np.floor})
    assert model.term_names == ("s(x)", "cut(a)")


def test_the_calls_that_are_spelled_run(frame):
    assert rj.cox("t ~ x", frame, event=frame.eval("d == 1")).nobs == 60
    model = rj.logit("I(success / (success + failure)) ~ x", frame, weights=frame.eval("success + failure"))
    assert model.nobs == 60


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (
            ["no", "yes"],
            "use rj.logit, for the probability of 'yes', or of 'no' with the response I(w == 'no')",
        ),
        (["False", "True"], "use rj.logit, for the probability of 'True'"),
        (["case", "control"], "or of 'case' with the response I(w == 'case')"),
        ([*"abc"], "use rj.multinomial for classes"),
        (["1", "2", "3"], "pandas.to_numeric"),
        (["same"], "'same' in all rows"),
        ([f"name {k}" for k in range(60)], "make it numeric in the data first"),
    ],
)
def test_a_response_of_text_points_to_its_model(frame, labels, says):
    frame["w"] = np.resize(labels, 60)
    for model in (rj.linear, rj.poisson, rj.kernel_regression):
        with pytest.raises(rj.DataError) as caught:
            model("w ~ x", frame)
        assert "The response 'w' of" in str(caught.value)
        assert says in str(caught.value)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([0, 1, 2, 7], "use rj.poisson for counts and rj.multinomial for classes"),
        ([1, 2], "make the event a comparison, as I(w == 2) in a formula"),
        ([-1, 1], "make the event a comparison, as I(w == 1) in a formula"),
        ([-1.5, 0.2, 3.0], "use rj.linear for measurements"),
        ([0.2, 0.4, 1.0], "a proportion with weights="),
    ],
)
def test_numbers_that_are_no_events_point_to_their_model(frame, values, says):
    frame["w"] = np.resize(np.asarray(values, dtype=float), 60)
    for model in (rj.logit, rj.probit, rj.cloglog):
        with pytest.raises(rj.DataError) as caught:
            model("w ~ x", frame)
        assert says in str(caught.value)


def test_splines_that_would_repeat_the_intercept_are_centred(frame):
    """Those that repeat another term as well; a saved design has the same columns."""
    for short, long in (
        ("cr(x, df=4)", "cr(x, df=4, constraints='center')"),
        ("cc(x, df=4) + a", "cc(x, df=4, constraints='center') + a"),
        ("a*cr(x, df=3)", "a*cr(x, df=3, constraints='center')"),
        ("a + a:cr(x, df=3)", "a + a:cr(x, df=3, constraints='center')"),
        ("te(cr(x, df=3), cr(a, df=3))", "te(cr(x, df=3), cr(a, df=3), constraints='center')"),
        ("a:cr(x, df=3)", "a:cr(x, df=3, constraints=None)"),  # it repeats nothing
    ):
        design, data = Design.from_formula(f"y ~ {short}", frame)
        _, expected = Design.from_formula(f"y ~ {long}", frame)
        np.testing.assert_array_equal(data.X, expected.X)
        assert "constraints" not in str(design.column_names)
        again = Design.from_dict(design.to_dict())
        np.testing.assert_array_equal(again.transform(frame).X, data.X)
        assert again.column_names == design.column_names
    assert len(rj.linear("y ~ cr(x, df=4)", frame).design.column_names) == 4
    chunked = rj.linear("y ~ cr(x, knots=[2, 3])", lambda: iter([frame[:31], frame[31:]]))
    whole = rj.linear("y ~ cr(x, knots=[2, 3])", frame)
    np.testing.assert_allclose(
        chunked.design.transform(frame).X, whole.design.transform(frame).X, rtol=0, atol=1e-12
    )
    with pytest.raises(rj.FormulaError, match="df=1 must be at least 2"):
        rj.linear("y ~ cr(x, df=1)", frame)


def test_events_and_offsets_are_told_as_values(frame):
    frame["state"] = np.resize(["alive", "dead"], 60)
    frame["status"] = frame["d"] + 1
    for event, says in (
        ("state", "event=data['state'] == 'dead'"),
        ("status", "event=data['status'] == 2"),
        ("d == 1", "pass the computed values"),
    ):
        with pytest.raises((rj.DataError, rj.UnknownNameError)) as caught:
            rj.cox("t ~ x", frame, event=event)
        assert says in str(caught.value)
    for data in (frame, lambda: iter([frame])):
        with pytest.raises(rj.UnknownNameError, match=r"'log\(x\)', no column; pass"):
            rj.poisson("d ~ a", data, offset="log(x)")


def test_a_regressor_of_labels_points_to_the_classifier(frame):
    for X in (frame[["x", "a"]], frame[["x", "g"]]):
        with pytest.raises(rj.DataError, match="use SelectionClassifier"):
            SelectionRegressor().fit(X, np.resize(["no", "yes"], 60))
