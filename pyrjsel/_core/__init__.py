"""Compiled numerics for all models: random numbers, vectorised functions, linear algebra."""
