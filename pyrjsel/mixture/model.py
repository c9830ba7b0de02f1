"""The mixture classifier that users build: rows, inputs, priors, and ``fit``."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._docstrings import repeat_parameters
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray, RNGLike, SeedLike
from pyrjsel._validate import counted, unknown_option
from pyrjsel.design import InputDesign, TableLike, as_pandas
from pyrjsel.design.frame import Level
from pyrjsel.mixture.cross_validation import FOLDS, compare
from pyrjsel.mixture.options import USUAL, WARM, MixtureOptions
from pyrjsel.mixture.priors import KernelPrior, MixturePrior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.mixture.results import MixtureResults
from pyrjsel.mixture.sampler import run
from pyrjsel.mixture.specification import Choices, Specification, specify
from pyrjsel.mixture.summary import model_facts
from pyrjsel.model_space import ModelPrior, OverSpace
from pyrjsel.report import model_html
from pyrjsel.runtime import AUTO, FitSettings
from pyrjsel.storage import Plain, plain


@repeat_parameters
class MixtureClassifier(OverSpace):
    """Gaussian mixture classifier with selection of inputs.

    Given the selected inputs, the probability of class k is proportional to ``P_k sum_d w_kd prod_i N(x_i;
    m_di, v_di)``: D components with diagonal covariances, shared by all classes, and weights for each class.
    The posterior is over selected inputs, components and weights, and is sampled by reversible jumps. Rows
    with missing inputs are used. This constructor takes arrays; :meth:`from_formula` and
    :func:`pyrjsel.mixture_classifier` take a formula.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Class labels: text, categories, booleans or whole numbers; missing for rows without a label.
    exog : DataFrame or array_like, shape (n, p)
        Numeric or boolean inputs, one per column; NaN if missing.
    components : int or sequence of int, optional
        Number D of components. The default is 3, or the number of classes if that is larger. ``fit`` compares
        several numbers by their held-out log score.
    target : {"labels", "joint"}
        ``"labels"`` is the posterior given the inputs: inputs are selected if they tell classes apart. Rows
        without a label carry no information and are left out. ``"joint"`` is the posterior of a joint model
        of labels and inputs, in which components are densities: an input can also be selected because of
        clusters that are not classes. Use it for rows without a label, densities and outliers; it classifies
        less well.
    background : {"gaussian", "independent"} or None, default "gaussian"
        For the joint target, the density of the inputs that are not selected; without it, subsets of
        different size cannot be compared. ``"gaussian"``: a normal distribution of all inputs, the same for
        all classes, conditional on the selected ones, so that inputs which the others predict are not
        selected. ``"independent"``: one normal distribution for each input. None: no density of these inputs,
        as in the paper; the posterior then depends on the units of the inputs, and a warning says so.
    model_prior : prior over models, optional
        Prior over subsets of inputs. The default is ``BetaBinomial(1, 1)``.
    proposal : {"conditional", "prior"}
        Proposal for the component parameters of an entering input: close to their full conditional, or their
        prior as in the paper.
    prior : KernelPrior or MixturePrior, optional
        Prior of the components. The default is ``KernelPrior()``. For the joint target it is a
        :class:`MixturePrior`, which includes the normal distribution of the background.
    weight_prior : float, optional
        Concentration of the Dirichlet prior of the weights of each class, at least 0.1. The default is 0.1,
        and 1 for the joint target. Below 1, a component tends to belong to one class, and class probabilities
        can approach 0 and 1.
    costs : mapping or Series, optional
        Costs of inputs, or of columns of the data; each column is counted once.
    budget : float, optional
        Largest cost of a subset, at least that of the cheapest input.
    always : str or iterable of str, default ()
        Inputs in every subset.
    max_size : int, optional
        Largest number of inputs, at least 1.
    classes : sequence of labels, optional
        The classes in order; required if all labels are missing or a class has no row. The default is the
        labels that occur: categories in their order, others sorted.
    missing : {"impute", "drop", "raise"}
        Treatment of rows with missing inputs. ``"impute"`` uses the other inputs and integrates the missing
        ones out.

    Attributes
    ----------
    design : InputDesign
        Maps data to inputs and response.
    data : InputRows
        The rows used.
    components : tuple of int
        Numbers of components.
    space : ModelSpace
        Subsets, their prior and their constraints.
    left_out : tuple of str
        Inputs that are constant in the rows, or missing in all of them.

    Raises
    ------
    DataError
        If there are fewer than two classes, an input is not numeric, all are constant, all labels are missing
        without `classes`, or values are infinite.
    ParameterError
        If a parameter is out of range, or there are more components than rows.
    UnknownNameError
        If `always` or `costs` name an input that does not exist.

    Warns
    -----
    PyrjselWarning
        If inputs are left out, or the joint target has no background.
    MissingDataWarning
        If rows were left out: those without any observed input, those without a label unless the target is
        joint, and under ``missing="drop"`` those with a missing input.

    Notes
    -----
    A class may have few rows, or none: the posterior of its weights and its probability is then close to the
    prior.

    References
    ----------
    P. Sykacek (1999), On input selection with reversible jump Markov chain Monte Carlo sampling, Advances in
    Neural Information Processing Systems 12. Its formulas have the joint density of labels and selected
    inputs, and so compare densities of different numbers of inputs; its results are those of labels given
    inputs. Under ``target="joint"`` every subset gives a density to all inputs.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> pima = rj.datasets.pima().data.query("split == 'train'")
    >>> model = rj.MixtureClassifier(pima["type"], pima[["npreg", "glu", "bmi", "age"]])
    >>> model
    <MixtureClassifier type from arrays: 200 rows, 2 classes, 4 inputs, 3 components>
    """

    title: ClassVar[str] = "Mixture classifier"

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        components: int | Sequence[int] | None = None,
        target: str = "labels",
        background: str | None = "gaussian",
        model_prior: ModelPrior | None = None,
        proposal: str = "conditional",
        prior: KernelPrior | MixturePrior | None = None,
        weight_prior: float | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        max_size: int | None = None,
        classes: Sequence[Any] | None = None,
        missing: str = "impute",
    ) -> None:
        exog = as_pandas(exog)
        design, rows = InputDesign.from_arrays(endog, exog, classes=classes, missing=missing)
        choices = Choices(
            components,
            target,
            background,
            model_prior,
            proposal,
            prior,
            weight_prior,
            costs,
            budget,
            always,
            max_size,
        )
        known = tuple(exog.columns) if isinstance(exog, pd.DataFrame) else design.names
        self._build(specify(choices, design, rows, known))

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: TableLike,
        *,
        components: int | Sequence[int] | None = None,
        target: str = "labels",
        background: str | None = "gaussian",
        model_prior: ModelPrior | None = None,
        proposal: str = "conditional",
        prior: KernelPrior | MixturePrior | None = None,
        weight_prior: float | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        max_size: int | None = None,
        classes: Sequence[Any] | None = None,
        missing: str = "impute",
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """Build a model from a formula and a data frame.

        Parameters
        ----------
        formula : str
            Such as ``"species ~ a + b + np.log(c)"``: a sum of inputs, each of one numeric or boolean column.
            ``.`` stands for all other columns.
        data : DataFrame, pyarrow Table, or mapping of columns
            The rows. Only the joint target uses rows with a missing response.
        components, target, background, model_prior, proposal, prior, weight_prior : optional
            As for the class.
        costs, budget, always, max_size, classes, missing : optional
            As for the class.
        functions : mapping of str to callable, optional
            Further functions that the formula may call, by name.

        Returns
        -------
        MixtureClassifier
            Ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed, has interactions, or calls a function that is not allowed.
        DataError, ParameterError
            As for the class.
        UnknownNameError
            If a column does not exist.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> pima = rj.datasets.pima().data.query("split == 'train'")
        >>> rj.mixture_classifier("type ~ npreg + glu + bmi + age", pima, components=[2, 3])
        <MixtureClassifier 'type ~ npreg + glu + bmi + age': 200 rows, 2 classes, 4 inputs, 2 or 3 components>
        """
        data = as_pandas(data)
        design, rows = InputDesign.from_formula(
            formula,
            data,
            classes=classes,
            missing=missing,
            functions=functions,
        )
        choices = Choices(
            components,
            target,
            background,
            model_prior,
            proposal,
            prior,
            weight_prior,
            costs,
            budget,
            always,
            max_size,
        )
        return cls._from_parts(specify(choices, design, rows, tuple(data)))

    @classmethod
    def _from_parts(cls, specification: Specification) -> Self:
        """Return the model of what choices came to."""
        model = cls.__new__(cls)
        model._build(specification)
        return model

    def _build(self, specification: Specification) -> None:
        self.design, self.data = specification.design, specification.data
        self.left_out, self.scaling = specification.left_out, specification.scaling
        self.components, self.target = specification.components, specification.target
        self.background, self.proposal = specification.background, specification.proposal
        self.prior, self.weight_prior = specification.prior, specification.weight_prior
        subsets = specification.subsets
        self.model_prior, self.space = subsets.model_prior, subsets.space
        self._constraints = subsets.constraints
        self._priced = self._constraints["costs"] is not None

    # ------------------------------------------------------------------ what it is

    @property
    def nobs(self) -> int:
        """Number of rows used, those without a label included."""
        return self.data.n

    @property
    def classes(self) -> tuple[Level, ...]:
        """The classes of the response, in order."""
        return self.design.classes

    @property
    def y(self) -> IntArray:
        """Position of the label of each row among the classes, -1 where it is missing, shape (n,)."""
        return self.data.y

    @kept_property
    def z(self) -> FloatArray:
        """Inputs of the rows in range units, shape (n, p): from -1/2 to 1/2, NaN where missing."""
        return np.ascontiguousarray(self.scaling.units(self.data.X))

    def _problem(self, components: int) -> MixtureProblem:
        """Return what samplers see."""
        joint = isinstance(self.prior, MixturePrior)
        return MixtureProblem(
            self.z,
            self.y.astype(np.int32),
            len(self.classes),
            np.log(self.scaling.spread),
            self.prior,
            components,
            self.background,
            self.space,
            self.target,
            self.weight_prior,
            # Inputs in range units have the rates of those with standard deviation 1 over their variances.
            None if joint else self.prior.h / np.nanvar(self.z, axis=0),
        )

    def _identity(
        self, options: MixtureOptions, components: Sequence[int], folds: int | None = None
    ) -> dict[str, Plain]:
        """Return what the draws of a fit depend on beside their number and seed, by names that users know."""
        return {
            "model": type(self).__name__,
            "formula": self.design.formula,
            "inputs": list(self.design.names),
            "response": {"name": self.design.response, "classes": plain(self.design.classes)},
            "data": {"X": self.data.X, "y": self.data.y},
            "components": list(components),
            "folds": folds if len(components) > 1 else None,
            "target": self.target,
            "background": self.background,
            "weight prior": self.weight_prior,
            "prior": plain(self.prior),
            "model prior": plain(self.model_prior),
            **{name: value for name, value in self._constraints.items() if name != "known"},
            **{f"option {name}": plain(value) for name, value in vars(options).items()},
        }

    def _without(self, rows: IntArray, components: int) -> MixtureProblem:
        """Return the problem of all rows but some, by position; units stay what they are."""
        problem = self._problem(components)
        keep = np.delete(np.arange(self.nobs), rows)
        return replace(problem, z=np.ascontiguousarray(problem.z[keep]), label=problem.label[keep])

    # ------------------------------------------------------------------ fit

    def fit(
        self,
        *,
        draws: int | str = AUTO,
        mcse: float = USUAL.mcse,
        max_draws: int = USUAL.max_draws,
        max_seconds: float | None = None,
        burn_in: int | None = None,
        thin: int = 1,
        chains: int = 4,
        rng: RNGLike | SeedLike | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        folds: int = FOLDS,
        **options: Any,
    ) -> MixtureResults:
        """Sample the posterior of subsets of inputs, components and weights.

        Parameters
        ----------
        draws : "auto" or int
            Draws kept of each chain. ``"auto"`` begins with 800 and draws more, as many as errors ask for,
            until every inclusion probability has an MCSE of at most `mcse`, R-hat of size and log posterior
            is at most 1.05, and all of these have 100 effective draws.
        mcse : float, default 0.01
            Largest Monte Carlo error of an inclusion probability with ``draws="auto"``.
        max_draws : int, default 50_000
            Largest number of draws of a chain with ``draws="auto"``. It is reached if chains mix slowly, as
            with strongly correlated inputs.
        max_seconds : float, optional
            Time after which no further round of draws begins, with ``draws="auto"``. Comparing numbers of
            components does not count. Draws then depend on the machine.
        burn_in : int, optional
            Sweeps discarded at the start of each chain. The default is a fifth of `draws`, or 2,000 with
            ``draws="auto"``.
        thin : int, default 1
            Thinning interval, in sweeps.
        chains : int, default 4
            Number of chains.
        rng : int, SeedSequence or Generator, optional
            Random numbers. Draws do not depend on `n_jobs`.
        n_jobs : int, optional
            Number of workers, as in joblib.
        progress : bool, optional
            Whether to show a progress bar. None shows one in a terminal.
        checkpoint : str or path-like, optional
            A folder in which chains save their draws and states every few seconds. After a crash or Ctrl-C,
            the same call resumes the run; the draws are those of an uninterrupted run (on the same machine
            and versions). ``rng=None`` uses the seed of the existing run. The folder does not contain the
            data, but the component of each row, and draws of missing inputs and labels. All workers of a
            cluster must have access to it.
        folds : int, default 5
            Number of folds for comparing numbers of components, stratified by class. One chain predicts each
            fold from the other labelled rows, with `draws` draws; with ``draws="auto"``, 10,000 or
            `max_draws` if that is less.
        **options
            ``moves``: proposals per sweep to add, remove or exchange inputs (default: the number of inputs).
            ``temperatures``: number of replicas of each chain in parallel tempering, itself included
            (default 5; 1 for none), or their inverse temperatures, from 1 downwards; run time is
            proportional to it, and chains leave modes sooner: with dozens of inputs try 10. ``start``:
            ``"empty"`` or names of inputs (default: a draw from the prior). Each chain runs some sweeps from
            40 starts, and continues from the best.

        Returns
        -------
        MixtureResults
            After Ctrl-C, results for the draws so far.

        Raises
        ------
        ParameterError
            If a parameter or option is out of range.
        UnknownNameError
            If there is no such option.
        StoreError
            If the checkpoint belongs to another run or version, is damaged, or is in use.
        KeyboardInterrupt
            If the comparison of numbers of components was interrupted, or no chain had a draw.

        Warns
        -----
        ConvergenceWarning
            If the run was interrupted, chains disagree, or there are fewer than 100 effective draws; if a run
            with ``draws="auto"`` ended at `max_draws` or `max_seconds` before its figures were accurate.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> pima = rj.datasets.pima().data.query("split == 'train'")
        >>> model = rj.mixture_classifier("type ~ npreg + glu + bmi + age", pima)
        >>> results = model.fit(rng=1)
        >>> results.predict(pima.head(2)).columns.tolist()
        ['No', 'Yes']
        """
        known = [name for name in MixtureOptions.__dataclass_fields__ if name != "proposal"]
        for option in options:
            if option not in known:
                raise unknown_option(option, "", known, self.fit)
        chosen = MixtureOptions(proposal=self.proposal, **options)
        settings = FitSettings.check(
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            warm=WARM,
            usual=USUAL,
            burn_in=burn_in,
            thin=thin,
            chains=chains,
            rng=rng,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=None if checkpoint is None else self._identity(chosen, self.components, folds),
        )
        components, comparison = self.components[0], None
        if len(self.components) > 1:
            comparison = compare(self, settings, chosen, folds)
            components = self.components[int(comparison["log_score"].to_numpy().argmax())]
        posterior = run(self._problem(components), settings, chosen)
        return MixtureResults(self, posterior, components, comparison)

    def _repr_html_(self) -> str:
        return model_html(self.title, self, model_facts(self))

    def __repr__(self) -> str:
        formula = repr(self.design.formula) if self.design.formula else f"{self.design.response} from arrays"
        several = " or ".join(str(count) for count in self.components)
        return (
            f"<{type(self).__name__} {formula}: {self.nobs} rows, {len(self.classes)} classes, "
            f"{counted(len(self.term_names), 'input')}, {several} components>"
        )


# The short name.
mixture_classifier = MixtureClassifier.from_formula
