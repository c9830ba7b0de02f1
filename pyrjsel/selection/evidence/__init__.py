"""Single models: marginal likelihoods, moments, draws, deviances."""
