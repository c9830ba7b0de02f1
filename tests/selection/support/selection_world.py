"""Joint draws of model, coefficients and response, and chains of the package that start from them."""

from dataclasses import replace

import numpy as np
from scipy import stats
from selection_cases import COEFFICIENT_PRIORS, load
from selection_checks import build, mean_faults
from selection_oracle import coordinates, log_joint, mean, simulate

from pyrjsel.model_space import Space, term_blocks, unpack
from pyrjsel.selection.evidence.surrogate import Surrogate
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed import corrected_chain as corrected
from pyrjsel.selection.samplers.collapsed.corrected_chain import CorrectedChain, CorrectedMoves
from pyrjsel.selection.samplers.options import CorrectedOptions, PopulationOptions
from pyrjsel.selection.samplers.reversible_jump._population import TEMPERATURES, Population
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump
from pyrjsel.selection.samplers.reversible_jump.population import PopulationChain, PopulationMoves
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import full_model_proposal
from pyrjsel.selection.samplers.reversible_jump.surrogate_jumps import SurrogateJumps


def exchanged(make, rng, iterations):
    """Model and coefficients of a chain after exchanges with two that follow powers of the posterior.

    These have forgotten where they began, at the state of the chains that `make` returns.
    """
    temperatures, chains = np.array([[1.8], [0.4]]), [make() for _ in range(3)]
    for chain, temperature in zip(chains[1:], temperatures[:, 0], strict=True):
        chain.set_temperature(temperature)
        chain.run(rng, 60)
    loop = Population(chains, temperatures, np.zeros(2, dtype=np.intc), TEMPERATURES["fixed"])
    loop.run(rng, iterations, np.zeros_like(temperatures))
    gammas, vectors = loop.states()
    return gammas[0], vectors[0]


def joint_faults(world, move, draws, seed):
    """Return the statistics that a transition of states, drawn with responses, moves (level 1e-6)."""
    rng, gaps = np.random.default_rng(seed), []
    for _ in range(draws):
        *state, y = world.draw(rng)
        new = move(world, *state, y, rng)
        gaps.append(world.statistics(*new, y) - world.statistics(*state, y))
    return mean_faults(np.array(gaps))


def collapsed_draw(regression, space, gamma, iterations, rng):
    """A model after iterations of the sampler `collapsed` from `gamma` (J,), and coefficients given it."""
    options = CorrectedOptions(pairs=256)
    moves = CorrectedMoves(
        options.time, options.swap_rate(space), np.ones(1), entropy=rng.bytes(16), pairs=256, exact=True
    )
    job = Job(CorrectedChain, moves, regression, space, iterations, 0, 1, gamma[None], iterations)
    runner = job.start(np.random.SeedSequence(int(rng.integers(2**60))), 0)
    runner.advance(iterations)
    gamma = runner.walk.gamma()[0]
    return gamma, job.single().sample(gamma, 1, rng)[0][0]


class World:
    """Draws from the joint law, by the oracle, and runs chains of the package from them.

    A `fault` makes the package's side wrong: ("precision", factor) of the coefficient prior, ("sizes", log
    odds of one more term), ("offset", shift of every linear predictor).
    """

    def __init__(self, scenario, proposal="conditional", fault=None):
        self.problem = load(scenario.problem)[0]
        self.probability = scenario.prior()
        prior = COEFFICIENT_PRIORS[scenario.coefficients]
        feasible = np.flatnonzero(self.probability)
        self.at = {row: coordinates(self.problem, self.problem.models[row], prior) for row in feasible}
        self.root = {row: np.linalg.cholesky(np.linalg.inv(at.P)) for row, at in self.at.items()}
        model = build(scenario)
        self.space, self.regression = model.space, model.regression
        kind, size = fault or (None, 0.0)
        if kind == "precision":
            broken = self.regression.prior
            broken = replace(broken, precision=size * broken.precision)
            self.regression = replace(self.regression, prior=broken)
        elif kind == "sizes":
            sizes = self.space.log_size
            self.space = replace(self.space, log_size=sizes + size * np.arange(sizes.size))
        elif kind == "offset":
            self.regression = replace(self.regression, offset=self.regression.offset + size)
        fixed = full_model_proposal(self.regression) if proposal == "full" else (None, None)
        self.options = {
            "max_columns": self.regression.n_columns,
            "raw_shift": self.regression.raw_shift,
            "n_swaps": 2,
            "n_trades": 2,
            "n_family_moves": 2,
            "families": term_blocks(self.space),
            "fixed_mean": fixed[0],
            "fixed_factor": fixed[1],
        }
        columns = [np.ones((self.problem.y.size, 1)), *(term.columns for term in self.problem.terms)]
        self.columns = np.column_stack(columns)

    def simulate(self, rng):
        """Return the row of a model, its coefficients (D + 1,) and a response."""
        row = rng.choice(self.probability.size, p=self.probability)
        at = self.at[row]
        c = at.mu + self.root[row] @ rng.standard_normal(at.mu.size)
        y = simulate(self.problem, self.problem.o + at.Z @ c, rng)
        beta = np.zeros(self.columns.shape[1])
        beta[self.problem.places(self.problem.models[row])] = at.A @ c
        return row, beta, y

    def given(self, y):
        """Return the package's regression with another response."""
        return replace(self.regression, y=y)

    def chain(self, row, beta, y):
        """Return the compiled loop in the state of a model and its coefficients."""
        regression = self.given(y)
        b = beta.copy()
        b[1:] *= regression.scale
        b[0] += beta[1:] @ regression.mean
        return ReversibleJump(regression.compiled, Space(self.space), self.gamma(row), b, **self.options)

    def state(self, loop):
        """Return row and coefficients (D + 1,) of a loop."""
        gamma, b = loop.state()
        return self.row(gamma), self.regression.to_raw(b)

    def walk(self, row, beta, y, rng, iterations):
        """Return row and coefficients after some iterations given the response."""
        loop = self.chain(row, beta, y)
        loop.run(rng, iterations)
        return self.state(loop)

    def walk_collapsed(self, row, beta, y, rng, iterations):
        """Return the same of the sampler `collapsed`, coefficients drawn given the model afterwards.

        Nothing adapts: there is no burn-in. With 256 pairs marginal likelihoods err by half a percent, anew
        in each simulation, and a draw from 512 weighted coefficients is as good as one from the posterior.
        """
        gamma, b = collapsed_draw(self.given(y), self.space, self.gamma(row), iterations, rng)
        return self.row(gamma), self.regression.to_raw(b)

    def walk_surrogate(self, row, beta, y, rng, iterations):
        """Return row and coefficients after surrogate jumps alone, which is far from the posterior."""
        regression = self.given(y)
        b = beta.copy()
        b[1:] *= regression.scale
        b[0] += beta[1:] @ regression.mean
        correction = 0.3 * (-1.0) ** np.arange(self.space.n_terms)
        jumps = SurrogateJumps(regression, self.space, Surrogate(np.full(b.size, 0.1), correction), pairs=2)
        gamma = self.gamma(row)
        for _ in range(iterations):
            gamma, b, _ = jumps.jump(rng, gamma, b)
        return self.row(gamma), self.regression.to_raw(b)

    def walk_population(self, row, beta, y, rng, iterations):
        """Return the same of a population at fixed temperatures.

        Its hot and cold chains first forget where they start, for a hundred iterations without exchanges.
        """
        temperatures = np.array([[1.8], [0.4]])
        chains = [self.chain(row, beta, y) for _ in range(1 + len(temperatures))]
        for chain, temperature in zip(chains[1:], temperatures[:, 0], strict=True):
            chain.set_temperature(temperature)
            chain.run(rng, 100)
        levels = np.zeros(len(temperatures), dtype=np.intc)
        loop = Population(chains, temperatures, levels, TEMPERATURES["fixed"])
        loop.run(rng, iterations, np.zeros_like(temperatures))
        gamma, b = loop.states()
        return self.row(gamma[0]), self.regression.to_raw(b[0])

    def populate(self, row, y, rng, burn_in, kept, apart):
        """Return rows and coefficients (kept, D + 1) of draws of a population that starts from a model."""
        options = PopulationOptions()
        laws = tuple(options.laws())
        moves = PopulationMoves(swaps=2, laws=laws, scheme=options.scheme, tune=options.tune)
        start, given = self.gamma(row)[None], self.given(y)
        job = Job(PopulationChain, moves, given, self.space, kept, burn_in, apart, start, 1)
        runner = job.start(np.random.SeedSequence(int(rng.integers(2**60))), 0)
        runner.advance(job.total)
        found = runner.finish(True)
        rows = [self.row(gamma) for gamma in unpack(found.words, self.space.n_terms)[found.index]]
        return rows, self.regression.to_raw(found.coefficients)

    def gamma(self, row):
        """Return a model (J,)."""
        return np.array([int(digit) for digit in self.problem.models[row]], dtype=np.uint8)

    def row(self, gamma):
        """Return the place of a model (J,) among the oracle's."""
        return int("".join(str(digit) for digit in gamma), 2)

    def statistics(self, row, beta, y):
        """Return functions of state and response, of every kind that a wrong transition may move."""
        name, gamma = self.problem.models[row], self.gamma(row).astype(float)
        at = self.at[row]
        c = np.linalg.solve(at.A, beta[self.problem.places(name)])
        density = log_joint(replace(self.problem, y=y), at, c[None])[0] - np.linalg.slogdet(at.A)[1]
        away = c - at.mu
        exponent = -0.5 * away @ at.P @ away
        p = mean(self.problem, self.problem.o + self.columns @ beta)
        score = self.columns.T @ (self.problem.w * (y - p))
        return np.concatenate(
            [gamma, [gamma.sum(), density, exponent], gamma * density, beta, beta * score, score]
        )

    def white(self, row, beta):
        """Return the coefficients' squared distance from the prior mean as a uniform variate."""
        at = self.at[row]
        c = np.linalg.solve(at.A, beta[self.problem.places(self.problem.models[row])])
        return stats.chi2.cdf((c - at.mu) @ at.P @ (c - at.mu), c.size)

    def summary(self, row, beta):
        """Return size, expected events and coefficients, for ranks."""
        p = mean(self.problem, self.problem.o + self.columns @ beta)
        return np.concatenate([[self.problem.models[row].count("1"), self.problem.w @ p], beta])


def bad_surrogate(monkeypatch, shift):
    """Expand far from the posterior, and never again, with corrections that point the wrong way."""

    def lessons(job, rng):
        found = original(job, rng)
        found["at"] = np.full(found["at"].size, shift)
        found["correction"] = shift * (-1.0) ** np.arange(job.space.n_terms)
        return found

    original = corrected.first_lessons
    monkeypatch.setattr(corrected, "first_lessons", lessons)


def without_correction(monkeypatch):
    """Let chains take the surrogate for the posterior."""

    def used(self, *surrogate):
        original(self, *surrogate)
        walks[self.integrals] = self.walk

    def made(self, gamma):
        return replace(integrated(self, gamma), log_mass=float(walks[self].log_mass()[0]))

    walks, original, integrated = {}, CorrectedChain.use, corrected.Integrals._make
    monkeypatch.setattr(CorrectedChain, "use", used)
    monkeypatch.setattr(corrected.Integrals, "_make", made)
