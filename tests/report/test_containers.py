"""Draws for ArviZ 1.x: DataTree of every results class, and what its packages make of them."""

import sys

import numpy as np
import pytest

import pyrjsel as rj

pytest.importorskip("arviz_base", reason="DataTree comes from arviz-base")
pytestmark = pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")

# Dimensions of the grids of arviz-plots, which a container must not have.
TAKEN = {"row_index", "col_index", "column", "figure"}


def wave():
    z = np.random.default_rng(0).normal(size=(50, 1))
    return rj.KernelRegression(np.sin(3 * z[:, 0]), z, width=0.5)


def births(call):
    return call(rj.datasets.birthwt().data)


DRAWS = {"draws": 60, "burn_in": 20, "chains": 2, "rng": 1, "progress": False}
FITS = {
    "logit": lambda: births(lambda data: rj.logit("low ~ race + age", data)).fit(sampler="rjmcmc", **DRAWS),
    "linear": lambda: births(lambda data: rj.linear("bwt ~ lwt + ht", data)).fit(sampler="rjmcmc", **DRAWS),
    "patterns": lambda: births(
        lambda data: rj.pattern_logit("low ~ interactions(race, smoke, order=2)", data)
    ).fit(**DRAWS),
    "kernel mcmc": lambda: wave().fit(sampler="mcmc", **DRAWS),
    "kernel smc": lambda: wave().fit(particles=50, rng=1, progress=False),
    "mixture": lambda: rj.mixture_classifier(
        "type ~ glu + bmi", rj.datasets.pima().data.iloc[:120], components=2
    ).fit(**DRAWS),
}


@pytest.fixture(scope="module", params=FITS)
def found(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "arviz", None)  # that of ArviZ 0.x comes first
        return FITS[request.param]().to_arviz()


def test_posteriors_are_numbers_with_names_that_are_free(found):
    """Summaries subtract them, and plots have dimensions of their own."""
    assert type(found).__name__ == "DataTree"
    for name, values in found["posterior"].data_vars.items():
        assert values.dtype.kind in "if", name
        assert values.dims[:2] == ("chain", "draw")
        assert not TAKEN & set(values.dims)
        assert name not in values.dims


def test_summaries_and_traces(found):
    arviz_stats = pytest.importorskip("arviz_stats", reason="it comes with ArviZ 1.x", exc_type=ImportError)
    # arviz-plots 0.8, the last one for Python 3.11, needs a matplotlib before 3.11.
    arviz_plots = pytest.importorskip(
        "arviz_plots", reason="it is not here, or older than matplotlib is", exc_type=ImportError
    )
    table = arviz_stats.summary(found)
    numbers = sum(values[0, 0].size for values in found["posterior"].data_vars.values())
    assert len(table) == numbers
    drawn = arviz_plots.plot_trace(found, backend="matplotlib")
    assert set(drawn.viz["trace"].data_vars) == set(found["posterior"].data_vars)
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("name", ["patterns", "kernel mcmc", "kernel smc", "mixture"])
def test_log_densities_are_those_of_selections_alone(name):
    results = FITS[name]()
    with pytest.raises(rj.NotAvailableError, match="no log densities for each draw"):
        results.to_arviz(log_likelihood=True)
    with pytest.raises(rj.ParameterError, match=r"'log_likelihood' parameter of .* must be True or False"):
        results.to_arviz(log_likelihood=1)
