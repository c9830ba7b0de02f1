"""Enumeration of all models."""
