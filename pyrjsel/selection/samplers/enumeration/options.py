"""Options of ``fit(sampler="enumerate")`` and ``fit(sampler="chunks")``."""

from dataclasses import dataclass

from pyrjsel._validate import bad_value, check_int
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.shared import Integrated

# Rows times pairs of draws by default, with which draws take about as long as the rest of an integral, and
# limits of the pairs.
WORK, FEWEST_PAIRS, MOST_PAIRS = 100_000, 32, 256
# Rows times integrals by default, which take about a second, and their least and largest number. Laplace's
# approximation is off by the more the fewer rows there are.
INTEGRATED, FEWEST, MOST = 1_000_000, 10, 200


@dataclass(frozen=True)
class ExactOptions:
    """Options of ``fit(sampler="enumerate")`` for linear models, which has none."""


@dataclass(frozen=True)
class EnumerateOptions(Integrated):
    """Options of ``fit(sampler="enumerate")`` for generalised linear models.

    Attributes
    ----------
    integration : {"importance", "laplace"}
        Importance sampling at each mode, with a reported error, or Laplace approximation, with unknown error.
    pairs : int, optional
        Pairs of importance draws per model. If it is at least 32, a model whose posterior has a long tail
        takes 128 or more; where they are not enough for an error of half a percent, up to 8,192 more follow,
        and further ones if coefficients of the most probable models need them. By default as many as take
        about as long as the rest of an integral: 100,000 divided by the number of rows, between 32 and 256,
        or 512 with unknown `df` of Student-t errors.
    """

    integration: str = "importance"
    pairs: int | None = None

    def __post_init__(self) -> None:
        self.check_integration()

    def pairs_for(self, regression: Regression) -> int:
        """Return the pairs of draws per model."""
        if self.pairs is not None:
            return self.pairs
        # Posteriors of two parameters of the likelihood can have two modes, which 256 pairs can miss.
        most = MOST_PAIRS * max(len(regression.family.expanded), 1)
        return min(max(WORK // regression.y.size // 2 * 2, FEWEST_PAIRS), most)


@dataclass(frozen=True)
class ChunksOptions:
    """Options of ``fit(sampler="chunks")``, for other than linear models of rows in chunks.

    Attributes
    ----------
    models : int
        Largest number of models that passes bring to their modes. Those that can have integrals, and those
        with all but 1e-4 of the posterior under a quadratic expansion of the log-likelihood, are enough;
        further ones keep its values, corrected by a regression on the others.
    integrals : int, optional
        Number of the best models whose Laplace approximations are checked by importance sampling. By default
        1,000,000 divided by the number of rows, between 10 and 200.
    pairs : int
        Pairs of importance draws for each of these.
    steps : int
        Draws of each of four chains over models under the quadratic expansion, if there are more than 2**20
        models; the list is then that of the models visited.
    """

    models: int = 200
    integrals: int | None = None
    pairs: int = 128
    steps: int = 5000

    def __post_init__(self) -> None:
        check_int(self.models, "models", low=1)
        if self.integrals is not None:
            check_int(self.integrals, "integrals", low=1)
        check_int(self.steps, "steps", low=1)
        check_int(self.pairs, "pairs", low=2)
        if self.pairs % 2:
            raise bad_value("pairs", "an even int", self.pairs)

    def integrals_for(self, rows: int) -> int:
        """Return the number of models with integrals."""
        if self.integrals is not None:
            return self.integrals
        return min(max(INTEGRATED // max(rows, 1), FEWEST), MOST)
