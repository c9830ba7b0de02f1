"""Checks of fits: separated classes, overdispersion, and responses simulated from the posterior."""
