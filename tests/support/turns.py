"""Cases that differ in two ways which have nothing to do with one another."""

import pytest


def by_turns(first, second):
    """Pairs for ``parametrize``: each second with the next of `first`; the other pairs are for long runs."""
    return [
        pytest.param(a, b, marks=() if (j + k) % len(first) == 0 else pytest.mark.statistical)
        for k, b in enumerate(second)
        for j, a in enumerate(first)
    ]
