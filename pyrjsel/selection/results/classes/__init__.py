"""Results of models of classes."""
