"""The model that users build: labelled and unlabelled rows, inputs, priors, and ``fit``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import PyrjselWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import check_choice, counted
from pyrjsel._warnings import warn
from pyrjsel.design import InputDesign, InputRows, TableLike, as_pandas
from pyrjsel.design.frame import Level
from pyrjsel.mixture.checks import check_background, check_components, check_prior, observed
from pyrjsel.mixture.describe import model_facts
from pyrjsel.mixture.fitting import Fitting
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.mixture.sampling import PROPOSALS, MixtureOptions
from pyrjsel.mixture.scaling import Scaling
from pyrjsel.model_space import BetaBinomial, ModelPrior, ModelSpace, OverSpace, check_bounds, named_costs
from pyrjsel.report import model_html
from pyrjsel.storage import Plain, plain


class MixtureClassifier(OverSpace, Fitting):
    """A classifier made of Gaussian kernels that all classes share, with selection of inputs.

    Within class k the selected inputs have the density ``sum_d w_kd prod_i N(x_i; m_di, v_di)``: D kernels
    with diagonal covariances, the same for all classes, and weights of each class's own. Which inputs are
    selected has a posterior, by reversible jumps, together with kernels and weights. Rows without a label
    are used, and so are rows with missing inputs. Made from arrays here, from a formula by
    :meth:`from_formula` or :func:`pyrjsel.mixture_classifier`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: labels (text, categories, booleans or whole numbers), missing where a row has none.
    exog : DataFrame or array_like, shape (n, p)
        Inputs, numbers or booleans, one a column; NaN where missing.
    components : int or sequence of int, default 3
        Number D of kernels. Several are compared in ``fit`` by the log score of rows held out.
    background : {"gaussian", "independent"} or None, default "gaussian"
        Density of the inputs that are not selected, without which subsets of different size could not be
        compared. ``"gaussian"``: one normal distribution of all inputs, the same for all classes, given the
        selected ones, so that an input must say more than what others say about it. ``"independent"``: one
        for each input. None: the density of the selected inputs alone, as in the paper, whose posterior
        changes with the units of the inputs; there is a warning.
    model_prior : prior over models, optional
        Prior over subsets of inputs; None is ``BetaBinomial(1, 1)``.
    proposal : {"conditional", "prior"}
        Kernels of an input that enters come from what the data say, or from their prior as in the paper.
    prior : MixturePrior, optional
        Prior of kernels, and of the normal distribution of the background; None is ``MixturePrior()``.
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
        What to do with rows in which some input is missing: ``"impute"`` uses what they have. Rows without
        a label are used in any case.

    Attributes
    ----------
    design : InputDesign
        How inputs and response are made of the data.
    data : InputRows
        The rows that are used.
    components : tuple of int
        Numbers of kernels.
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
        If a parameter is out of range, or there are more kernels than rows.
    UnknownNameError
        If `always` or `costs` name what is not there.

    Warns
    -----
    PyrjselWarning
        If inputs are left out, or there is no background.
    MissingDataWarning
        If rows were left out: those without any observed input, which say nothing but their label, and under
        ``missing="drop"`` those with a missing one.

    Notes
    -----
    A class with few rows is no error: its weights and its probability then rest on their prior. The
    posterior is that of a model of labels and inputs, and not of labels given inputs: an input can be
    selected because it has several clusters, even if these are no classes.

    References
    ----------
    P. Sykacek (1999), On input selection with reversible jump Markov chain Monte Carlo sampling, Advances in
    Neural Information Processing Systems 12. Its acceptance ratio compares densities of different numbers of
    inputs; here every subset gives a density to all of them.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> pima = rj.datasets.pima().data.query("split == 'train'")
    >>> model = rj.MixtureClassifier(pima["type"], pima[["npreg", "glu", "bmi", "age"]])
    >>> model
    <MixtureClassifier type from arrays: 200 rows, 2 classes, 4 inputs, 3 kernels>
    """

    title = "Mixture classifier"
    _owner = "MixtureClassifier"

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        components: int | Sequence[int] = 3,
        background: str | None = "gaussian",
        model_prior: ModelPrior | None = None,
        proposal: str = "conditional",
        prior: MixturePrior | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        max_size: int | None = None,
        classes: Sequence[Any] | None = None,
        missing: str = "impute",
    ) -> None:
        exog = as_pandas(exog)
        design, rows = InputDesign.from_arrays(
            endog, exog, classes=classes, missing=missing, owner=self._owner
        )
        self._build(
            design,
            rows,
            components=components,
            background=background,
            model_prior=model_prior,
            proposal=proposal,
            prior=prior,
            costs=costs,
            budget=budget,
            always=always,
            max_size=max_size,
            known=tuple(exog.columns) if isinstance(exog, pd.DataFrame) else design.names,
        )

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: TableLike,
        *,
        components: int | Sequence[int] = 3,
        background: str | None = "gaussian",
        model_prior: ModelPrior | None = None,
        proposal: str = "conditional",
        prior: MixturePrior | None = None,
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
            The rows.
        components, background, model_prior, proposal, prior : optional
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
        """
        data = as_pandas(data)
        design, rows = InputDesign.from_formula(
            formula,
            data,
            classes=classes,
            missing=missing,
            functions=functions,
            owner=cls._owner,
        )
        model = cls.__new__(cls)
        model._build(
            design,
            rows,
            components=components,
            background=background,
            model_prior=model_prior,
            proposal=proposal,
            prior=prior,
            costs=costs,
            budget=budget,
            always=always,
            max_size=max_size,
            known=tuple(data),
        )
        return model

    def _build(
        self,
        design: InputDesign,
        rows: InputRows,
        *,
        components: int | Sequence[int],
        background: str | None,
        model_prior: ModelPrior | None,
        proposal: str,
        prior: MixturePrior | None,
        costs: Mapping[str, float] | pd.Series | None,
        budget: float | None,
        always: str | Iterable[str],
        max_size: int | None,
        known: tuple[Any, ...],
    ) -> None:
        owner = self._owner
        self.background = check_background(background, owner)
        self.proposal = str(check_choice(proposal, "proposal", owner, PROPOSALS))
        self.prior = check_prior(prior, owner)
        self.design, self.data, self.left_out = observed(design, rows, owner)
        self.prior.surplus(len(self.design.names))
        self.components = check_components(components, self.data.n, owner)
        if self.background is None:
            warn(
                "Without a background subsets of different size are compared by densities in the units of "
                "the inputs: the posterior over subsets depends on these units.",
                PyrjselWarning,
            )
        self.scaling = Scaling.of(self.data.X, self.design.names, owner)
        self._constrain(model_prior, named_costs(costs, known), budget, always, max_size, known)
        check_bounds(self.space)

    def _constrain(
        self,
        model_prior: ModelPrior | None,
        prices: Any,
        budget: float | None,
        always: str | Iterable[str],
        max_size: int | None,
        known: Sequence[Any],
    ) -> None:
        """Set the space of subsets."""
        self.model_prior = BetaBinomial(1, 1) if model_prior is None else model_prior
        columns = [str(name) for name in known]
        self.space = ModelSpace.build(
            self.design.terms,
            prior=self.model_prior,
            always=always,
            costs=prices,
            budget=budget,
            max_size=max_size,
            data_columns=columns,
            n_observations=float(self.data.n),
            owner=self._owner,
        )
        self._priced = prices is not None
        fixed = [name for name, free in zip(self.space.names, self.space.free, strict=True) if not free]
        # Copies, checked by now, as files and checkpoints know them.
        self._constraints: dict[str, Plain] = {
            "costs": None if prices is None else {str(name): float(cost) for name, cost in prices.items()},
            "budget": None if budget is None else float(budget),
            "always": fixed,
            "max_size": None if max_size is None else int(max_size),
            "known": columns,
        }

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
        return MixtureProblem(
            self.z,
            self.y.astype(np.int32),
            len(self.classes),
            np.log(self.scaling.spread),
            self.prior,
            components,
            self.background,
            self.space,
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
            "background": self.background,
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

    def _repr_html_(self) -> str:
        return model_html(self.title, self, model_facts(self))

    def __repr__(self) -> str:
        formula = repr(self.design.formula) if self.design.formula else f"{self.design.response} from arrays"
        several = " or ".join(str(count) for count in self.components)
        return (
            f"<{type(self).__name__} {formula}: {self.nobs} rows, {len(self.classes)} classes, "
            f"{counted(len(self.term_names), 'input')}, {several} kernels>"
        )
