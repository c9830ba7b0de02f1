"""Methods of models that fit them several times: under other priors, and to parts of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from numpy.typing import ArrayLike

from pyrjsel._typing import RNGLike, SeedLike
from pyrjsel._validate import check_rng
from pyrjsel.model_space import ModelPrior
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.studies.cross_validation import CrossValidation, cross_validated
from pyrjsel.selection.studies.sensitivity import SensitivityResults, refit_over


class Studies:
    """The methods of :class:`Selection` that fit more than once."""

    def sensitivity(
        self,
        coef_priors: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        model_priors: Mapping[str, ModelPrior] | Sequence[ModelPrior] | None = None,
        g: Sequence[float | str] | None = None,
        scale: Sequence[float] | None = None,
        rng: RNGLike | SeedLike | None = None,
        **fit_options: Any,
    ) -> SensitivityResults:
        """Fit the model under several priors, to the same rows and with the same constraints.

        Parameters
        ----------
        coef_priors : mapping of str to prior, or sequence of priors, optional
            Priors on the coefficients, by name or named by what they are.
        model_priors : mapping of str to prior, or sequence of priors, optional
            Priors over models. Given beside priors on the coefficients, every pair is fitted.
        g : sequence of float or str, optional
            In place of `coef_priors`: g-priors with these g, "n" and "4n" among them, otherwise like that
            of the model if it has one, else like the default of its family. Mixtures of g-priors for linear
            models go into `coef_priors`.
        scale : sequence of float, optional
            In place of `coef_priors`: normal priors with these scales, otherwise like that of the model if
            it has one.
        rng : None, int, SeedSequence or Generator
            Source of randomness; every fit gets a stream of its own.
        **fit_options
            Of ``fit``, the same for all.

        Returns
        -------
        SensitivityResults
            Inclusion by term and prior, the best models, log marginal likelihoods, a plot, and all results.

        Raises
        ------
        ParameterError
            If nothing is to be varied, or a list of priors is empty or has one twice. An error of a fit
            names the prior.
        KeyboardInterrupt
            After Ctrl-C, also where a single fit would return the draws so far.

        Warns
        -----
        PyrjselWarning
            What the fits warn of, once each, with the names of the priors.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> model = rj.logit("low ~ lwt + smoke + ht", births)
        >>> model.sensitivity(model_priors=[rj.Uniform(), rj.Bernoulli(0.1)], rng=1).inclusion.round(1)
        prior  Uniform()  Bernoulli(p=0.1)
        term
        lwt          0.8               0.2
        smoke        0.4               0.1
        ht           0.7               0.1
        """
        stream = check_rng(rng)
        model = cast("SelectionModel", self)
        return refit_over(model, coef_priors, model_priors, g, scale, stream, fit_options)

    def cross_validate(
        self,
        folds: int | ArrayLike = 10,
        *,
        which: str | Sequence[str] = ("bma", "hpm", "mpm"),
        stratify: bool = True,
        rng: RNGLike | SeedLike | None = None,
        **fit_options: Any,
    ) -> CrossValidation:
        """Predict each row by a fit without its fold, and score the predictions.

        Parameters
        ----------
        folds : int or array_like, default 10
            Number of folds, or a label for each row: rows with the same label (of a hospital, a year) are
            left out together. A Series is aligned by its index.
        which : str or sequence of str, default ("bma", "hpm", "mpm")
            What predicts: the average over all models, the highest-probability or the median probability
            model of each fit.
        stratify : bool, default True
            Whether folds that are numbered here get about the same distribution of responses each.
        rng : None, int, SeedSequence or Generator
            Source of randomness of folds and fits.
        **fit_options
            Of ``fit``, the same for all.

        Returns
        -------
        CrossValidation
            Scores over all rows and by fold, differences paired by row, and held-out predictions.

        Raises
        ------
        ParameterError
            If a parameter is not valid.
        DataError
            If the labels do not fit the rows. An error of a fit names the fold, such as that of
            training rows of one class only.
        NotAvailableError
            If the rows came in chunks, of which only sums were kept.
        KeyboardInterrupt
            After Ctrl-C, also where a single fit would return the draws so far.

        Warns
        -----
        PyrjselWarning
            What the fits warn of, once each, with the folds.

        Notes
        -----
        The score of a row is the logarithm of its predictive density, averaged over some thousand posterior
        draws before the logarithm is taken, under the fit without its fold. Constants are in it: a row of
        w trials counts as the number of its successes, with its binomial coefficient, and a mean of w
        counts as their sum. Draws of linear models are of coefficients and sigma^2, and densities are
        normal ones with variance sigma^2 / w. The error of such an average is largest for responses far
        from all predictions. Rows of weight zero are left out.

        Columns of the design are those of all rows: levels of factors, knots of splines, and what other
        transforms have learned. What the priors are made of (n, g-priors, standardised columns) is of the
        training rows. A level that these lack leaves a constant column: a g-prior gives models with that
        factor probability 0 then, with a RankWarning, while a Normal prior keeps them.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> cv = rj.logit("low ~ lwt + smoke + ht", births).cross_validate(5, rng=1)
        >>> cv.scores["log_score"].round(2).to_dict()
        {'bma': -0.6, 'hpm': -0.63, 'mpm': -0.62}
        """
        stream = check_rng(rng)
        model = cast("SelectionModel", self)
        return cross_validated(model, folds, which, stratify, stream, fit_options)
