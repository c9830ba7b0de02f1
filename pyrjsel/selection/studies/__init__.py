"""Studies with several fits."""
