"""Multinomial logistic selection models."""

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel.design import Response
from pyrjsel.families import Family, Multinomial
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.results.classes.results import ClassResults
from pyrjsel.selection.specification import Choices


@shared_text
class MultinomialSelection(Selection):
    """Bayesian variable selection in a multinomial logistic regression.

    With K classes, the log odds of each class against the first are linear predictors: a term (a numeric
    column, a factor, an interaction, a spline) has coefficients in all K - 1 of them, and is included or
    excluded as a whole. Intercepts are always included. The posterior is over models and their coefficients.
    With two classes it is that of :class:`LogitSelection`. The class takes arrays; for formulas use
    :meth:`from_formula` or :func:`pyrjsel.multinomial`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Classes: text, categories, booleans or whole numbers. The first level is the base class, in the order
        of a categorical, or sorted.
    exog : DataFrame or array_like, shape (n, p)
        Columns, one per term, without a constant. Columns of text and categories become factors.
    coef_prior : GPrior, mixture of g-priors, Normal, EmpiricalBayes, BIC or AIC, optional
        Prior on the coefficients of a model; None is ``GPrior("n", information="null")``: the information of
        one row in the null model, ``diag(p) - p p'`` for the proportions p of the classes, and flat
        intercepts. See the notes.
    <model prior>
    <constraints>
    weights : str or array_like, optional
        Number of identical rows that each row represents: a column of the data, or one value per row.
    offset : None
        There are no offsets.
    <missing>

    Attributes
    ----------
    <attributes>

    Raises
    ------
    DataError
        If the response has a single class, or a class with fewer than two rows, or the data cannot be used
        (empty, no complete row, infinite values, negative weights, columns so large or small that their
        squares overflow or underflow).
    NotAvailableError
        If there is an offset.
    <raises>

    Warns
    -----
    <rank warning>

    Notes
    -----
    Under a g-prior or a mixture of them, under BIC, AIC and empirical Bayes, the posterior does not depend on
    which class is the base. With the information of the null model, the precision of coefficients (in the
    order of classes, then columns) is ``(diag(p) - p p') (x) X'X / g`` for centred columns X.
    ``information="unit"`` does not look at the response: every difference between two classes has the g-prior
    of a logistic model. A g-prior with intercepts ``Normal`` is invariant in its slopes alone.

    Under :class:`Normal` priors, coefficients of all linear predictors are independent, so that differences
    between two classes other than the base have twice the variance of those from the base: the posterior
    depends on the base class.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import pyrjsel as rj
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"age": rng.normal(size=200), "income": rng.normal(size=200)})
    >>> utility = np.column_stack([np.zeros(200), people["age"], 1.5 * people["age"]])
    >>> choice = np.array(["bus", "car", "train"])[(utility + rng.gumbel(size=(200, 3))).argmax(axis=1)]
    >>> results = rj.MultinomialSelection(choice, people).fit(rng=1)
    >>> results.inclusion["posterior"].round(1).to_dict()
    {'age': 1.0, 'income': 0.0}
    >>> results.predict(pd.DataFrame({"age": [-2.0, 2.0], "income": 0.0})).round(1)
    class  bus  car  train
    0      0.8  0.2    0.1
    1      0.1  0.3    0.7
    """

    title = "Multinomial model selection"
    _family = Multinomial()
    _default_prior = GPrior("n", information="null")

    @staticmethod
    def _results_class() -> type[ClassResults]:
        """Return the class of the results."""
        return ClassResults

    @classmethod
    def _family_of(cls, left: Response, choices: Choices) -> Family:
        """Return the family with the classes of the response."""
        return Multinomial(left.levels or ())

    def _check_rows(self) -> None:
        """Raise an error if the rows cannot be used."""
        super()._check_rows()
        if "offset" in self.design.extra_columns:
            raise NotAvailableError(
                f"{called()} has a linear predictor for each class but the first, and no offset. "
                "Leave 'offset' out."
            )


# Short name.
multinomial = MultinomialSelection.from_formula
