"""Sequential Bayesian kernel regression."""
