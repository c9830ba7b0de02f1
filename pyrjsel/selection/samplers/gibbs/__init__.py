"""Gibbs samplers of gaussian models."""
