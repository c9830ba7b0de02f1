"""Rules in the place of a prior: empirical Bayes for g, and the criteria BIC and AIC.

They use the maximum of the likelihood of each model, so their "posterior" probabilities are weights by
convention; see ``Rule`` of ``base.py``.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_choice
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.priors.base import CoefficientPrior, Columns, CompiledPrior, Rule
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.priors.gaussian import DOUBTFUL, RANK_TOL, GaussianPrior, Sums


@dataclass(frozen=True)
class BestG(GaussianPrior):
    """The g-prior of a gaussian model with g at the maximum of its marginal likelihood."""

    rank_tol: ClassVar[float] = RANK_TOL
    proper: ClassVar[bool] = False

    @property
    def quadrature(self) -> bool:
        """True: marginal likelihoods of perfect fits are infinite."""
        return True

    @property
    def numbers(self) -> tuple[str, list[FloatArray]]:
        """A word that identifies the rule."""
        return "empirical Bayes", []

    def score(self, sums: Sums, most: int) -> GaussianScore:
        """Return the score of the rule."""
        return GaussianScore.best_g(sums.nu, sums.total)

    def log_value(self, sums: Sums, d: int, left: float) -> float:
        """Return the score of a model that leaves `left` of y'Wy + 2 b."""
        kept = self._kept(sums, d, left)
        return float(0.5 * d * np.log(kept) - 0.5 * sums.nu * np.log(left + kept * (sums.total - left)))

    def shrinkage_nodes(self, sums: Sums, d: int, fit: float, left: float) -> tuple[FloatArray, FloatArray]:
        """Return g / (1 + g) at the maximum."""
        if left >= DOUBTFUL * sums.total:
            return np.array([self.score(sums, d).moments(d, fit)[0]]), np.ones(1)
        return np.array([1.0 - self._kept(sums, d, left)]), np.ones(1)

    @staticmethod
    def _kept(sums: Sums, d: int, left: float) -> float:
        """Return 1 / (1 + g) at the maximum."""
        # mathematics: selection-best-g
        if d == 0 or d >= sums.nu or left >= sums.total:
            return 1.0
        return min(1.0, d * left / ((sums.nu - d) * (sums.total - left)))


@dataclass(frozen=True)
class Penalty(GaussianPrior):
    """A flat prior of a gaussian model, and a penalty for each coefficient.

    Attributes
    ----------
    penalty : float
    """

    rank_tol: ClassVar[float] = RANK_TOL
    proper: ClassVar[bool] = False
    penalty: float = field(kw_only=True)

    @property
    def quadrature(self) -> bool:
        """True: likelihoods of perfect fits are infinite."""
        return True

    @property
    def numbers(self) -> tuple[str, list[FloatArray]]:
        """A word and the penalty, which identify the rule."""
        return "penalty", [np.array([self.penalty])]

    def score(self, sums: Sums, most: int) -> GaussianScore:
        """Return the score of the rule: that of the maximum, with n and not n - 1 squares."""
        return GaussianScore.penalised(sums.nu + 1.0, sums.total, self.penalty)

    def log_value(self, sums: Sums, d: int, left: float) -> float:
        """Return the score of a model that leaves `left` of y'Wy + 2 b."""
        return float(-self.penalty * d - 0.5 * (sums.nu + 1.0) * np.log(left))

    def freedom(self, sums: Sums, most: int) -> FloatArray:
        """Return the residual degrees of freedom: each flat coefficient takes one."""
        return np.asarray(sums.nu - np.arange(most + 1.0))


class AtMaxima(CoefficientPrior):
    """Base of the rules; the unit-information prior of the null model serves the rank rule and surrogates."""

    of_span: ClassVar[bool] = True

    @property
    def of_null_model(self) -> bool:
        """True: `W` is that of the fitted null model."""
        return True

    def _rule(self, n: float) -> tuple[Rule, float]:
        """Return the rule, and its number."""
        raise NotImplementedError

    def _compile(self, columns: Columns) -> CompiledPrior:
        rule, value = self._rule(columns.total_weight)
        unit = GPrior("n", information="null", intercept="flat").compile(columns)
        return replace(unit, rule=rule, rule_value=value)


@dataclass(frozen=True, repr=False)
class EmpiricalBayes(AtMaxima):
    """The g-prior with g at the maximum of the marginal likelihood, of each model or of all together.

    The data are used twice: with a g for each model, evidence against a term is weak at best.

    Parameters
    ----------
    scope : {"local", "global"}
        ``"local"``: g is at the maximum of each model's marginal likelihood. In linear models
        ``g = max(F - 1, 0)`` with the F statistic of the model [1]_. ``"global"``: all models have the g at
        the maximum of their sum, weighted by prior probabilities; the posterior is that of a :class:`GPrior`
        with this g, which is ``model.g``, under all samplers. Without effects it is at its bound, 0 (2e-9 in
        computations), and posterior probabilities are prior ones. All models are enumerated for it when the
        model is made: up to 2**20 of a linear model, up to 2**14 of others.
    information : {"observed", "null"}
        Information matrix W of models without an error variance, as in :class:`GPrior`. With that at the
        maximum of each likelihood, as in R's BAS, the local g is ``max(Q / d - 1, 0)`` with Wald's statistic
        Q of the d coefficients [2]_. With that of the null model, g is at the maximum of Laplace's
        approximation (also of its sum), and marginal likelihoods given g are importance-sampling integrals.

    References
    ----------
    .. [1] Liang, Paulo, Molina, Clyde and Berger (2008), "Mixtures of g priors for Bayesian variable
       selection", JASA 103, 410-423.
    .. [2] Li and Clyde (2018), "Mixtures of g-priors in generalized linear models", JASA 113, 1828-1845.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.EmpiricalBayes()
    EmpiricalBayes()
    >>> hald = rj.datasets.hald().data
    >>> round(rj.linear("y ~ x1 + x2 + x3 + x4", hald, coef_prior=rj.EmpiricalBayes("global")).g)
    186
    """

    scope: str = "local"
    information: str = "observed"

    def __post_init__(self) -> None:
        check_choice(self.scope, "scope", ("local", "global"))
        check_choice(self.information, "information", ("observed", "null"))

    def __repr__(self) -> str:
        usual = EmpiricalBayes.__dataclass_fields__
        shown = [f"{name}={value!r}" for name, value in vars(self).items() if value != usual[name].default]
        return f"EmpiricalBayes({', '.join(shown)})"

    @property
    def shares_g(self) -> bool:
        """Whether g is the same in all models, and found from all of them."""
        return self.scope == "global"

    def at(self, g: float) -> GPrior:
        """Return the prior at a known g.

        Parameters
        ----------
        g : float
            Factor of the inverse information.

        Returns
        -------
        GPrior
            Prior with a flat intercept.
        """
        return GPrior(g, information=self.information, intercept="flat")

    def _rule(self, n: float) -> tuple[Rule, float]:
        return Rule.BEST_G if self.information == "observed" else Rule.BEST_AT_MODES, 0.0

    def _compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        zero = np.zeros(scale.size)
        return BestG(zero, zero, zero)


class Criterion(AtMaxima):
    """Base of criteria: the largest likelihood, and a penalty for each coefficient."""

    def penalty(self, n: float) -> float:
        """Return the penalty on the log-likelihood for one coefficient.

        Parameters
        ----------
        n : float
            Number of rows, or of trials.

        Returns
        -------
        float
            Half of what the criterion adds to the deviance.
        """
        # mathematics: selection-criteria
        return self._penalty(n)

    def _penalty(self, n: float) -> float:
        raise NotImplementedError

    def _rule(self, n: float) -> tuple[Rule, float]:
        return Rule.PENALTY, self.penalty(n)

    def _compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        if n <= scale.size + 1:
            raise ParameterError(
                f"The 'coef_prior' parameter must be another than {self!r} unless there are at least two "
                f"rows more than columns. Got {n} rows and {scale.size} columns."
            )
        zero = np.zeros(scale.size)
        return Penalty(zero, zero, zero, penalty=self.penalty(n))


@dataclass(frozen=True)
class BIC(Criterion):
    """The Bayesian information criterion of Schwarz: weights ``exp(-BIC / 2)`` of models [1]_.

    Each coefficient costs half of log n on the log scale, with n rows, or trials of a binomial response.
    Coefficients are those of maximum likelihood, with normal distributions (in linear models: Student
    distributions with n - d - 1 degrees of freedom for d coefficients, those of least squares).

    References
    ----------
    .. [1] Raftery (1995), "Bayesian model selection in social research", Sociological Methodology 25,
       111-163.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.BIC().penalty(100)
    2.302585092994046
    """

    def _penalty(self, n: float) -> float:
        return 0.5 * float(np.log(n))


@dataclass(frozen=True)
class AIC(Criterion):
    """Akaike's information criterion: weights ``exp(-AIC / 2)`` of models, for predictions [1]_.

    They are not posterior probabilities: with any number of rows, a useless term keeps a weight of a quarter
    or more. Coefficients are as under :class:`BIC`.

    References
    ----------
    .. [1] Burnham and Anderson (2004), "Multimodel inference: understanding AIC and BIC in model selection",
       Sociological Methods and Research 33, 261-304.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.AIC().penalty(100)
    1.0
    """

    def _penalty(self, n: float) -> float:
        return 1.0
