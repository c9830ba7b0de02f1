"""Walks over models with coefficients integrated out."""
