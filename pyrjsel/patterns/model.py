"""Pattern models: construction from a formula, arrays or a sequence, and ``fit``."""

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._docstrings import repeat_parameters
from pyrjsel._errors import DataError, ParameterError
from pyrjsel._once import kept_property
from pyrjsel._typing import IntArray, RNGLike, SeedLike
from pyrjsel._validate import check_bool, check_choice, check_int
from pyrjsel.design import LabelDesign, LabelRows, TableLike
from pyrjsel.design.frame import Level
from pyrjsel.patterns.features import Features, Kind, read_histories
from pyrjsel.patterns.groups import Groups, PatternProblem, find_groups
from pyrjsel.patterns.options import BURN_IN, THIN, USUAL, Options, choose
from pyrjsel.patterns.priors import PatternPrior, SigmaPrior
from pyrjsel.patterns.results import PatternResults
from pyrjsel.patterns.sampler import run
from pyrjsel.patterns.summary import model_facts
from pyrjsel.report import model_html, own_copy
from pyrjsel.runtime import AUTO, FitSettings
from pyrjsel.storage import Plain, plain

KINDS: tuple[Kind, ...] = ("interactions", "sequence")


@repeat_parameters
class PatternLogit:
    """Logistic regression on high-order interactions of categorical features, with compressed parameters.

    A pattern fixes some features at levels and leaves the others open; its order is the number of features
    that it fixes. Every pattern has a coefficient for each class of the response; the scale of its prior
    depends only on the order. Patterns that occur in the same observations form a group. The likelihood
    depends only on the sum of the coefficients of a group, so one parameter per group is sampled, and sums
    are split for predictions. Use :meth:`from_formula` or :func:`pyrjsel.pattern_logit` for a formula, and
    :meth:`from_sequence` for one long sequence.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: labels of two or more classes.
    exog : DataFrame or array_like, shape (n, p)
        One feature per column: text, categories, booleans, or at most 20 distinct whole numbers (more if
        the column is categorical, or inside ``C()`` in a formula).
    kind : {"interactions", "sequence"}
        Patterns fix any subset of the features (interactions), or the most recent values of a history whose
        last column is the most recent (sequence).
    order : int, optional
        Largest order O of a pattern; None is the number of features.
    prior : {"cauchy", "gaussian"}
        Prior of a coefficient of order o: Cauchy(0, sigma_o) or N(0, sigma_o^2).
    sigma_prior : LogNormal, InverseGamma, sequence, mapping or callable, optional
        Prior of sigma_o (not of its square): one prior for all orders, a sequence of priors for orders 1 to
        O, a mapping by order, or a function of the order. None is the prior of Li and Neal: log sigma_o is
        normal with standard deviation 0.5 and means that fall linearly from -2 to -6 (Cauchy), or with
        standard deviation 2 and means from 0 to -4 (Gaussian).
    sigma_0 : float, optional
        Scale of the intercept, the pattern of order 0; None is exp(0.5) (Cauchy) or exp(5) (Gaussian).
    compress : bool, default True
        Whether patterns of the same observations share a parameter. If False, the posterior is the same but
        sampling takes longer.
    missing : {"drop", "raise", "level"}
        Treatment of observations with missing values. Dropped ones are counted in the summary. With
        ``"level"`` a missing value of a feature is a level of its own, the last one, written ``(missing)``,
        also in new data; observations without a response are dropped.

    Attributes
    ----------
    design : LabelDesign
        Maps data to features and response.
    data : LabelRows
        The observations used.
    features : Features
        Their features.
    compression : Groups
        The groups of patterns, as arrays.
    prior : PatternPrior
        Family of the coefficient prior, and priors of the scales by order.

    Raises
    ------
    DataError
        If there is only one class, a feature is constant, values are not labels, the groups of patterns need
        more than 2 GB, or a group has more than 1e100 patterns of one order.
    ParameterError
        If a parameter is out of range, such as an order beyond the number of features.

    Warns
    -----
    MissingDataWarning
        If observations were dropped, with counts by column.

    References
    ----------
    L. Li and R. M. Neal (2008), Compressing parameters in Bayesian high-order models with application to
    logistic sequence models, Bayesian Analysis 3, 793-821.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.PatternLogit(births["low"], births[["race", "smoke", "ht", "ui"]], order=3)
    >>> model.n_groups, model.n_patterns
    (60, 76)
    >>> model.groups.iloc[[0, 1, 10]]
                    pattern orders  patterns  cases
    0                 (all)      0         1    189
    1            race=white      1         1     96
    10  race=white, smoke=0      2         1     44
    """

    title: ClassVar[str] = "Logistic model of interaction patterns"

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        kind: str = "interactions",
        order: int | None = None,
        prior: str = "cauchy",
        sigma_prior: SigmaPrior = None,
        sigma_0: float | None = None,
        compress: bool = True,
        missing: str = "drop",
    ) -> None:
        design, rows = LabelDesign.from_arrays(endog, exog, missing=missing)
        self._build(
            design, rows, *self._parts(design, rows, kind, order, prior, sigma_prior, sigma_0, compress)
        )

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: TableLike,
        *,
        prior: str = "cauchy",
        sigma_prior: SigmaPrior = None,
        sigma_0: float | None = None,
        compress: bool = True,
        missing: str = "drop",
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """Make a model from a formula and a data frame.

        Parameters
        ----------
        formula : str
            Such as ``"y ~ interactions(a, b, c, order=2)"`` or ``"y ~ sequence(x1, x2, x3)"``, whose last
            feature is the most recent; ``.`` among the features stands for all other columns. The right-hand
            side is a single call. ``C()`` turns numbers that are not whole into labels.
        data : DataFrame, pyarrow Table, or mapping of columns
            The observations.
        prior, sigma_prior, sigma_0, compress, missing : optional
            As for the class.
        functions : mapping of str to callable, optional
            Functions that the formula may call, by name, besides the documented ones.

        Returns
        -------
        PatternLogit
            The model, ready to fit.

        Raises
        ------
        FormulaError
            If the formula is invalid, has terms outside the call, or calls a function that is not allowed.
        DataError, ParameterError
            As for the class.
        UnknownNameError
            If a column does not exist.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> model = rj.pattern_logit("low ~ interactions(race, smoke, ht, I(ptl > 0), order=3)", births)
        >>> model.n_groups, model.n_patterns
        (70, 80)
        """
        design, rows = LabelDesign.from_formula(
            formula,
            data,
            KINDS,
            missing=missing,
            functions=functions,
        )
        parts = cls._parts(design, rows, design.call, design.order, prior, sigma_prior, sigma_0, compress)
        return cls._from_parts(design, rows, *parts)

    @classmethod
    def from_sequence(
        cls,
        sequence: str | ArrayLike | pd.Series,
        order: int = 20,
        *,
        prior: str = "cauchy",
        sigma_prior: SigmaPrior = None,
        sigma_0: float | None = None,
        compress: bool = True,
        missing: str = "raise",
    ) -> Self:
        """Make a model that predicts the next symbol of a sequence from the preceding ones.

        Parameters
        ----------
        sequence : str or array_like, shape (n + order,)
            Symbols in temporal order: the characters of a text, or labels of any kind.
        order : int, default 20
            Length of the histories, and the largest order of a pattern.
        prior, sigma_prior, sigma_0, compress : optional
            As for the class.
        missing : {"raise", "drop", "level"}
            Treatment of missing symbols. With ``"drop"`` each removes the ``order + 1`` observations that
            contain it; with ``"level"`` only the observation whose response it is.

        Returns
        -------
        PatternLogit
            The model, ready to fit, with the n overlapping histories as observations. Its features are `x1`
            to `x<order>`, the last the most recent, and its response is `next`, whose classes are all symbols
            of the sequence. :func:`pyrjsel.histories` prepares new data in the same way.

        Raises
        ------
        DataError
            If the sequence is not longer than the order, has missing values and ``missing="raise"``, or has
            only one distinct symbol.
        ParameterError
            As for the class.

        Warns
        -----
        MissingDataWarning
            If observations were dropped.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> symbols = rj.datasets.english_text().data["symbol"]
        >>> model = rj.PatternLogit.from_sequence(symbols[:1020], order=20)
        >>> model.n_groups, model.n_patterns
        (1867, 11385)
        """
        design, rows = read_histories(sequence, order, missing)
        parts = cls._parts(design, rows, "sequence", order, prior, sigma_prior, sigma_0, compress)
        return cls._from_parts(design, rows, *parts)

    @classmethod
    def _parts(
        cls,
        design: LabelDesign,
        rows: LabelRows,
        kind: str,
        order: int | None,
        prior: str,
        sigma_prior: SigmaPrior,
        sigma_0: float | None,
        compress: bool,
    ) -> tuple[Features, Groups, PatternPrior]:
        """Return features, groups and prior."""
        check_choice(kind, "kind", KINDS)
        order = len(design.names) if order is None else check_int(order, "order", low=1)
        if order > len(design.names):
            raise ParameterError(
                f"The 'order' parameter of {called()} must be at most the number of features, "
                f"{len(design.names)}. Got {order} instead."
            )
        compress = check_bool(compress, "compress")
        priors = PatternPrior.of(order, prior, sigma_prior, sigma_0=sigma_0)
        if (rows.y == rows.y[0]).all():
            raise DataError(
                f"The response {design.response!r} of {called()} must have at least two classes in the rows "
                f"used. Got only {design.classes[rows.y[0]]!r}."
            )
        return *patterns_of(design, rows.codes, kind, order, compress), priors

    @classmethod
    def _from_parts(
        cls, design: LabelDesign, rows: Any, features: Features, groups: Groups, prior: PatternPrior
    ) -> Self:
        """Return a model of a design, its observations, their patterns and priors."""
        model = cls.__new__(cls)
        model._build(design, rows, features, groups, prior)
        return model

    def _build(
        self, design: LabelDesign, rows: Any, features: Features, groups: Groups, prior: PatternPrior
    ) -> None:
        self.design, self.data = design, rows
        self.features, self.compression, self.prior = features, groups, prior

    # ------------------------------------------------------------------ what it is

    @property
    def nobs(self) -> int:
        """Number of observations used."""
        return self.features.n_cases

    @property
    def classes(self) -> tuple[Level, ...]:
        """The classes of the response, in order; the first of two is the baseline, with coefficients 0."""
        return self.design.classes

    @property
    def y(self) -> IntArray:
        """Position of each response among the classes, shape (n,)."""
        return self.data.y

    @property
    def order(self) -> int:
        """Largest order of a pattern."""
        return self.features.order

    @property
    def n_groups(self) -> int:
        """Number of groups, which is the number of parameters per class."""
        return self.compression.n_groups

    @property
    def n_patterns(self) -> int:
        """Number of patterns that occur in the data."""
        return self.compression.n_patterns

    @property
    def groups(self) -> pd.DataFrame:
        """The groups; the first contains all observations.

        Columns: ``pattern``, a pattern of the lowest order; ``orders``, the lowest and highest order;
        ``patterns``, the number of patterns; ``cases``, the number of observations in which they occur.
        """
        return own_copy(self._groups)

    @kept_property
    def _groups(self) -> pd.DataFrame:
        return self.compression.table(self.features)

    # ------------------------------------------------------------------ fit

    def fit(
        self,
        *,
        sampler: str = "auto",
        draws: int | str = AUTO,
        mcse: float = USUAL.mcse,
        max_draws: int = USUAL.max_draws,
        max_seconds: float | None = None,
        burn_in: int | None = None,
        thin: int = THIN,
        chains: int = 4,
        rng: RNGLike | SeedLike | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> PatternResults:
        """Sample the posterior of the sums of coefficients by group, and of the scales by order.

        Parameters
        ----------
        sampler : {"auto", "interweaving", "slice"}
            ``"slice"`` is the univariate slice sampler of Li and Neal. ``"auto"`` is ``"interweaving"``,
            which has the same target and many times as many effective draws per second.
        draws : "auto" or int
            Draws per chain after burn-in and thinning. ``"auto"`` starts with 200 and doubles their number
            until the log scale of every order has an MCSE of at most `mcse` posterior standard deviations,
            and these and the log posterior have R-hat of at most 1.05 and 100 effective draws. Li and Neal
            use 250.
        mcse : float, default 0.05
            With ``draws="auto"``: largest Monte Carlo standard error of a log scale, in posterior standard
            deviations; 0.05 takes about 400 effective draws.
        max_draws : int, default 1_500
            With ``draws="auto"``: largest number of draws per chain. All draws are held in memory.
        max_seconds : float, optional
            With ``draws="auto"``: time in seconds after which no further round of draws starts; there is
            always a first round. With this limit the number of draws depends on the machine.
        burn_in : int, optional
            Iterations discarded at the start of each chain; None is 1,500 for ``"slice"``, as in Li and Neal,
            and 500 otherwise.
        thin : int, default 10
            Thinning interval. Draws take ``8 * chains * draws * G`` bytes for two classes and G groups, and K
            times as many for K > 2 classes.
        chains : int, default 4
            Number of chains. The first starts at the prior centre of the scales, the others at prior draws.
        rng : int, SeedSequence or Generator, optional
            Source of randomness; the draws for a given seed do not depend on `n_jobs`.
        n_jobs : int, optional
            Number of parallel workers, see joblib.
        progress : bool, optional
            Whether to show progress; None shows it in a terminal.
        checkpoint : str or path-like, optional
            Folder to which chains save their draws and states every few seconds. After a crash or Ctrl-C the
            same call resumes the run, with the same draws as without interruption (on the same machine and
            versions); ``rng=None`` then takes the seed of the saved run. The folder contains no training
            data, and must be accessible to all workers of a cluster.
        **options : dict
            Options of the sampler: ``steps`` and ``sigma_updates``, and for ``"slice"`` also ``width`` and
            ``sigma_width``.

        Returns
        -------
        PatternResults
            The posterior; after Ctrl-C, of the draws so far.

        Raises
        ------
        ParameterError
            If a parameter or option is out of range.
        UnknownNameError
            If the sampler does not have an option.
        StoreError
            If the checkpoint belongs to another run or version, is damaged or in use.

        Warns
        -----
        ConvergenceWarning
            If the run was interrupted; if a log scale or the log posterior has R-hat above 1.2 or fewer than
            100 effective draws, as is common with Gaussian coefficients of many classes; or if
            ``draws="auto"`` reached `max_draws` or `max_seconds` before the requested accuracy.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> model = rj.pattern_logit("low ~ interactions(race, smoke, ht, ui, order=2)", births)
        >>> results = model.fit(draws=300, chains=2, rng=1)
        >>> results.predict(births.head(2)).round(1)
             0    1
        0  0.6  0.4
        1  0.7  0.3
        """
        name, chosen = choose(sampler, options, self.fit)
        settings = FitSettings.check(
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            usual=USUAL,
            burn_in=BURN_IN[name] if burn_in is None else burn_in,
            thin=thin,
            chains=chains,
            rng=rng,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=None if checkpoint is None else self._identity(name, chosen),
        )
        problem = PatternProblem.of(self.compression, self.y, len(self.classes), self.prior)
        return PatternResults(self, run(problem, name, chosen, settings))

    def _identity(self, sampler: str, options: Options) -> dict[str, Plain]:
        """Return everything except number and seed that determines the draws, under user-facing names."""
        design, features = self.design, self.features
        return {
            "model": type(self).__name__,
            "formula": design.formula,
            "features": {"names": plain(features.names), "levels": plain(features.levels)},
            "response": {"name": design.response, "classes": plain(design.classes)},
            "data": {"codes": self.data.codes, "y": self.data.y},
            "kind": features.kind,
            "order": features.order,
            "compress": self.compression.compressed,
            "priors": plain(self.prior),
            "sampler": sampler,
            **{f"option {name}": value for name, value in vars(options).items()},
        }

    def _repr_html_(self) -> str:
        return model_html(self.title, self, model_facts(self))

    def __repr__(self) -> str:
        formula = repr(self.design.formula) if self.design.formula else f"{self.design.response} from arrays"
        return (
            f"<{type(self).__name__} {formula}: {self.nobs} cases, {len(self.classes)} classes, "
            f"{self.n_groups} groups of {self.n_patterns} patterns>"
        )


def patterns_of(
    design: LabelDesign, codes: IntArray, kind: str, order: int, compress: bool
) -> tuple[Features, Groups]:
    """Return the features of rows from positions of levels, and the groups of their patterns.

    Raises
    ------
    DataError
        As for :class:`PatternLogit`.
    """
    features = Features(
        codes=np.ascontiguousarray(codes, dtype=np.int32),
        names=design.names,
        levels=design.levels,
        kind="sequence" if kind == "sequence" else "interactions",
        order=order,
        design=design,
    )
    return features, find_groups(features, compress)


# The short name.
pattern_logit = PatternLogit.from_formula
