"""Predictions of times to events."""
