"""Multinomial logistic selection models."""

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel.design import Design
from pyrjsel.families import Family, Multinomial
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.results.classes.results import ClassResults
from pyrjsel.selection.specification import Choices


@shared_text
class MultinomialSelection(Selection):
    """Bayesian variable selection in a multinomial logistic regression.
    """

    title = "Multinomial model selection"
    _family = Multinomial()
    _default_prior = GPrior("n", information="null")
    _results = ClassResults

    @classmethod
    def _family_of(cls, design: Design, choices: Choices) -> Family:
        """Return the family with the classes of the response."""
        return Multinomial(design.left.levels or ())

    def _check_rows(self) -> None:
        """Raise :class:`DataError` if the rows cannot be used."""
        super()._check_rows()
        if "offset" in self.data.extras:
            raise NotAvailableError(
                f"{called()} has a linear predictor for each class but the first, and no offset. Leave 'offset' out."
            )


# Short name.
multinomial = MultinomialSelection.from_formula
