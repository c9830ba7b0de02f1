"""The synthetic pneumonia cohort and the published results that it is tuned to reproduce."""

import pandas as pd

from pyrjsel.datasets._dataset import Dataset
from pyrjsel.datasets._files import read_csv, read_text

_SOURCE = (
    "made for this package after the slides of a talk by I. Ntzoufras, headed 'Preliminary Results', on "
    "D. Fouskakis, I. Ntzoufras and D. Draper (2009), Population-based reversible jump Markov chain Monte "
    "Carlo methods for Bayesian variable selection and evaluation under cost limit restrictions, "
    "J. R. Stat. Soc. C 58, 383-403; the study they analysed is "
    "E. Keeler et al. (1990), JAMA 264, 1962-1968"
)
_TERMS = "the licence of the package (BSD-3-Clause)"

# The variables left of 83 by the published screening at an inclusion probability of 0.30.
_REDUCED = (1, 2, 3, 4, 5, 6, 12, 37, 46, 49, 51, 62, 70)


def _variables() -> pd.DataFrame:
    table = read_csv("pneumonia/costs.csv", index_col="variable")
    table = table.rename(columns={"name": "label", "cost_minutes": "cost"})
    table = table.astype({"published": bool, "rand14": bool})
    table["reduced"] = table["index"].isin(_REDUCED)
    return table


def pneumonia() -> Dataset:
    """Return the pneumonia cohort, synthetic data in place of data that are not public.

    The data are tuned to give the published results, those of the slides of a talk: repeating the published
    analysis shows that software recovers a known answer, and is no evidence about pneumonia. See the
    `description` for details.

    Returns
    -------
    Dataset
        `data` has 2,532 rows: `mortality` (death within 30 days, 0 or 1; 405 deaths) and 83
        sickness indicators in the published order, one numeric column each. `costs` has minutes of
        abstraction per patient, by indicator. `variables` has, by indicator, its number on the
        slides (`index`), `label`, `cost`, `kind` ("binary", "score" or "numeric"), and whether
        its name is `published`, whether it is in the 14-variable RAND scale (`rand14`) and in the
        `reduced` space of the slides.

    See Also
    --------
    pneumonia_published : The published models and results.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> cohort = datasets.pneumonia()
    >>> int(cohort.data["mortality"].sum())
    405
    >>> float(cohort.costs[cohort.variables["rand14"]].sum())
    31.0
    """
    variables = _variables()
    return Dataset(
        name="pneumonia",
        data=read_csv("pneumonia/cohort.csv.gz"),
        description=read_text("pneumonia/README.md"),
        source=_SOURCE,
        terms=_TERMS,
        costs=variables["cost"].copy(),
        variables=variables,
    )


def pneumonia_published() -> pd.DataFrame:
    """Return the models and results published for the pneumonia data.

    The budget of the published analysis is 10 minutes. All figures except `deviance_here` are those of the
    slides of a talk by I. Ntzoufras, under the heading "Preliminary Results", with the digits that they have
    there. The talk is on the article D. Fouskakis, I. Ntzoufras and D. Draper (2009), J. R. Stat. Soc. C 58,
    383-403, whose figures may differ.

    Returns
    -------
    pandas.DataFrame
        One row per model: "m1" to "m5", "RAND" (the 14-variable scale) and "benefit only" (no
        budget; its list of variables is invented, see the description of :func:`pneumonia`).
        Columns: `variables` (tuple of column names), `size` (number of variables), `cost` (minutes),
        `deviance` (minimum), `deviance_here` (minimum on the synthetic cohort), posterior
        probabilities and posterior odds of m1 against the model in the two runs of the population
        sampler with 500,000 iterations (`population_posterior_1`, `population_odds_1`, ...) and of
        the simple sampler with 1,500,000 iterations (`simple_posterior_1`, ...) on the reduced
        space. NaN where the slides have nothing.

    See Also
    --------
    pneumonia : The synthetic cohort.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> published = datasets.pneumonia_published()
    >>> published.loc["m5", "variables"]  # doctest: +NORMALIZE_WHITESPACE
    ('age', 'bun', 'coma', 'shortness_of_breath', 'admission_sbp', 'respiratory_rate',
     'body_systems', 'apache_ph')
    """
    table = read_csv("pneumonia/published.csv", index_col="model", dtype={"variables": str})
    names = {int(number): str(name) for name, number in _variables()["index"].items()}
    lists = [tuple(names[int(number)] for number in cell.split()) for cell in table["variables"]]
    table["variables"] = pd.Series(lists, index=table.index, dtype=object)
    return table
