"""A small data set, and models of it, for tests of input."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

N = 60
COSTS = {"x": 1.0, "z": 2.0, "g": 3.0}


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "z": rng.normal(size=N),
            "g": list("abc") * (N // 3),
            "w": rng.integers(1, 5, N),
            "o": rng.normal(size=N),
        }
    )
    return frame.assign(y=(rng.random(N) < 1 / (1 + np.exp(-frame["x"]))).astype(int))


FRAME = make_frame()


def build(formula="y ~ x + z + g", data=None, **options):
    return rj.logit(formula, FRAME if data is None else data, **options)


def arrays(endog=None, exog=None, **options):
    return rj.LogitSelection(
        FRAME["y"] if endog is None else endog, FRAME[["x", "z", "g"]] if exog is None else exog, **options
    )


def changed(**columns):
    return FRAME.assign(**columns)


def at_row_3(column, value):
    return changed(**{column: FRAME[column].astype(float).where(FRAME.index != 3, value)})


def walk(model=None, **options):
    settings = {"sampler": "rjmcmc", "draws": 20, "chains": 2, "rng": 1, "progress": False}
    return (model or build()).fit(**{**settings, **options})


def check(call, kind, pattern):
    """The error is of this class, its message matches and reads as sentences on one line."""
    with pytest.raises(kind, match=f"(?s){pattern}") as caught:
        call()
    message = str(caught.value)
    assert message[0] not in "'\"(" or message.startswith('"costs')  # no repr of a message, no tuple
    assert message.rstrip().endswith((".", "?"))
    assert "\n" not in message
    assert isinstance(caught.value, rj.PyrjselError)
