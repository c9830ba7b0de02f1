"""Compression changes the cost of a posterior and nothing else."""

import numpy as np
import pytest
from scipy import stats

import pyrjsel as rj
from pyrjsel.patterns.predict import predict_probabilities

CHAINS = 12


def by_chain(results, new):
    """Predictive probabilities (cases, classes) of each chain."""
    model = results.model
    sigma = results._sigma.reshape(CHAINS, -1, model.order + 1)
    return np.array(
        [
            predict_probabilities(
                np.ascontiguousarray(s), scales, model.prior.family, model.compression, model.features, new,
                np.random.default_rng(k), 4,
            )
            for k, (s, scales) in enumerate(zip(results.draws.s, sigma, strict=True))
        ]
    )  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
@pytest.mark.parametrize("kind", ["interactions", "sequence"])
def test_predictive_distributions_are_those_without_compression(kind, prior):
    rng = np.random.default_rng(21)
    codes = rng.integers(0, 2, size=(40, 5))
    codes[:, 3] = np.where(rng.random(40) < 0.9, codes[:, 4], codes[:, 3])
    y = (codes[:, 4] + (rng.random(40) < 0.2)) % 2 + (rng.random(40) < 0.1)
    new = np.array([[0, 1, 0, 1, 0], [1, 1, 1, 0, 1], [0, 0, 1, 0, 1], [1, 0, 1, 1, 0]], dtype=np.int32)
    found = []
    for compress in (True, False):
        # A scale of order 0 that is not wide lets both mix well.
        model = rj.PatternLogit(y, codes, kind=kind, prior=prior, sigma_0=1.0, compress=compress)
        results = model.fit(draws=1500, thin=3, burn_in=500, chains=CHAINS, rng=22 + compress, progress=False)
        found.append(by_chain(results, new))
    assert results.model.n_groups == results.model.n_patterns
    # Welch's t over 12 independent chains: 4 x 12 tests of level 1e-7. Errors of probabilities are about
    # .002, which the test must not exceed for its own sake.
    assert np.max(np.std(found, axis=1) / np.sqrt(CHAINS)) < 0.005
    assert stats.ttest_ind(*found, equal_var=False).pvalue.min() > 1e-7
