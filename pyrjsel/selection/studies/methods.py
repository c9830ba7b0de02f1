"""Methods that fit a model several times: sensitivity to priors, and cross-validation."""

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
    """Methods of :class:`Selection` with several fits."""

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
            Priors on the coefficients; priors in a sequence are named by their repr.
        model_priors : mapping of str to prior, or sequence of priors, optional
            Priors over models. If priors on the coefficients are also given, every pair is fitted.
        g : sequence of float or str, optional
            Instead of `coef_priors`: values of g (numbers, "n" or "4n") for g-priors with the other
            parameters of the model's g-prior, or else of the default of its family. For mixtures of g-priors
            use `coef_priors`.
        scale : sequence of float, optional
            Instead of `coef_priors`: scales of normal priors, with the other parameters of the model's normal
            prior, if it has one.
        rng : None, int, SeedSequence or Generator
            Source of randomness; every fit gets its own stream.
        **fit_options
            Options of ``fit``, the same for all fits.

        Returns
        -------
        SensitivityResults
            Inclusion by term and prior, the best models, log marginal likelihoods, a plot, and all results.

        Raises
        ------
        ParameterError
            If nothing is varied, or a list of priors is empty or has repetitions. Errors of a fit name the
            prior.
        KeyboardInterrupt
            After Ctrl-C, even if a single fit would return the draws so far.

        Warns
        -----
        PyrjselWarning
            Warnings of the fits, once each, with the names of the priors.

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
        """Predict each row from a fit without its fold, and score the predictions.

        Parameters
        ----------
        folds : int or array_like, default 10
            Number of folds, or a label for each row: rows with the same label (such as a hospital or a year)
            are in the same fold. A Series is aligned by its index.
        which : str or sequence of str, default ("bma", "hpm", "mpm")
            Predictors: the average over all models, the highest-probability or the median probability model
            of each fit.
        stratify : bool, default True
            Whether the folds have similar distributions of the response, if `folds` is a number.
        rng : None, int, SeedSequence or Generator
            Source of randomness of folds and fits.
        **fit_options
            Options of ``fit``, the same for all fits.

        Returns
        -------
        CrossValidation
            Scores over all rows and by fold, differences paired by row, and held-out predictions.

        Raises
        ------
        ParameterError
            If a parameter is not valid.
        DataError
            If the labels do not match the rows. Errors of a fit, such as training rows of a single class,
            name the fold.
        NotAvailableError
            If the training data came in chunks, of which only sums were kept.
        KeyboardInterrupt
            After Ctrl-C, even if a single fit would return the draws so far.

        Warns
        -----
        PyrjselWarning
            Warnings of the fits, once each, with the folds.

        Notes
        -----
        The score of a row is the log predictive density under the fit without its fold, averaged over some
        thousand posterior draws before the logarithm. It includes constants: a row of w trials counts as the
        number of successes, with the binomial coefficient, and a mean of w counts as their sum. For linear
        models, draws are of coefficients and sigma^2, and densities are normal with variance sigma^2 / w. The
        error of the average is largest for responses far from all predictions. Rows of weight zero are
        omitted.

        The design is that of all rows: levels of factors, knots of splines, and states of other transforms.
        Data-dependent parts of the priors (n, g-priors, standardised columns) use the training rows. If these
        lack a level of a factor, its column is constant: a g-prior then gives models with that factor
        probability 0, with a RankWarning; a Normal prior keeps them.

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
