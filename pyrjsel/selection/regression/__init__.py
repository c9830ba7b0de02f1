"""Data of a regression for priors, marginal likelihoods and samplers."""
