"""Data sets that come with the package, each with its description, source and terms of use."""

from pyrjsel.datasets._classic import birthwt, hald, uscrime
from pyrjsel.datasets._dataset import Dataset
from pyrjsel.datasets._pneumonia import pneumonia, pneumonia_published

__all__ = ["Dataset", "birthwt", "hald", "pneumonia", "pneumonia_published", "uscrime"]
