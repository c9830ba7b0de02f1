"""Packaged data sets, each with a description, source and terms of use."""

from pyrjsel.datasets._classic import birthwt, hald, uscrime
from pyrjsel.datasets._classification import ionosphere, pima
from pyrjsel.datasets._dataset import Dataset
from pyrjsel.datasets._pneumonia import pneumonia, pneumonia_published
from pyrjsel.datasets._sequences import english_text, hmm_sequences, letter_classes

__all__ = [
    "Dataset",
    "birthwt",
    "english_text",
    "hald",
    "hmm_sequences",
    "ionosphere",
    "letter_classes",
    "pima",
    "pneumonia",
    "pneumonia_published",
    "uscrime",
]
