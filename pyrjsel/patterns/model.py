"""The model that users build: patterns from a formula, arrays or a sequence, compressed, and ``fit``."""

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import DataError, ParameterError
from pyrjsel._once import kept_property
from pyrjsel._typing import IntArray, RNGLike, SeedLike
from pyrjsel._validate import check_bool, check_choice, check_int
from pyrjsel.design import LabelDesign, LabelRows, TableLike
from pyrjsel.design.frame import Level
from pyrjsel.patterns.compression import find_groups
from pyrjsel.patterns.features import Features, Kind
from pyrjsel.patterns.groups import Groups
from pyrjsel.patterns.histories import read_histories
from pyrjsel.patterns.options import BURN_IN, THIN, USUAL, Options, choose
from pyrjsel.patterns.priors import PatternPrior, SigmaPrior
from pyrjsel.patterns.problem import PatternProblem
from pyrjsel.patterns.results import PatternResults
from pyrjsel.patterns.sampler import run
from pyrjsel.patterns.summary import model_facts
from pyrjsel.report import model_html, own_copy
from pyrjsel.runtime import AUTO, FitSettings
from pyrjsel.storage import Plain, plain

KINDS: tuple[Kind, ...] = ("interactions", "sequence")


class PatternLogit:
    """A logistic model of all patterns of labels, their parameters compressed.

    A pattern fixes some features at levels and leaves the others open; its order is the number fixed. Every
    pattern has a coefficient for each class of the response, with a prior whose scale depends on the order
    alone. Patterns that the same cases express share a group, and the sum of their coefficients is all
    that the data say anything about, so that one parameter for each group is sampled and the sums are
    split for predictions. Made from arrays here, from a formula by :meth:`from_formula` or
    :func:`pyrjsel.pattern_logit`, from one long sequence by :meth:`from_sequence`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: labels of two or more classes.
    exog : DataFrame or array_like, shape (n, p)
        One feature per column: text, categories, booleans, or at most 20 distinct whole numbers (more if
        the column is categorical, or inside ``C()`` in a formula).
    kind : {"interactions", "sequence"}
        Patterns fix any subset of the features; or, where the columns are a history, the last the most
        recent, its last values.
    order : int, optional
        Largest order O of a pattern; None is the number of features.
    prior : {"cauchy", "gaussian"}
        Of a coefficient of order o: Cauchy(0, sigma_o) or N(0, sigma_o^2).
    sigma_prior : LogNormal, InverseGamma, sequence, mapping or callable, optional
        Prior on sigma_o (not on its square): one for all orders, one for each of the orders 1 to O in a
        sequence or by order in a mapping, or a function of the order. None is that of the paper: log sigma_o
        is normal with standard deviation 0.5 around means that fall evenly from -2 to -6 (Cauchy), or with
        standard deviation 2 around means from 0 to -4 (Gaussian).
    sigma_0 : float, optional
        Scale of the pattern that fixes nothing; None is exp(0.5) (Cauchy) or exp(5).
    compress : bool, default True
        Whether patterns with the same cases share a parameter. Without, the posterior is the same and
        costs more.
    missing : {"drop", "raise", "level"}
        What to do with rows with missing values; those dropped are counted in the summary. With ``"level"``
        a missing value of a feature is a level of its own, the last and written ``(missing)``, in new rows
        too; rows without a response are dropped.

    Attributes
    ----------
    design : LabelDesign
        How features and response are made of the data.
    data : LabelRows
        The rows that are used.
    features : Features
        The features of these rows.
    compression : Groups
        The groups of patterns, as arrays.
    prior : PatternPrior
        Family of the coefficients, and the priors of their scales by order.

    Raises
    ------
    DataError
        If there is one class only, a feature is constant, values are no labels, the groups of patterns
        take more than 2 GB, or one has more than 1e100 patterns of one order.
    ParameterError
        If a parameter is out of range, such as an order beyond the number of features.

    Warns
    -----
    MissingDataWarning
        If rows were dropped; it counts them by column.

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
        self._fill(
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
            Such as ``"y ~ interactions(a, b, c, order=2)"`` or ``"y ~ sequence(x1, x2, x3)"``, the last the
            most recent; ``.`` among the features stands for all other columns. One such call is the whole
            right-hand side. Numbers that are not whole become labels by ``C()``.
        data : DataFrame, pyarrow Table, or mapping of columns
            The rows.
        prior, sigma_prior, sigma_0, compress, missing : optional
            As for the class.
        functions : mapping of str to callable, optional
            Functions that the formula may call, by name, beside the documented ones.

        Returns
        -------
        PatternLogit
            Ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be read, has terms outside the call, or calls what it may not.
        DataError, ParameterError, UnknownNameError
            As for the class, or if a column is not there.

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
        """Make a model that predicts the next symbol of a sequence from the ones before it.

        Parameters
        ----------
        sequence : str or array_like, shape (n + order,)
            Symbols in time: the characters of a text, or labels of any kind.
        order : int, default 20
            Length of a history, and the largest order of a pattern.
        prior, sigma_prior, sigma_0, compress : optional
            As for the class.
        missing : {"raise", "drop", "level"}
            What to do with missing symbols. Each takes ``order + 1`` cases with it where cases are dropped;
            as a level, only the case that it would be the response of.

        Returns
        -------
        PatternLogit
            Ready to fit, with the n overlapping histories as cases. Its features are `x1` to `x<order>`, the
            last the most recent, and its response `next`, whose classes are all symbols of the sequence, also
            those of the first history alone; :func:`pyrjsel.histories` cuts new data alike.

        Raises
        ------
        DataError
            If the sequence is not longer than the order, has missing values that are an error, or one
            symbol only.
        ParameterError
            As for the class.

        Warns
        -----
        MissingDataWarning
            If cases were dropped.

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
        """Return what a model is made of beside its rows."""
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
        """Make a model of a design, its rows, their patterns and priors."""
        model = cls.__new__(cls)
        model._fill(design, rows, features, groups, prior)
        return model

    def _fill(
        self, design: LabelDesign, rows: Any, features: Features, groups: Groups, prior: PatternPrior
    ) -> None:
        self.design, self.data = design, rows
        self.features, self.compression, self.prior = features, groups, prior

    # ------------------------------------------------------------------ what it is

    @property
    def nobs(self) -> int:
        """Number of cases."""
        return self.features.n_cases

    @property
    def classes(self) -> tuple[Level, ...]:
        """The classes of the response, in order; of two the first is the base, with coefficients 0."""
        return self.design.classes

    @property
    def y(self) -> IntArray:
        """Position of the response of each case among the classes, shape (n,)."""
        return self.data.y

    @property
    def order(self) -> int:
        """Largest order of a pattern."""
        return self.features.order

    @property
    def n_groups(self) -> int:
        """Number of groups, and of parameters of a class."""
        return self.compression.n_groups

    @property
    def n_patterns(self) -> int:
        """Number of patterns that some case expresses."""
        return self.compression.n_patterns

    @property
    def groups(self) -> pd.DataFrame:
        """The groups, the one of all cases first.

        Columns: ``pattern``, one of the lowest order; ``orders``, the lowest and the highest; ``patterns``,
        how many; ``cases``, how many express them.
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
        """Sample the posterior of the sums over groups and of the scales by order.

        Parameters
        ----------
        sampler : {"auto", "interweaving", "slice"}
            ``"slice"`` is the scheme of the paper; ``"auto"`` is interweaving, which has the same posterior
            and many times its effective draws a second.
        draws : "auto" or int
            Draws that each chain keeps. ``"auto"`` is what the scales need: 200, and twice as many again and
            again, until the log scale of every order has an MCSE of at most `mcse` times its posterior
            deviation, R-hat of these and of the log posterior is at most 1.05, and each is worth 100
            independent draws. A number is just so many; 250 are those of the paper.
        mcse : float, default 0.05
            Largest Monte Carlo error of a log scale in posterior deviations, where `draws` is ``"auto"``:
            0.05 is some 400 independent draws.
        max_draws : int, default 1_500
            Draws a chain at most, where `draws` is ``"auto"``: all are in memory.
        max_seconds : float, optional
            Seconds after which no further round of draws begins, where `draws` is ``"auto"``; a first round
            there always is. The one setting that makes draws depend on the machine.
        burn_in : int, optional
            Iterations left out at the start of each chain; None is 1,500 for ``"slice"``, as in the paper,
            and 500 otherwise.
        thin : int, default 10
            Every `thin`-th iteration is kept. Draws take ``8 * chains * draws * G`` bytes for two classes of
            the response and K times as many for more.
        chains : int, default 4
            Chains; the first begins at the centre of the prior of the scales, the others at draws from it.
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
            data. The workers of a cluster must all see the folder.
        **options : dict
            Of the sampler: ``steps`` and ``sigma_updates``; of ``"slice"`` also ``width`` and
            ``sigma_width``.

        Returns
        -------
        PatternResults
            After Ctrl-C those of the draws so far.

        Raises
        ------
        ParameterError
            If a parameter or option is out of range.
        UnknownNameError
            If the sampler has no such option.
        StoreError
            If the checkpoint is that of another run, of another version, damaged or in use.

        Warns
        -----
        ConvergenceWarning
            If the run was interrupted, or if R-hat of a log scale or of the log posterior exceeds 1.2, or its
            effective sample size is below 100, as with Gaussian coefficients of many classes; if a run that
            stops by itself ended at `max_draws` or `max_seconds` before its figures were accurate.

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
        """Return what the draws of a fit depend on beside their number and seed, by names that users know."""
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
