"""Plots of arrays and names, one kind a file."""
