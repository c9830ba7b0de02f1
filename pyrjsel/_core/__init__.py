"""Compiled numerics that every model shares: random numbers, vectorised maths, linear algebra."""
