"""Sensitivity analysis: the same model under several priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pyrjsel import report
from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import ParameterError
from pyrjsel._validate import bad_value
from pyrjsel.report import plot_sensitivity, repr_short, results_html
from pyrjsel.runtime import Refits
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.results import SelectionResults
from pyrjsel.selection.studies.refits import refit

if TYPE_CHECKING:
    from pyrjsel.report import Report

NAMES = ("coef_prior", "model_prior")
# Priors with longer names, which do not fit over a column of a summary, are numbered.
LONGEST_HEAD = 10


@dataclass(frozen=True)
class Axis:
    """Values of one prior by name, with their positions on an axis if they are numbers.

    Attributes
    ----------
    name : str
        Name of the model's parameter.
    priors : dict of str to prior
    places : tuple of float
        Positions; empty if the priors are not values of one parameter.
    label : str
        Label of the axis.
    """

    name: str
    priors: dict[str, Any]
    places: tuple[float, ...] = ()
    label: str = "Prior"


class SensitivityResults:
    """The posteriors of one model under several priors, returned by ``sensitivity``.

    Parameters
    ----------
    results : dict of str or tuple of str to SelectionResults
        Results by name of the prior, or by the names of both if both were varied.
    names : tuple of str
        The priors that were varied: "coef_prior", "model_prior" or both.
    places : tuple of float
        Values of the parameter that was varied, for plots; empty unless it was a single one.
    label : str
        Name of that parameter.

    Attributes
    ----------
    results : dict of str or tuple of str to SelectionResults
        As above.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> study = rj.logit("low ~ lwt + smoke + ht", births).sensitivity(g=[10, 100, 1000], rng=1)
    >>> study.inclusion.round(1)
    prior  g=10  g=100  g=1000
    term
    lwt     1.0    0.9     0.5
    smoke   0.8    0.7     0.2
    ht      0.9    0.8     0.4
    """

    def __init__(
        self,
        results: Mapping[Any, SelectionResults],
        names: tuple[str, ...],
        places: tuple[float, ...] = (),
        label: str = "Prior",
    ) -> None:
        self.results = dict(results)
        self._names, self._places, self._label = names, places, label

    @property
    def _index(self) -> pd.Index:
        keys = list(self.results)
        if len(self._names) > 1:
            return pd.MultiIndex.from_tuples(keys, names=self._names)
        return pd.Index(keys, name="prior", dtype=object)

    @property
    def inclusion(self) -> pd.DataFrame:
        """Posterior inclusion probabilities, with one row per term and one column per prior."""
        columns = [found.inclusion["posterior"].to_numpy() for found in self.results.values()]
        terms = next(iter(self.results.values())).inclusion.index
        return pd.DataFrame(np.column_stack(columns), index=terms, columns=self._index)

    @property
    def analyses(self) -> pd.DataFrame:
        """Overview of the analyses, one row per prior.

        Columns ``terms`` and ``posterior`` of the best model, ``expected_size`` (posterior mean number of
        terms) and ``log_marginal``, the log of the marginal likelihood averaged over all models with their
        prior probabilities (after enumeration, otherwise NaN). It includes the constants of the likelihood;
        densities of a flat intercept and, in linear models without a `sigma_prior`, of log sigma^2 are taken
        as one. Differences are log Bayes factors between priors, if the priors on the intercept are the same
        or proper.
        """
        rows = [
            (
                found.best(),
                float(found.posterior.probability[0]),
                float(found.posterior.inclusion.sum()),
                log_evidence(found),
            )
            for found in self.results.values()
        ]
        columns = ["terms", "posterior", "expected_size", "log_marginal"]
        return pd.DataFrame(rows, index=self._index, columns=columns)

    def summary(self) -> Report:
        """Return the summary: inclusion by term and prior, and the best model under each prior.

        Returns
        -------
        statsmodels Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.
        """
        inclusion, analyses = self.inclusion, self.analyses
        labels = self._labels
        if max(map(len, labels)) > LONGEST_HEAD:
            inclusion.columns = pd.Index([f"[{place}]" for place in range(1, len(labels) + 1)])
            analyses.index = pd.Index([f"[{place}] {label}" for place, label in enumerate(labels, start=1)])
        else:
            inclusion.columns = analyses.index = pd.Index(labels)
        model = next(iter(self.results.values())).model
        samplers = dict.fromkeys(found.sampler for found in self.results.values())
        info = [
            ("Response", model.design.response),
            ("Observations", f"{model.nobs:,}"),
            ("Priors", str(len(self.results))),
            ("Sampler", ", ".join(samplers)),
        ]
        kinds = dict.fromkeys(inclusion.columns, "prior")
        tables = [
            ("Posterior inclusion probabilities", inclusion, kinds),
            ("Best models", analyses, {"expected_size": "fixed2"}),
        ]
        return report.Report(f"{model.title}: sensitivity to the prior", info, tables)

    @property
    def _labels(self) -> list[str]:
        return [key if isinstance(key, str) else ", ".join(key) for key in self.results]

    _repr_html_ = results_html

    def __repr__(self) -> str:
        return f"<SensitivityResults: {len(self.results)} priors ({'; '.join(self._labels)})>"

    def plot_inclusion(self, ax: Any = None, *, top: int = 8) -> Any:
        """Plot inclusion probabilities against the prior, one line per term.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        top : int, default 8
            Number of terms with a colour and a label, those with the highest inclusion probability under any
            prior; the others are grey.

        Returns
        -------
        matplotlib Axes
            The axes. The horizontal one is logarithmic if only g or scale was varied.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` or `top` is not valid.
        """
        inclusion = self.inclusion
        return plot_sensitivity(
            list(inclusion.index),
            inclusion.to_numpy(),
            self._labels,
            self._places or None,
            self._label,
            ax=ax,
            top=top,
        )


def log_evidence(results: SelectionResults) -> float:
    """Return the log of the marginal likelihood averaged over the prior on models; NaN if unknown.

    Models without a coefficient prior have prior probability 0.
    """
    posterior = results.posterior
    if posterior.draws is not None or posterior.log_marginal is None:
        return np.nan
    prior = np.asarray(results.model.space.log_prior(posterior.gamma), dtype=float)
    known = np.isfinite(posterior.log_marginal)
    joint = posterior.log_marginal[known] + prior[known]
    return (
        float(special.logsumexp(joint) - special.logsumexp(prior[known]))
        + results.model.regression.log_constant
    )


def refit_over(
    model: SelectionModel,
    coef_priors: Any,
    model_priors: Any,
    g: Any,
    scale: Any,
    rng: np.random.Generator,
    options: Mapping[str, Any],
) -> SensitivityResults:
    """Fit `model` under every prior of a grid."""
    axes = grid(model, coef_priors, model_priors, g, scale)
    keys = list(product(*(axis.priors for axis in axes)))
    refits = Refits("Prior")
    found: dict[Any, SelectionResults] = {}
    for key, stream in zip(keys, rng.spawn(len(keys)), strict=True):
        changed = {axis.name: axis.priors[name] for axis, name in zip(axes, key, strict=True)}
        with refits.named(", ".join(key)):
            results = refit(model, model.data, replace(model._choices, **changed), stream, options)
        found[key if len(axes) > 1 else key[0]] = results
    refits.warn()
    single = axes[0] if len(axes) == 1 else Axis("", {})
    return SensitivityResults(found, tuple(axis.name for axis in axes), single.places, single.label)


def grid(model: SelectionModel, coef_priors: Any, model_priors: Any, g: Any, scale: Any) -> list[Axis]:
    """Return the priors to vary, coefficients first.

    Raises
    ------
    ParameterError
        If nothing is varied, coefficient priors are given in more than one way, or a list of priors is empty,
        has repeated names or is not a list.
    """
    ways = {"coef_priors": coef_priors, "g": g, "scale": scale}
    used = [name for name, value in ways.items() if value is not None]
    if len(used) > 1:
        raise ParameterError(
            f"Only one of coef_priors, g and scale of {called()} may be given. Got {' and '.join(used)}."
        )
    axes = []
    if coef_priors is not None:
        axes.append(Axis(NAMES[0], _by_name(coef_priors, "coef_priors")))
    if g is not None:
        base = model.coef_prior if isinstance(model.coef_prior, GPrior) else model._default_prior
        chosen = [replace(base, g=value) for value in _values(g, "g")]
        places = tuple(prior.value(model._n_observations()) for prior in chosen)
        axes.append(Axis(NAMES[0], _named([f"g={_short(p.g)}" for p in chosen], chosen, "g"), places, "g"))
    if scale is not None:
        normal = model.coef_prior if isinstance(model.coef_prior, Normal) else Normal(1.0)
        each = [replace(normal, scale=value) for value in _values(scale, "scale")]
        named = _named([f"scale={_short(prior.scale)}" for prior in each], each, "scale")
        axes.append(Axis(NAMES[0], named, tuple(float(prior.scale) for prior in each), "scale"))
    if model_priors is not None:
        axes.append(Axis(NAMES[1], _by_name(model_priors, "model_priors")))
    if not axes:
        raise ParameterError(
            f"One of coef_priors, g, scale and model_priors of {called()} must be given. Got none."
        )
    return axes


def _by_name(given: Any, name: str) -> dict[str, Any]:
    if isinstance(given, Mapping):
        if not given or not all(isinstance(key, str) for key in given):
            raise bad_value(name, "a mapping of names to priors, or a sequence of priors", given)
        return dict(given)
    priors = _values(given, name)
    return _named([repr_short(prior) for prior in priors], priors, name)


def _values(given: Any, name: str) -> list[Any]:
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)) or not len(given):
        kind = "values" if name in ("g", "scale") else "priors, or a mapping of names to priors"
        raise bad_value(name, f"a sequence of {kind}", given)
    return list(given)


def _named(names: list[str], priors: list[Any], name: str) -> dict[str, Any]:
    twice = [each for each in names if names.count(each) > 1]
    if twice:
        raise bad_value(name, f"without repetition; {twice[0]} occurs twice", names)
    return dict(zip(names, priors, strict=True))


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
