"""Variable selection in regression models: priors, samplers, results."""
