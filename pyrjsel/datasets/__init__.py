"""Packaged data sets, each with a description, source and terms of use."""

from pyrjsel.datasets._datasets import (
    Dataset,
    birthwt,
    english_text,
    hald,
    hmm_sequences,
    ionosphere,
    letter_classes,
    pima,
    pneumonia,
    pneumonia_published,
    uscrime,
)

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
