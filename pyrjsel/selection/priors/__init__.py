"""Prior distributions of coefficients: one class a prior."""
