"""The data of a regression as priors, marginal likelihoods and samplers see them."""
