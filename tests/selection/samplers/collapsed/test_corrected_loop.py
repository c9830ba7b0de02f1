"""Corrected iterations on a surrogate: the compiled loop against one in Python, with the same seed."""

import numpy as np
import pytest

from pyrjsel.model_space import BetaBinomial, Space, pack
from pyrjsel.selection.evidence._table_evidence import TableEvidence
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.samplers._walk import Walk
from pyrjsel.selection.samplers.collapsed._corrected import CorrectedWalk, KnownModels
from pyrjsel.selection.samplers.recording.rao_blackwell import CORRECTED_ROWS

NAMES, POWERS, TIME, THIN = ["a", "b", "c", "d"], np.array([1.0, 0.4]), 0.8, 3


class Case:
    """A surrogate and a posterior at random; one model has no posterior."""

    def __init__(self, kit):
        self.space = kit.case(NAMES, coef_prior=GPrior("n"), model_prior=BetaBinomial(1, 1)).space
        rng = np.random.default_rng(5)
        self.values, self.target = rng.normal(size=(2, 2 ** len(NAMES)))
        self.target[6] = -np.inf
        gamma = np.arange(self.target.size)[:, None] >> np.arange(len(NAMES)) & 1
        self.columns = [np.append(0, 1 + np.flatnonzero(row)) for row in gamma]
        self.moments = [rng.normal(size=(3, columns.size)) for columns in self.columns]

    def walk(self):
        tables = [TableEvidence(self.values) for _ in POWERS]
        gamma = np.zeros((POWERS.size, len(NAMES)), dtype=np.uint8)
        return Walk(tables, Space(self.space), gamma, POWERS, slots=1.0)


def number(gamma):
    return int(gamma @ (1 << np.arange(len(NAMES))))


def reference(case, n):
    """Iterations as the module of the chain describes them; weights and averages as in ``rao_blackwell``."""
    walk, rng = case.walk(), np.random.default_rng(7)
    sums, moments = np.zeros((CORRECTED_ROWS, len(NAMES))), np.zeros((4, 1 + len(NAMES)))
    draws, first, taken = [], None, 0
    for i in range(n):
        before = walk.gamma()
        ratio = case.target[number(before[0])] - walk.log_mass()[0]
        first = ratio if first is None else first
        paths = np.zeros((2, len(NAMES)))
        walk.run(rng, 1, TIME, sums=paths)
        proposed = case.target[number(walk.gamma()[0])] - walk.log_mass()[0]
        end = walk.gamma()[0]
        if rng.random() < np.exp(min(0.0, proposed - ratio)):
            taken += 1
        else:
            walk.set_state(before)
        v, gamma, (h, other) = np.exp(first - ratio), before[0], paths / TIME
        v, there = v * (first - ratio <= 3.0), float(first - proposed <= 3.0)
        h, other = (h, other) if there else (h - end, other - (1 - end))
        w = v * there
        sums += np.array([gamma, w * gamma, w**2 * gamma, v * h, v * other, *[[w] * 4], [w**2] * 4])
        if (i + 1) % THIN == 0:
            model = number(walk.gamma()[0])
            draws.append(model)
            moments[:3, case.columns[model]] += case.moments[model]
            moments[3, case.columns[model]] += 1
    return draws, taken, sums, moments


def compiled(case, n, block):
    """The same in blocks; models become known when they are met."""
    rng, known = np.random.default_rng(7), KnownModels(1, 1 + len(NAMES))
    loop = CorrectedWalk(walk := case.walk(), known)
    sums, moments = np.zeros((CORRECTED_ROWS, len(NAMES))), np.zeros((4, 1 + len(NAMES)))
    counts, first, done, kept, numbers = np.zeros(2, dtype=np.int64), np.full(1, np.nan), 0, 0, []
    words, log_mass, rows = np.zeros((n, 1), np.uint64), np.zeros(n), np.zeros(n, np.int64)
    while done < n:
        todo = min(block, n - done)
        ran, drawn = loop.run(
            rng, todo, TIME, done=done, thin=THIN, counts=counts, reference=first, sums=sums,
            moments=moments, words=words[kept:], log_mass=log_mass[kept:], rows=rows[kept:],
        )  # fmt: skip
        done, kept = done + ran, kept + drawn
        if ran < todo:
            gamma = walk.gamma()[0]
            model = number(gamma)
            numbers.append(model)
            known.add(pack(gamma)[0], case.target[model], case.columns[model], case.moments[model])
    draws = words[:kept, 0].astype(int)
    np.testing.assert_array_equal(np.array(numbers)[rows[:kept]], draws)
    np.testing.assert_array_equal(log_mass[:kept], case.target[draws])
    assert counts[0] == n
    return list(draws), int(counts[1]), sums, moments


def test_iterations_are_those_of_the_reference(kit):
    case, n = Case(kit), 600
    draws, taken, sums, moments = reference(case, n)
    found = [compiled(case, n, block) for block in (n, 7)]
    assert 0.3 * n < taken < 0.9 * n
    for one in found:
        assert one[:2] == (draws, taken)
        # Rounding of sums of 600 numbers near 1; exponentials may differ in the last digit.
        np.testing.assert_allclose(one[2], sums, rtol=1e-12)
        np.testing.assert_allclose(one[3], moments, rtol=0, atol=1e-11)
    for part in (2, 3):
        np.testing.assert_array_equal(found[0][part], found[1][part])


def test_models_that_only_the_surrogate_has_leave_no_bias(kit):
    """The mean of the control variate at 6 standard errors of 100 batches, four terms: 3e-8."""
    case, n = Case(kit), 50_000
    masses = np.exp(case.target - case.target.max())
    assert masses[0] > 0.01 * masses.sum()
    case.target[0] -= 30.0  # the empty model, which the surrogate has
    control = []
    for seed in range(100):
        rng, known = np.random.default_rng(seed), KnownModels(1, 1 + len(NAMES))
        for model in range(2 ** len(NAMES)):
            gamma = np.array([model >> k & 1 for k in range(len(NAMES))], dtype=np.uint8)
            known.add(pack(gamma)[0], case.target[number(gamma)], case.columns[model], case.moments[model])
        sums = np.zeros((CORRECTED_ROWS, len(NAMES)))
        loop = CorrectedWalk(case.walk(), known)
        loop.run(rng, 20, TIME)  # away from that model
        loop.run(
            rng, n // 100, TIME, counts=np.zeros(2, dtype=np.int64), reference=np.full(1, np.nan), sums=sums,
            moments=np.zeros((4, 1 + len(NAMES))), words=np.zeros((n, 1), np.uint64), log_mass=np.zeros(n),
            rows=np.zeros(n, np.int64),
        )  # fmt: skip
        control.append((sums[1] - sums[3]) / sums[5])
    mean, error = np.mean(control, axis=0), np.std(control, axis=0, ddof=1) / 10.0
    assert np.all(np.abs(mean) < 6 * error)


def test_known_models_are_found_again():
    """More than there is room for at first, and of two words."""
    models, known = np.random.default_rng(1).integers(0, 2, (100, 70)).astype(np.uint8), KnownModels(2, 5)
    words = pack(models)
    columns, moments = np.array([0, 4]), np.ones((3, 2))
    for k in range(100):
        assert known.find(words[k]) == -1
        assert known.add(words[k], float(k), columns, moments) == k
    assert [known.find(row) for row in words] == list(range(100))
    with pytest.raises(ValueError, match="new model"):
        known.add(words[3], 1.0, columns, moments)
    known.clear()
    assert len(known) == 0
    assert known.find(words[3]) == -1
    for wrong, match in (((columns + 1, moments), "columns"), ((columns, np.ones((3, 1))), "moments")):
        with pytest.raises(ValueError, match=match):
            known.add(words[0], 1.0, *wrong)
