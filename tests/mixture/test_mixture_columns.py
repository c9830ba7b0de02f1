"""The columns that predictions of a mixture classifier need."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "dear"])
    data["y"] = np.where(data["a"] + 0.2 * rng.normal(size=80) > 0, "yes", "no")
    model = rj.mixture_classifier("y ~ a + b + dear", data, costs={"a": 1, "b": 2, "dear": 9}, budget=4)
    return model.fit(draws=4000, chains=2, rng=1, progress=False), data


def test_inputs_that_no_draw_has(fitted):
    """That which no budget buys may be absent, NaN or infinite; the others are listed where they lack."""
    results, data = fitted
    assert results.required_columns() == ["a", "b"]
    assert results.prediction_cost() == 3
    whole = results.predict(data)
    for new in (data[["b", "a"]], data.assign(dear=np.nan), data.assign(dear=np.inf)):
        pd.testing.assert_frame_equal(results.predict(new), whole, rtol=0, atol=0)
    with pytest.raises(rj.UnknownNameError, match="needs 2 columns that the data do not have: 'a', 'b'"):
        results.predict(data[["dear"]])


def test_without_costs(fitted):
    data = fitted[1]
    results = rj.mixture_classifier("y ~ a + b", data).fit(draws=4000, chains=2, rng=1, progress=False)
    with pytest.raises(rj.NotAvailableError, match="prediction_cost needs costs"):
        results.prediction_cost()
