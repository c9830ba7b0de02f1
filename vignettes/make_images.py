"""Make the pictures of the README: ``.venv/bin/python -P vignettes/make_images.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

import pyrjsel as rj

FOLDER = Path(__file__).resolve().parent / "images"


def cohort_models() -> None:
    """Draw the best models of the pneumonia cohort under the budget, as fitted in the README."""
    cohort = rj.datasets.pneumonia()
    names = cohort.variables.query("reduced").index
    model = rj.logit(
        "mortality ~ " + " + ".join(names),
        cohort.data,
        costs=cohort.costs,
        budget=10,
        model_prior=rj.Uniform(),
    )
    results = model.fit(rng=1)
    _, ax = plt.subplots(figsize=(8.4, 3.9), layout="constrained")
    results.plot_models(ax=ax, top=15)
    ax.figure.suptitle("Synthetic pneumonia cohort: the best models within 10 minutes", fontsize=11)
    save(ax.figure, "cohort-models.png")


def save(figure: plt.Figure, name: str) -> None:
    """Write a picture without what would differ from one day to the next."""
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / name, dpi=140, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    cohort_models()
