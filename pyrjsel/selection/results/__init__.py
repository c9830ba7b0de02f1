"""Results of a selection: tables, predictions, plots, files."""
