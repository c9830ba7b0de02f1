"""The particle filter and the batch sampler, on the same moves."""
