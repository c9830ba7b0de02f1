"""Predictions with what was measured: the columns that they need, and rows that have some of them."""
