"""Results for other packages."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_bool
from pyrjsel.report import to_arviz
from pyrjsel.selection.results.tables import PosteriorTables


class Exports(PosteriorTables):
    """The methods of :class:`SelectionResults` that hand its draws on."""

    def to_arviz(self, *, coefficients: bool = True) -> Any:
        """Return the draws as ArviZ's container.

        Parameters
        ----------
        coefficients : bool, default True
            Whether the coefficients come along. Those of long runs of many columns are kept of every so
            manyth draw (``draws.coefficients_every``), and the other variables are then those of the same
            draws; without coefficients they are of all draws.

        Returns
        -------
        InferenceData or DataTree
            ``posterior`` with ``included`` (0 or 1, by ``term``), ``size``, ``cost`` of a model with costs,
            ``coefficients`` (by ``coefficient``: the intercept, then the columns of the design; 0 outside the
            model) and ``sigma`` of a linear model; ``sample_stats`` with ``lp``, the log posterior, and
            ``model``, the row of ``draws.models``; ``observed_data`` with the response by ``row``, unless the
            rows were not kept. InferenceData is that of ArviZ 0.x, DataTree that of ArviZ 1.x and of
            arviz-base.

        Raises
        ------
        NotAvailableError
            After enumeration, which draws nothing, or if neither ArviZ nor arviz-base is installed.
        ParameterError
            If `coefficients` is not a bool.

        Notes
        -----
        The draws of ``included`` are visits. The samplers that average probabilities of inclusion given all
        other terms have smaller errors in :attr:`inclusion` than these draws have.

        A DataTree goes into ``summary`` of arviz-stats and ``plot_trace`` of arviz-plots. The last
        arviz-plots for Python 3.11, 0.8, needs a matplotlib before 3.11, and its ``plot_trace_dist`` an older
        xarray too.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> model = rj.logit("low ~ lwt + smoke + ht", rj.datasets.birthwt().data)
        >>> results = model.fit(sampler="rjmcmc", draws=500, rng=1)
        >>> found = results.to_arviz()
        >>> found.posterior["included"].sel(term="smoke").shape
        (4, 500)
        """
        whole = check_bool(coefficients, "coefficients", "to_arviz")
        results = self
        draws, model = results.draws, results.model
        kept = slice(None)
        if whole:
            every, count = draws.coefficients_every, draws.coefficients.shape[1]
            kept = slice(0, every * count, every)
        visited = draws.model[:, kept]
        posterior: dict[str, tuple[list[str], Any]] = {
            "included": (["term"], draws.models.astype(np.int8)[visited]),
            "size": ([], draws.size[:, kept]),
        }
        if model._priced:
            posterior["cost"] = ([], draws.cost[:, kept])
        if whole:
            posterior["coefficients"] = (["coefficient"], draws.coefficients)
            if draws.variance is not None:
                posterior["sigma"] = ([], np.sqrt(draws.variance))
        groups: dict[str, dict[str, tuple[list[str], Any]]] = {
            "posterior": posterior,
            "sample_stats": {"lp": ([], draws.log_posterior[:, kept]), "model": ([], visited)},
        }
        coords = {"term": list(model.term_names), "coefficient": list(results._column_names)}
        response: FloatArray | None = getattr(model.data, "y", None)
        if response is not None:
            groups["observed_data"] = {model.design.response: (["row"], response)}
            coords["row"] = model.data.index.to_flat_index().tolist()
        return to_arviz(groups, coords if whole else {k: v for k, v in coords.items() if k != "coefficient"})
