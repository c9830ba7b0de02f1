"""The model that users build: labelled and unlabelled rows, inputs, priors, and ``fit``."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray, RNGLike, SeedLike
from pyrjsel._validate import counted, unknown_option
from pyrjsel.design import InputDesign, TableLike, as_pandas
from pyrjsel.design.frame import Level
from pyrjsel.mixture.cross_validation import FOLDS, compare
from pyrjsel.mixture.options import MixtureOptions
from pyrjsel.mixture.priors import KernelPrior, MixturePrior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.mixture.results import MixtureResults
from pyrjsel.mixture.sampler import run
from pyrjsel.mixture.specification import Choices, Specification, specify
from pyrjsel.mixture.stopping import USUAL, WARM
from pyrjsel.mixture.summary import model_facts
from pyrjsel.model_space import ModelPrior, OverSpace
from pyrjsel.report import model_html
from pyrjsel.runtime import AUTO, FitSettings
from pyrjsel.storage import Plain, plain


class MixtureClassifier(OverSpace):
    """A classifier made of Gaussian kernels that all classes share, with selection of inputs.

    The probability of class k given the selected inputs is in proportion to ``P_k sum_d w_kd prod_i N(x_i;
    m_di, v_di)``: D kernels with diagonal covariances, the same for all classes, and weights for each class.
    The posterior is over selected inputs, kernels and weights, by reversible jumps. Rows with missing inputs
    are used. Made from arrays here, from a formula by :meth:`from_formula` or
    :func:`pyrjsel.mixture_classifier`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: labels (text, categories, booleans or whole numbers), missing where a row has none.
    exog : DataFrame or array_like, shape (n, p)
        Inputs, numbers or booleans, one a column; NaN where missing.
    components : int or sequence of int, optional
        Number D of components; None is 3, or the number of classes if that is larger. Several are compared in
        ``fit`` by the log score of rows held out.
    target : {"labels", "joint"}
        ``"labels"`` is the posterior given the inputs: inputs are selected if they tell classes apart. Rows
        without a label say nothing and are left out. ``"joint"`` is that of a model of labels and inputs, in
        which kernels are densities: an input can also be selected because it has clusters that are no
        classes. It is for rows without a label, for densities and for outliers; as a classifier it is worse.
    background : {"gaussian", "independent"} or None, default "gaussian"
        For the joint target, the density of the inputs that are not selected, without which subsets of
        different size could not be compared. ``"gaussian"``: one normal distribution of all inputs, the same
        for all classes, given the selected ones, so that an input must say more than what others say about
        it. ``"independent"``: one for each input. None: the density of the selected inputs alone, as in the
        paper, whose posterior changes with the units of the inputs; there is a warning.
    model_prior : prior over models, optional
        Prior over subsets of inputs; None is ``BetaBinomial(1, 1)``.
    proposal : {"conditional", "prior"}
        Kernels of an input that enters come from what the data say, or from their prior as in the paper.
    prior : KernelPrior or MixturePrior, optional
        Prior of kernels; None is ``KernelPrior()``. For the joint target it is a :class:`MixturePrior`, also
        for the normal distribution of the background.
    weight_prior : float, optional
        Concentration of the Dirichlet prior of the weights of each class, at least 0.1; None is 0.2, and 1
        for the joint target. Below 1, kernels tend to belong to one class, and class probabilities can
        approach 0 and 1.
    costs : mapping or Series, optional
        Prices of inputs by name, or of columns of the data, which are paid for once.
    budget : float, optional
        Largest cost of a subset; at least that of the cheapest input.
    always : str or iterable of str, default ()
        Inputs in every subset.
    max_size : int, optional
        Largest number of inputs, at least 1.
    classes : sequence of labels, optional
        The classes in order; needed where all labels are missing, and where a class has no row. None is
        those that occur, categories in their order and others sorted.
    missing : {"impute", "drop", "raise"}
        Treatment of rows in which some input is missing: ``"impute"`` uses the others, integrating it out.

    Attributes
    ----------
    design : InputDesign
        How inputs and response are made of the data.
    data : InputRows
        The rows that are used.
    components : tuple of int
        Numbers of components.
    space : ModelSpace
        Subsets, their prior and their constraints.
    left_out : tuple of str
        Inputs that are constant in the rows, or missing in all of them.

    Raises
    ------
    DataError
        If there are fewer than two classes, an input is no number, all are constant, all labels are missing
        without `classes`, or values are infinite.
    ParameterError
        If a parameter is out of range, or there are more components than rows.
    UnknownNameError
        If `always` or `costs` name what is not there.

    Warns
    -----
    PyrjselWarning
        If inputs are left out, or the joint target has no background.
    MissingDataWarning
        If rows were left out: those without any observed input, those without a label unless the target is
        joint, and under ``missing="drop"`` those with a missing input.

    Notes
    -----
    A class with few rows is no error: its weights and its probability then rest on their prior.

    References
    ----------
    P. Sykacek (1999), On input selection with reversible jump Markov chain Monte Carlo sampling, Advances in
    Neural Information Processing Systems 12. Its formulas are those of a joint density of labels and selected
    inputs, and compare densities of different numbers of inputs; its results are those of labels given
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
        """Make a model from a formula and a data frame.

        Parameters
        ----------
        formula : str
            Such as ``"species ~ a + b + np.log(c)"``: a sum of inputs, each of one numeric or boolean column.
            ``.`` stands for all other columns.
        data : DataFrame, pyarrow Table, or mapping of columns
            The rows; those whose response is missing are used by the joint target alone.
        components, target, background, model_prior, proposal, prior, weight_prior : optional
            As for the class.
        costs, budget, always, max_size, classes, missing : optional
            As for the class.
        functions : mapping of str to callable, optional
            Functions that the formula may call, by name, beside the documented ones.

        Returns
        -------
        MixtureClassifier
            Ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be read, has interactions, or calls what it may not.
        DataError, ParameterError, UnknownNameError
            As for the class, or if a column is not there.

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
        """Sample the posterior of subsets of inputs, kernels and weights.

        Parameters
        ----------
        draws : "auto" or int
            Draws that each chain keeps. ``"auto"`` is what the figures need: 800, and twice as many again and
            again, until every inclusion probability has an MCSE of at most `mcse`, R-hat of size and log
            posterior is at most 1.05, and each of all these is worth 100 independent draws. A number is just
            so many.
        mcse : float, default 0.01
            Largest Monte Carlo error of an inclusion probability, where `draws` is ``"auto"``.
        max_draws : int, default 50_000
            Draws a chain at most, where `draws` is ``"auto"``. Where kernels hardly leave their modes, as
            with inputs that say nearly the same, runs come to these.
        max_seconds : float, optional
            Seconds after which no further round of draws begins, where `draws` is ``"auto"``; a first round
            there always is, and a comparison of numbers of kernels before it, whose seconds do not count. The
            one setting that makes draws depend on the machine.
        burn_in : int, optional
            Sweeps left out at the start of each chain; None is a fifth of `draws`, and 2,000 where `draws` is
            ``"auto"``.
        thin : int, default 1
            Every `thin`-th sweep is kept.
        chains : int, default 4
            Chains, each with a start of its own.
        rng : int, SeedSequence or Generator, optional
            Random numbers; the same give the same draws, whatever `n_jobs` is.
        n_jobs : int, optional
            Workers at a time, see joblib.
        progress : bool, optional
            Whether to show progress; None shows it in a terminal.
        checkpoint : str or path-like, optional
            A folder where chains write down, every few seconds, what they have drawn and where they are. The
            same call goes on from there after a crash or Ctrl-C, to the same draws as without (on the same
            machine and versions); ``rng=None`` is the seed of the run that is there. It holds no rows of the
            data, but which kernel each row is in, and what was drawn for missing inputs and labels. The
            workers of a cluster must all see the folder.
        folds : int, default 5
            Where several numbers of kernels are compared: the rows with labels are cut into so many parts of
            about equal shares of classes, and each part is predicted by one chain on all other rows, with as
            many draws; where `draws` is ``"auto"``, 10,000 of them, or `max_draws` if that is less.
        **options : dict
            ``moves``, proposals to add, remove or exchange inputs in a sweep (as many as there are inputs);
            ``temperatures``, the number of replicas that each chain exchanges states with, itself included
            (5; 1 for none), or the powers of the density that they have, from 1 downwards: time is in
            proportion to it, and kernels leave their modes the sooner; ``start``, ``"empty"`` or names of
            inputs (draws from the prior over subsets). Each chain tries 40 starts for some sweeps, and goes
            on from the best.

        Returns
        -------
        MixtureResults
            After Ctrl-C those of the draws so far.

        Raises
        ------
        ParameterError
            If a parameter or option is out of range.
        UnknownNameError
            If there is no such option.
        StoreError
            If the checkpoint is that of another run, of another version, damaged or in use.
        KeyboardInterrupt
            If the comparison of numbers of kernels was interrupted, or no chain had a draw.

        Warns
        -----
        ConvergenceWarning
            If the run was interrupted, if chains disagree, or if they are worth fewer than 100 independent
            draws; if a run that stops by itself ended at `max_draws` or `max_seconds` before its figures were
            accurate.

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
