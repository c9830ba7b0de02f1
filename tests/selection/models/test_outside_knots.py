"""Rows outside the boundary knots of a spline have no prediction, and a warning counts them."""

import numpy as np
import pytest

import pyrjsel as rj


def test_predictions_outside_the_knots_are_unknown():
    births = rj.datasets.birthwt().data
    results = rj.logit("low ~ bs(age, df=3) + lwt", births).fit(rng=1)
    new = births[["age", "lwt"]].head(4).astype(float)
    inside = results.predict(new)
    new.iloc[1, 0] = 90.0
    with pytest.warns(rj.PyrjselWarning, match="1 of 4 rows are outside boundary knots") as caught:
        found = results.predict(new)
    assert caught[0].filename == __file__
    assert np.flatnonzero(found.isna()).tolist() == [1]
    np.testing.assert_array_equal(found.dropna(), inside.iloc[[0, 2, 3]])
    with pytest.warns(rj.PyrjselWarning, match="1 of 4 rows"):
        assert results.get_prediction(new).summary_frame().isna().all(axis=1).tolist() == [
            False,
            True,
            False,
            False,
        ]
