"""Cases that run in every test run, and those that are for long runs."""

import pytest


def _param(values, now):
    marks = [] if now else [pytest.mark.statistical]
    if hasattr(values, "values") and hasattr(values, "marks"):  # a pytest.param already
        return pytest.param(*values.values, id=values.id, marks=[*values.marks, *marks])
    return pytest.param(*(values if isinstance(values, tuple) else (values,)), marks=marks)


def every(step, cases, first=0):
    """Each `step`-th case for ``parametrize``, from `first` on; the others are for long runs."""
    return [_param(case, (k - first) % step == 0) for k, case in enumerate(cases)]


def by_turns(first, second):
    """Pairs of two things that do not matter to one another: each second with the next of `first`.

    The other pairs are for long runs.
    """
    return [
        pytest.param(a, b, marks=() if (j + k) % len(first) == 0 else pytest.mark.statistical)
        for k, b in enumerate(second)
        for j, a in enumerate(first)
    ]
