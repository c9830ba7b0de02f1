"""The plots of mixture results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import ParameterError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import bad_value, check_int
from pyrjsel.design.frame import Level
from pyrjsel.mixture.draws import MixturePosterior
from pyrjsel.mixture.predict import kept, selected
from pyrjsel.report import Ellipses, ModelLooks, plot_calibration, plot_plane, plot_trace, results_html

if TYPE_CHECKING:
    from pyrjsel.mixture.model import MixtureClassifier
    from pyrjsel.mixture.results import SubsetDraws


class Plotted(Protocol):
    """The results that plots are drawn from."""

    model: MixtureClassifier
    posterior: MixturePosterior

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion by input."""

    @property
    def draws(self) -> SubsetDraws:
        """The draws of all chains."""

    def calibration(
        self, new: Any = None, endog: ArrayLike | None = None, *, of: Level | None = None, bins: int = 10
    ) -> pd.DataFrame:
        """Return the table of calibration."""

    def _places(self, inputs: Sequence[str] | str, owner: str) -> list[int]:
        """Return positions of inputs."""


class Looks(ModelLooks):
    """The plot methods of :class:`MixtureResults`."""

    _repr_html_ = results_html

    def _best_models(self: Plotted, top: int) -> tuple[Sequence[str], ByteArray, FloatArray]:
        posterior = self.posterior
        return self.model.term_names, posterior.packed[:top], posterior.probability[:top]

    def plot_trace(self: Plotted, ax: Any = None) -> Any:
        """Plot the draws of size, cost, log posterior and the number of kernels that have rows.

        Parameters
        ----------
        ax : array_like of matplotlib Axes, shape (4, 2), optional
            Where to draw, shape (3, 2) for a model without costs; a new figure by default.

        Returns
        -------
        ndarray of matplotlib Axes
            Of the shape of `ax`: on the left the traces, a line a chain, on the right the shares of values.
            The panel of costs is left out where there are none.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        draws = self.draws
        panels: dict[str, Any] = {"Size (inputs)": draws.size}
        if self.model._priced:
            panels["Cost"] = draws.cost
        panels |= {"Log posterior": draws.log_posterior, "Kernels with rows": draws.occupied}
        return plot_trace(panels, continuous=["Log posterior"], ax=ax)

    def plot_kernels(
        self: Plotted, inputs: Sequence[str] | None = None, ax: Any = None, *, draws: int = 30
    ) -> Any:
        """Plot rows and kernels in the plane of two inputs.

        Parameters
        ----------
        inputs : sequence of two str, optional
            Names of inputs; None is the two that are included most often.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        draws : int, default 30
            Draws whose kernels are shown, evenly spaced among those that have both inputs selected.

        Returns
        -------
        matplotlib Axes
            The axes: rows as points, coloured by class (grey without a label), and each kernel of each draw
            as an ellipse of one standard deviation, the stronger the more rows it is for, in the colour of
            the class that it is most probably for. How kernels are numbered does not matter.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed, or no draw has both inputs selected.
        UnknownNameError
            If there is no such input.
        ParameterError
            If `inputs` are not two, there is one input only, or `draws` or `ax` is not valid.
        """
        owner, model = "plot_kernels", self.model
        check_int(draws, "draws", owner, low=1)
        if inputs is None:
            if len(model.term_names) < 2:
                raise ParameterError(f"{owner} needs two inputs. The model has {len(model.term_names)}.")
            inputs = list(self.inclusion["posterior"].nlargest(2).index)
        if isinstance(inputs, str) or len(inputs) != 2:
            raise bad_value("inputs", owner, "the names of two inputs", inputs)
        places = self._places(inputs, owner)
        mean, variance, weight, prior = kept(self.posterior)
        (having,) = np.nonzero(selected(mean, places))
        shown = having[np.linspace(0, having.size - 1, min(draws, having.size)).round().astype(int)]
        joint = weight[shown] * prior[shown][:, :, None]
        total = joint.sum(axis=1)
        spread, middle = model.scaling.spread[places], model.scaling.midpoint[places]
        return plot_plane(
            model.data.X[:, places],
            model.y,
            [str(name) for name in model.classes],
            Ellipses(
                (mean[shown][:, :, places] * spread + middle).reshape(-1, 2),
                (np.sqrt(variance[shown][:, :, places]) * spread).reshape(-1, 2),
                joint.argmax(axis=1).ravel(),
                (total / total.max(axis=1, keepdims=True)).ravel(),
            ),
            ax=ax,
            xlabel=inputs[0],
            ylabel=inputs[1],
        )

    def plot_calibration(
        self: Plotted,
        new: Any = None,
        endog: ArrayLike | None = None,
        *,
        of: Level | None = None,
        bins: int = 10,
        ax: Any = None,
    ) -> Any:
        """Plot how often a class was right against how probable it was said to be.

        Parameters
        ----------
        new, endog, of, bins : optional
            As for :meth:`MixtureResults.calibration`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes: a point for each interval of probabilities, its area that of its rows, with two standard
            errors to either side of the diagonal, on which points of right probabilities lie.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError, UnknownNameError, DataError
            As for :meth:`MixtureResults.calibration`, or if `ax` is not valid.
        """
        table = self.calibration(new, endog, of=of, bins=bins)
        classes = self.model.classes
        name = classes[1] if of is None and len(classes) == 2 else of
        what = "the most probable class" if name is None else str(name)
        return plot_calibration(table, what, ax=ax)
