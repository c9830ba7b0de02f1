"""Compression changes the cost of a posterior and nothing else."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pyrjsel as rj
from pyrjsel.patterns.prediction import predict_probabilities

CHAINS = 24


def by_chain(results, new):
    """Return predictive probabilities (chains, cases, classes) of each chain."""
    model = results.model
    sigma = results._sigma.reshape(CHAINS, -1, model.order + 1)
    codes = model.features.encode(new)
    return np.array(
        [
            predict_probabilities(
                np.ascontiguousarray(s), scales, model.prior.family, model.compression, model.features, codes,
                np.random.default_rng(k), 2,
            )
            for k, (s, scales) in enumerate(zip(results.draws.s, sigma, strict=True))
        ]
    )  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
@pytest.mark.parametrize(
    ("call", "n_classes"),
    [
        ("interactions(a, b, c, d)", 2),
        ("interactions(a, b, c, d, order=2)", 3),
        ("sequence(a, b, c, d)", 3),
    ],
)
def test_predictive_distributions_are_those_without_compression(call, n_classes, prior):
    """Without compression nothing is ever split: predictions of new cases check groups, matches and splits.

    Welch's t over independent chains, of level 1e-7 for each of 24 cases and at most 3 classes in 6
    settings: a false alarm has probability 4e-5.
    """
    rng = np.random.default_rng(21)
    cases = pd.DataFrame({name: rng.integers(0, 2, 9) for name in "abc"}).assign(d=rng.integers(0, 3, 9))
    cases["y"] = np.arange(9) % n_classes
    new = pd.DataFrame(list(product(range(2), range(2), range(2), range(3))), columns=list("abcd"))
    found = []
    for compress in (True, False):
        model = rj.pattern_logit(
            f"y ~ {call}",
            cases,
            prior=prior,
            sigma_prior=rj.LogNormal(-0.5, 0.3),  # does not fall with the order: parts of groups matter
            sigma_0=1.0,  # not wide, so that chains mix well without compression too
            compress=compress,
        )
        results = model.fit(draws=1000, burn_in=500, thin=2, chains=CHAINS, rng=22 + compress, progress=False)
        found.append(by_chain(results, new))
    assert found[0].shape == (CHAINS, 24, n_classes)
    assert results.model.n_groups == results.model.n_patterns
    # So exact are the probabilities that are compared.
    assert np.max(np.std(found, axis=1) / np.sqrt(CHAINS)) < 0.005
    assert stats.ttest_ind(*found, equal_var=False).pvalue.min() > 1e-7
