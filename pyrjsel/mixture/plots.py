"""The plots of mixture results."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._validate import bad_value, check_int
from pyrjsel.mixture.posterior import MixturePosterior
from pyrjsel.mixture.prediction import kept, places_of, selected
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.report import Ellipses, plot_plane


def plot_components(
    model: MixtureModel, posterior: MixturePosterior, inputs: Sequence[str] | None, ax: Any, draws: int
) -> Any:
    """Plot rows and components in the plane of two inputs."""
    check_int(draws, "draws", low=1)
    if inputs is None:
        if len(model.term_names) < 2:
            raise ParameterError(f"{called()} needs two inputs. The model has {len(model.term_names)}.")
        inputs = list(pd.Series(posterior.inclusion.mean, list(model.term_names)).nlargest(2).index)
    if isinstance(inputs, str) or len(inputs) != 2:
        raise bad_value("inputs", "the names of two inputs", inputs)
    places = places_of(model, posterior, inputs)
    mean, variance, weight, prior = kept(posterior)
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
