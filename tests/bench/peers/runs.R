# What the scripts of R packages share: data in, timed runs out.
# Arguments: the data (CSV, the response first), where the runs go, how many, then the settings of a script.

args <- commandArgs(TRUE)
data <- read.csv(args[1])
settings <- args[-(1:3)]

# Write one row a run: seconds by the clock and in the processor, and the estimates that `run` returns.
runs <- function(run) {
  rows <- lapply(seq_len(as.integer(args[3])), function(seed) {
    set.seed(seed)
    spent <- system.time(estimates <- run(seed))
    c(clock = spent[["elapsed"]], processor = spent[["user.self"]] + spent[["sys.self"]], estimates)
  })
  write.csv(do.call(rbind, rows), args[2], row.names = FALSE)
}
