"""Prior distributions of coefficients."""
