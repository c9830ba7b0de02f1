# Inclusion probabilities by BMS under g = n.
# Settings: sampler, prior over models, its expected size, burn-in, iterations.

suppressMessages(library(BMS))
source("runs.R")

numbers <- type.convert(settings[3:5], as.is = TRUE)  # NA is BMS's default

runs(function(seed) {
  found <- bms(
    data, mcmc = settings[1], g = "UIP", mprior = settings[2], mprior.size = numbers[1],
    burn = numbers[2], iter = numbers[3], user.int = FALSE
  )
  # Shares of the visits, not of the best models alone; enumeration weighs all models either way.
  table <- coef(found, exact = FALSE, order.by.pip = FALSE)
  setNames(table[, "PIP"], rownames(table))
})
