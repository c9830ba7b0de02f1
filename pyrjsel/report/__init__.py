"""Monte Carlo errors, tables, summaries and plots made from arrays and names; independent of any model."""

from pyrjsel._lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
