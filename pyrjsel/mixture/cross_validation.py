"""Numbers of components compared by how well rows held out are predicted."""

from dataclasses import replace

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._validate import check_int
from pyrjsel.mixture.options import MixtureOptions
from pyrjsel.mixture.prediction import class_probabilities
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.mixture.sampler import run
from pyrjsel.report import log_chosen
from pyrjsel.runtime import FitSettings, Refits, deal

FOLDS = 5
# Draws of the chain of a fold where a run stops by itself, by figures that folds do not have.
DRAWS = 10_000


def compare(model: MixtureModel, settings: FitSettings, options: MixtureOptions, folds: int) -> pd.DataFrame:
    """Score the numbers of components of a model by cross-validation over the rows with labels.

    Parameters
    ----------
    model : MixtureModel
        With several numbers.
    settings : FitSettings
        Of which each fold has one chain, of 10,000 draws where these are to stop by themselves.
    options : MixtureOptions
        Of the sampler.
    folds : int
        Parts of the rows with labels, dealt by class.

    Returns
    -------
    DataFrame
        By ``components``: ``log_score``, the mean over rows of the log probability of their class, and its
        standard error ``se``; ``difference`` from the largest, and ``difference_se``, of pairs of rows;
        ``error_rate``.

    Raises
    ------
    ParameterError
        If `folds` is out of range, or no row has a label.
    KeyboardInterrupt
        If one of the fits was interrupted.
    """
    labelled = np.flatnonzero(model.y >= 0)
    if labelled.size < 2:
        raise ParameterError(
            f"The 'components' parameter of {called()} must be one number where fewer than two rows have "
            f"labels to compare by. Got {list(model.components)} instead."
        )
    folds = check_int(folds, "folds", low=2, high=labelled.size)
    true = model.y[labelled]
    if settings.accuracy is not None:
        draws = min(DRAWS, settings.accuracy.max_draws)
        settings = replace(settings, draws=draws, accuracy=None)
    fold = deal(true.astype(np.float64), folds, settings.rng.spawn(1)[0])
    scores = np.empty((labelled.size, len(model.components)))
    wrong = np.empty_like(scores)
    refits = Refits("Fold")
    for column, components in enumerate(model.components):
        for part, stream in enumerate(settings.rng.spawn(folds)):
            test = fold == part
            problem = model._without(labelled[test], components)
            with refits.named(f"{part + 1} of {components} components"):
                single = replace(settings, chains=1, rng=stream)
                label = f"{components} components, fold {part + 1}"
                posterior = run(problem, single, options, label=label)
            if posterior.index.shape[1] < settings.draws:
                raise KeyboardInterrupt("interrupted while numbers of components were compared")
            probability = class_probabilities(posterior, model.z[labelled[test]])
            scores[test, column] = log_chosen(probability, true[test])
            wrong[test, column] = probability.argmax(axis=1) != true[test]
    refits.warn()
    best = int(scores.mean(axis=0).argmax())
    difference = scores - scores[:, [best]]
    root = np.sqrt(labelled.size)
    return pd.DataFrame(
        {
            "log_score": scores.mean(axis=0),
            "se": scores.std(axis=0, ddof=1) / root,
            "difference": difference.mean(axis=0),
            "difference_se": difference.std(axis=0, ddof=1) / root,
            "error_rate": wrong.mean(axis=0),
        },
        index=pd.Index(model.components, name="components"),
    )
