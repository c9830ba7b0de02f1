"""Results of pattern models: tables, predictions, scores and draws of single coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_choice, check_int, counted, unknown_name
from pyrjsel.design import AbsentRows
from pyrjsel.design.labels import MISSING_ROW
from pyrjsel.patterns.features import CodeArray
from pyrjsel.patterns.groups import ANY, PatternProblem, as_whole
from pyrjsel.patterns.matching import match
from pyrjsel.patterns.options import USUAL
from pyrjsel.patterns.plots import SCORES, plot_coefficients, plot_compression, plot_scales, plot_scores
from pyrjsel.patterns.prediction import predict_probabilities
from pyrjsel.patterns.protocols import PatternModel
from pyrjsel.patterns.sampler import PatternDraws, PatternPosterior, run
from pyrjsel.patterns.saving import KIND, content_of
from pyrjsel.patterns.split import split_cauchy, split_gaussian
from pyrjsel.patterns.summary import describe, tables
from pyrjsel.report import Plot, kept_table, log_chosen, own_copy, score_table
from pyrjsel.results import Description, RecordedRun, SampledResults, true_classes
from pyrjsel.runtime import FitSettings, by_chain
from pyrjsel.storage import Plain

# Treatments of levels that do not occur in the training data.
UNSEEN = ("raise", "prior", "ignore")
# Central intervals of the tables.
INTERVAL = (0.025, 0.975)

# Text for the placeholders of inherited docstrings.
TEXTS = {
    "top": "Number of groups listed, those with the largest absolute medians.",
    "rows in files": """\
Whether to save the training data: features, response and labels of observations. None saves only the
codes of the features, which predictions, scores and draws of single coefficients need. False saves
neither. For methods that need the training data after loading, use ``rj.load(path, data=...)``; for a
sequence, `data` are its :func:`pyrjsel.histories`.""",
    "in every file": """\
Every file contains the table `groups`, whose patterns may be those of a single observation, and the
levels of features and response.""",
    "accuracy": """\
Continue until log scales have Monte Carlo standard errors of at most this many posterior standard
deviations; None is the value used in the fit, or 0.05.""",
    "not in one run": "",
    "without chains": "",
    "variables": """\
``posterior`` with ``sigma`` (by order) and ``s`` (by class and group), ``sample_stats`` with
``lp``, and ``observed_data`` with the response unless the training data are missing.""",
}


class PatternResults(SampledResults[PatternModel]):
    """Posterior of a pattern model, as returned by ``fit``.

    Parameters
    ----------
    model : PatternModel
        The fitted model.
    posterior : PatternPosterior
        Draws, diagnostics and run settings.
    entropy : bytes, optional
        Seed of draws after the fit; None takes it from the random number generator of the fit.
    description : Description, optional
        Facts and notes of the summary, if they cannot be computed because the training data are missing.

    Attributes
    ----------
    sampler : str
        Name of the sampler.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.pattern_logit("low ~ interactions(race, smoke, ht, ui, order=2)", births)
    >>> results = model.fit(draws=300, chains=2, rng=1)
    >>> results.sigma.columns.tolist()[:4]
    ['prior_centre', 'median', 'ci_lower', 'ci_upper']

    Extended chains have the draws of one longer run.

    >>> longer = results.extend(100)
    >>> bool((longer.draws.s == model.fit(draws=400, chains=2, rng=1).draws.s).all())
    True
    """

    _texts = TEXTS
    _file = KIND
    _usual = USUAL

    def __init__(
        self,
        model: PatternModel,
        posterior: PatternPosterior,
        entropy: bytes | None = None,
        description: Description | None = None,
    ) -> None:
        super().__init__(model, posterior.settings.rng.bytes(16) if entropy is None else entropy, description)
        self.posterior = posterior
        self.sampler = posterior.sampler

    # ------------------------------------------------------------------ pieces

    @property
    def _sums(self) -> FloatArray:
        """Draws of the sums, shape (D, C, G), with the chains concatenated."""
        s = self.draws.s
        return s.reshape(-1, *s.shape[2:])

    @kept_property
    def _sigma(self) -> FloatArray:
        """Draws of the scales of orders 0 to O, shape (D, O + 1)."""
        log_sigma = self.draws.log_sigma.reshape(-1, self.model.order)
        return np.exp(np.insert(log_sigma, 0, self.model.prior.log_sigma_0, axis=1))

    @property
    def _free(self) -> list[Any]:
        """The classes with coefficients."""
        classes = list(self.model.classes)
        return classes[1:] if len(classes) == 2 else classes

    def _plots(self) -> list[Plot]:
        return [
            Plot(
                "Coefficients",
                "Medians of the largest sums of coefficients, with intervals of 50 and 95 %.",
                self.plot_coefficients,
            ),
            Plot("Trace", "Traces of the scales by order, and their histograms.", self.plot_trace),
            Plot("Compression", "Numbers of patterns and of groups by largest order.", self.plot_compression),
        ]

    def _describe(self) -> Description:
        return describe(self.model, self.posterior)

    def _tables(self, top: int) -> list[tuple[str, pd.DataFrame, dict[str, str]]]:
        return tables(self.sigma, self.compression, self.coefficients, self.diagnostics, top)

    def _content(self, with_rows: bool | None) -> Plain:
        return content_of(self.model, self.posterior, self._entropy, self._description(), with_rows)

    def _recorded_run(self) -> RecordedRun[PatternResults]:
        model, posterior = self.model, self.posterior
        options: Any = posterior.options  # known if the final states of the chains are

        def go_on(settings: FitSettings) -> PatternResults:
            problem = PatternProblem.of(model.compression, model.y, len(model.classes), model.prior)
            return type(self)(model, run(problem, posterior.sampler, options, settings), self._entropy)

        return RecordedRun(
            posterior.settings,
            posterior.ends,
            posterior.draws.log_posterior.shape[1],
            lambda: by_chain(vars(posterior.draws)),
            lambda: model._identity(posterior.sampler, options),
            go_on,
        )

    # ------------------------------------------------------------------ tables

    @property
    def n_groups(self) -> int:
        """Number of groups, which is the number of parameters per class."""
        return self.model.n_groups

    @property
    def n_patterns(self) -> int:
        """Number of patterns that occur in the data."""
        return self.model.n_patterns

    @property
    def groups(self) -> pd.DataFrame:
        """The groups, as :attr:`PatternLogit.groups`."""
        return self.model.groups

    @property
    def draws(self) -> PatternDraws:
        """The draws of all chains."""
        return self.posterior.draws

    @property
    def diagnostics(self) -> pd.DataFrame:
        """Mean, sd, MCSE, ESS and R-hat of each log sigma_o and of the log posterior."""
        return own_copy(self.posterior.diagnostics)

    @property
    @kept_table
    def sigma(self) -> pd.DataFrame:
        """Scales by order.

        Columns ``prior_centre`` (the median of a LogNormal, the mode of an InverseGamma); ``median`` and the
        central 95 % interval ``ci_lower`` to ``ci_upper`` of sigma_o; ``log_mean``, ``log_sd``, ``mcse`` (of
        `log_mean`), ``ess`` and ``r_hat`` of log sigma_o. The scale of order 0 is fixed.
        """
        prior, draws = self.model.prior, self._sigma
        stats = self.diagnostics.iloc[: self.model.order]
        ends = np.quantile(draws, INTERVAL, axis=0)
        unknown = {"log_sd": 0.0, "mcse": 0.0, "ess": np.nan, "r_hat": np.nan}
        table = pd.DataFrame(
            {
                "prior_centre": np.exp(np.insert(prior.centre(), 0, prior.log_sigma_0)),
                "median": np.median(draws, axis=0),
                "ci_lower": ends[0],
                "ci_upper": ends[1],
                "log_mean": np.insert(stats["mean"].to_numpy(), 0, prior.log_sigma_0),
                **{
                    name: np.insert(stats[name.removeprefix("log_")].to_numpy(), 0, value)
                    for name, value in unknown.items()
                },
            }
        )
        return table.rename_axis("order")

    @property
    @kept_table
    def compression(self) -> pd.DataFrame:
        """Numbers of groups and patterns by largest order, up to that of the model.

        Columns ``groups``, ``patterns`` and their ``ratio``, for a model of that order on the same data.
        """
        counts = self.model.compression.counts
        lowest = (counts > 0).argmax(axis=1)
        groups = np.cumsum(np.bincount(lowest, minlength=counts.shape[1]))
        patterns = np.cumsum(counts.sum(axis=0))
        return pd.DataFrame(
            {"groups": groups, "patterns": as_whole(patterns), "ratio": groups / patterns}
        ).rename_axis("order")

    @property
    @kept_table
    def coefficients(self) -> pd.DataFrame:
        """Sums of the coefficients of each group, by group and class.

        Index ``group`` and ``class`` (only the second of two classes, since the first has coefficients 0);
        columns ``pattern`` (one of the lowest order), ``patterns``, ``cases`` (number of observations), and
        ``mean``, ``sd``, ``median``, quartiles ``q25`` and ``q75``, and the central 95 % interval
        ``ci_lower`` to ``ci_upper`` of the sum, in log odds. Under Cauchy priors the sums have heavy tails:
        use their medians rather than their means.
        """
        groups, draws = self.groups, self._sums
        n_draws, n_classes, n_groups = draws.shape
        flat = draws.reshape(n_draws, -1)
        lower, q25, median, q75, upper = np.quantile(
            flat, [INTERVAL[0], 0.25, 0.5, 0.75, INTERVAL[1]], axis=0
        )
        index = pd.MultiIndex.from_product([self._free, range(n_groups)], names=["class", "group"])
        table = pd.DataFrame(
            {
                "mean": flat.mean(axis=0),
                "sd": flat.std(axis=0, ddof=1) if n_draws > 1 else np.nan,
                "median": median,
                "q25": q25,
                "q75": q75,
                "ci_lower": lower,
                "ci_upper": upper,
            },
            index=index,
        )
        for place, name in enumerate(("pattern", "patterns", "cases")):
            table.insert(place, name, np.tile(groups[name].to_numpy(), n_classes))
        return table.swaplevel().sort_index(level="group", sort_remaining=False)

    # ------------------------------------------------------------------ predictions

    def _encode(self, new: Any, unseen: str, invalid: str | None = None) -> tuple[CodeArray, pd.Index]:
        """Return codes and index of new observations, or of the training data."""
        check_choice(unseen, "unseen", UNSEEN)
        if new is None:
            return self.model.features.codes, self.model.data.index
        known = "raise" if unseen == "raise" else "mark"
        codes = self.model.features.encode(new, known, missing="mark", invalid=invalid)
        return codes, new.index if isinstance(new, pd.DataFrame) else pd.RangeIndex(len(codes))

    def predict(
        self, new: Any = None, *, draws: int = 1, unseen: str = "raise", invalid: str = "raise"
    ) -> pd.DataFrame:
        """Return posterior predictive class probabilities.

        Parameters
        ----------
        new : DataFrame, optional
            New data with the variables of the formula, or a matrix if the model was made from arrays. None is
            the training data.
        draws : int, default 1
            Number of splits per posterior draw of the sums of groups that an observation matches in part, and
            of prior draws for the patterns that do not occur in the training data. More reduce the Monte
            Carlo error if the posterior has few draws.
        unseen : {"raise", "prior", "ignore"}
            Treatment of levels that do not occur in the training data: an error; coefficients of patterns
            with such a level drawn from their prior given the scales; or these coefficients set to 0. With
            ``missing="level"``, a missing value is such a level if the training data have none.
        invalid : {"raise", "nan"}
            Treatment of observations with infinite values, features that are not finite or, with
            ``unseen="raise"``, unseen levels: an error that names them, or NaN with a warning.

        Returns
        -------
        DataFrame
            One column per class, with the index of `new`; NaN for observations with a missing value, unless
            missing values are a level.

        Raises
        ------
        UnknownNameError
            If a variable is missing from `new`.
        DataError
            If a level is unseen, ``unseen="raise"`` and ``invalid="raise"``.
        ParameterError
            If `draws` is not an int of at least 1, or `unseen` is invalid.
        """
        draws = check_int(draws, "draws", low=1)
        codes, index = self._encode(new, unseen, invalid)
        model = self.model
        complete = (codes != MISSING_ROW).all(axis=1)
        probability = np.full((len(codes), len(model.classes)), np.nan)
        probability[complete] = predict_probabilities(
            self._sums,
            self._sigma,
            model.prior.family,
            model.compression,
            model.features,
            codes[complete],
            self._stream(b"predict"),
            draws,
            unseen_levels=unseen == "prior",
        )
        return pd.DataFrame(probability, index=index.copy(), columns=pd.Index(model.classes))

    def classify(
        self, new: Any = None, *, draws: int = 1, unseen: str = "raise", invalid: str = "raise"
    ) -> pd.Series:
        """Return the most probable class of each observation.

        Parameters
        ----------
        new, draws, unseen, invalid : optional
            As for :meth:`predict`.

        Returns
        -------
        Series
            With the index of `new`; the first of equally probable classes, and missing for observations with
            a missing value.

        Raises
        ------
        UnknownNameError, DataError, ParameterError
            As for :meth:`predict`.
        """
        probability = self.predict(new, draws=draws, unseen=unseen, invalid=invalid)
        best = pd.Index(self.model.classes)[probability.to_numpy().argmax(axis=1)]
        found = pd.Series(best, index=probability.index, name=self.model.design.response)
        complete = probability.notna().all(axis=1)
        return found if complete.all() else found.where(complete)

    def score(
        self, new: Any = None, endog: ArrayLike | None = None, *, draws: int = 1, unseen: str = "raise"
    ) -> pd.DataFrame:
        """Return error rate and log score of the class probabilities.

        Parameters
        ----------
        new : DataFrame, optional
            Data with the variables of the formula, including the response. None is the training data, for
            which scores are optimistic.
        endog : array_like, optional
            True classes, if `new` does not contain them, labelled as in predictions.
        draws, unseen : optional
            As for :meth:`predict`.

        Returns
        -------
        DataFrame
            Rows ``error_rate`` and ``log_score``, the mean log probability of the true class (higher is
            better); columns ``value``, ``se`` (standard error over observations) and ``rows`` (their number).

        Raises
        ------
        UnknownNameError, DataError, ParameterError
            As for :meth:`predict`; if a value is missing and missing values are not a level; if the response
            does not exist, is missing, or is of an unknown class.
        """
        model = self.model
        probability = self.predict(new, draws=draws, unseen=unseen).to_numpy()
        true = true_classes(model.design, new, endog, lambda: model.y, len(probability))
        gone = int(np.isnan(probability).any(axis=1).sum())
        if gone:
            some = counted(gone, "row")
            raise DataError(f"The new data of {called()} must have no missing values. Got some in {some}.")
        wrong = (probability.argmax(axis=1) != true).astype(np.float64)
        return score_table({"error_rate": wrong, "log_score": log_chosen(probability, true)})

    def expand(self, pattern: Mapping[str, Any] | str | list[Any] | tuple[Any, ...]) -> pd.DataFrame:
        """Return draws of the coefficient of one pattern, by splitting the sum of its group.

        Parameters
        ----------
        pattern : mapping, str or sequence
            Levels by feature, such as ``{"smoke": 1, "race": "white"}``; an empty mapping is the pattern of
            order 0, and None is the level of missing values. For a sequence model also the last symbols, the
            most recent one last, such as ``"the"`` or ``[2, 1, 1]``.

        Returns
        -------
        DataFrame
            One row per draw, indexed by ``chain`` and ``draw``; one column per class with coefficients (only
            the second of two classes).

        Raises
        ------
        UnknownNameError
            If a feature or a level is unknown.
        ParameterError
            If the pattern fixes more features than the order, or does not fix the last ones of a sequence.

        Notes
        -----
        Given the sum of a group, the likelihood does not depend on the single coefficients, which are drawn
        from their prior given the sum. The coefficient of a pattern that does not occur in the training data
        is drawn from its prior. Separate calls for several patterns of a group are independent: their draws
        do not add up to those of the sum.
        """
        model = self.model
        code = self._pattern_code(pattern)
        fixed = int((code != ANY).sum())
        (found,) = match(model.compression, model.features, code[None])
        # This pattern is the only one of its order among those that it contains.
        wide = model.compression.counts[found.group].copy()
        part = found.part >= 0
        wide[part] = found.inside[found.part[part]]
        home = found.group[wide[:, fixed] > 0]
        scale = self._sigma[:, fixed, None]
        stream = self._stream(b"expand" + crc32(code.tobytes()).to_bytes(4, "little"))
        family = model.prior.family
        if home.size == 0:
            shape = (len(scale), len(self._free))
            noise = stream.standard_cauchy(shape) if family == "cauchy" else stream.standard_normal(shape)
            values = scale * noise
        else:
            others = model.compression.counts[home[0]].copy()
            others[fixed] -= 1
            sums = self._sums[:, :, home[0]]
            if not others.any():  # the only pattern of its group
                values = sums
            elif family == "cauchy":
                rest = (self._sigma @ others)[:, None]
                values = np.asarray(split_cauchy(sums, scale, rest, rng=stream, method="rejection")[0])
            else:
                rest = np.sqrt(self._sigma**2 @ others)[:, None]
                values = np.asarray(split_gaussian(sums, scale, rest, rng=stream)[0])
        chains, kept = self.draws.log_posterior.shape
        index = pd.MultiIndex.from_product([range(chains), range(kept)], names=["chain", "draw"])
        return pd.DataFrame(values, index=index, columns=pd.Index(self._free))

    def _pattern_code(self, pattern: Any) -> CodeArray:
        """Return a pattern as positions of levels, -1 for open features."""
        features = self.model.features
        names = features.names
        if not isinstance(pattern, Mapping):
            if features.kind != "sequence" or not isinstance(pattern, (str, list, tuple)):
                must = "a mapping of features to levels"
                must += ", or the last symbols" if features.kind == "sequence" else ""
                raise bad_value("pattern", must, pattern)
            if len(pattern) > len(names):
                raise bad_value("pattern", f"at most {len(names)} symbols", pattern)
            pattern = dict(zip(names[len(names) - len(pattern) :], pattern, strict=True))
        code = np.full(len(names), ANY, dtype=np.int32)
        for name, level in pattern.items():
            if name not in names:
                raise unknown_name(name, "feature", names)
            j = names.index(name)
            level = None if pd.api.types.is_scalar(level) and pd.isna(level) else level
            if level not in features.levels[j]:
                raise unknown_name(level, "level", features.levels[j], f"of the feature {name!r}")
            code[j] = features.levels[j].index(level)
        fixed = np.flatnonzero(code != ANY)
        if len(fixed) > features.order:
            raise bad_value("pattern", f"of order {features.order} at most", pattern)
        if features.kind == "sequence" and (fixed != np.arange(len(names) - len(fixed), len(names))).any():
            raise bad_value("pattern", "one of the last features, without a gap", pattern)
        return code

    # ------------------------------------------------------------------ plots

    def plot_compression(self, ax: Any = None) -> Any:
        """Plot numbers of patterns and of groups by largest order.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes; the vertical axis is logarithmic.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` is invalid.
        """
        return plot_compression(self.compression, ax)

    def plot_scores(
        self,
        new: Any,
        others: Sequence[PatternResults] = (),
        *,
        measure: str = "log_score",
        ax: Any = None,
    ) -> Any:
        """Plot scores of several fits on new data, by order.

        Parameters
        ----------
        new : DataFrame
            Data with the variables of all fits and the response.
        others : sequence of PatternResults, default ()
            Fits of other orders or priors; there is one line per prior.
        measure : {"log_score", "error_rate"}
            Mean log probability of the true classes (higher is better), or share of misclassified
            observations.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes; error bars are two standard errors over observations. Differences between fits have
            smaller errors, since the observations are the same.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `measure` is invalid, `others` are not results, two fits have the same prior, order and
            compression, or `ax` is invalid.
        UnknownNameError, DataError
            As for :meth:`PatternResults.score`.
        """
        check_choice(measure, "measure", SCORES)
        if not isinstance(others, Sequence) or not all(isinstance(each, PatternResults) for each in others):
            raise bad_value("others", "a sequence of PatternResults", others)
        fits = [self, *others]
        scores = [fit.score(new) for fit in fits]
        return plot_scores([fit.model for fit in fits], scores, measure, ax)

    def plot_coefficients(self, ax: Any = None, *, top: int = 20) -> Any:
        """Plot medians of the largest sums of coefficients, with central intervals of 50 and 95 %.

        For Cauchy coefficients, whose tails are heavy, the axis is logarithmic beyond -1 and 1.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure of suitable height by default.
        top : int, default 20
            Number of sums shown, those with the largest absolute medians.

        Returns
        -------
        matplotlib Axes
            The axes, with one row per group (and class), labelled by a pattern of its lowest order and the
            number of its other patterns.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` or `top` is invalid.
        """
        return plot_coefficients(self.coefficients, self.model, ax, top)

    def plot_trace(self, ax: Any = None, *, orders: Sequence[int] | None = None) -> Any:
        """Plot the draws of log scales and of the log posterior.

        Parameters
        ----------
        ax : array_like of matplotlib Axes, shape (len(orders) + 1, 2), optional
            Where to draw; a new figure by default.
        orders : sequence of int, optional
            Orders whose log sigma is shown; by default at most three, evenly spaced.

        Returns
        -------
        ndarray of matplotlib Axes
            In the shape of `ax`: traces on the left, one line per chain, and histograms on the right.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If an order is not between 1 and that of the model, or `ax` is invalid.
        """
        return plot_scales(self.draws, self.model.order, ax, orders)

    # ------------------------------------------------------------------ elsewhere

    def _arviz(self) -> tuple[dict[str, dict[str, tuple[list[str], Any]]], dict[str, Sequence[Any]]]:
        draws, model = self.draws, self.model
        groups: dict[str, dict[str, tuple[list[str], Any]]] = {
            "posterior": {
                "sigma": (["order"], np.exp(draws.log_sigma)),
                "s": (["class", "group"], draws.s),
            },
            "sample_stats": {"lp": ([], draws.log_posterior)},
        }
        coords: dict[str, Sequence[Any]] = {
            "order": range(1, model.order + 1),
            "class": self._free,
            "group": range(model.n_groups),
        }
        if not isinstance(model.data, AbsentRows):
            groups["observed_data"] = {model.design.response: (["row"], np.asarray(model.y))}
            coords["row"] = model.data.index.tolist()
        return groups, coords

    def __repr__(self) -> str:
        chains, draws = self.draws.log_posterior.shape
        return (
            f"<PatternResults of {self.sampler}: {chains} x {draws} draws, {self.n_groups} groups of "
            f"{self.n_patterns} patterns>"
        )
