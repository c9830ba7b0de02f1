# Posterior means of the coefficients of all columns by MCMCpack, under normal priors.
# Settings: family, prior mean and standard deviation of the intercept, standard deviation of the others,
# burn-in, iterations.

suppressMessages(library(MCMCpack))
source("runs.R")

family <- settings[1]
numbers <- as.numeric(settings[-1])
others <- ncol(data) - 1
common <- list(
  y ~ ., data, b0 = c(numbers[1], rep(0, others)), B0 = diag(1 / c(numbers[2], rep(numbers[3], others))^2),
  burnin = numbers[4], mcmc = numbers[5]
)
# The random walk's scale of most use in many dimensions; of 0.15, 0.25 and 0.35 the middle one was best.
# The error variance has the prior InverseGamma(2, 2).
own <- switch(family, logit = list(tune = 2.38 / sqrt(others + 1)), linear = list(c0 = 4, d0 = 4))
sampler <- switch(family, logit = MCMClogit, linear = MCMCregress)

runs(function(seed) {
  means <- colMeans(do.call(sampler, c(common, own, seed = seed)))
  names(means)[1] <- "Intercept"
  means[seq_len(others + 1)]
})
