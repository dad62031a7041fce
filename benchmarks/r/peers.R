# Times cregg and survey inside R, on data that are already loaded.
#
#   Rscript peers.R FOLDER OUTCOME ID BY REPEATS ROUNDS CORES
#
# FOLDER holds data.csv and levels.csv (feature, level). Written into it: versions.csv, timings.csv
# (routine, seconds; of bootstraps a row is a round, one draw on every core), estimates.csv (routine, feature, level, estimate, std_error), and of one bootstrap
# draw rows.csv and draw_amce.csv, draw_differences.csv.

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1L]
outcome <- arguments[2L]
id <- arguments[3L]
by <- arguments[4L]
repeats <- as.integer(arguments[5L])
rounds <- as.integer(arguments[6L])
cores <- as.integer(arguments[7L])

has <- function(package) nzchar(system.file(package = package))
save_table <- function(table, name) utils::write.csv(table, file.path(folder, name), row.names = FALSE)
seconds <- function(expression) unname(system.time(expression, gcFirst = FALSE)["elapsed"])

data <- utils::read.csv(file.path(folder, "data.csv"), colClasses = "character", encoding = "UTF-8")
levels <- utils::read.csv(file.path(folder, "levels.csv"), colClasses = "character", encoding = "UTF-8")
features <- unique(levels$feature)
for (feature in features) {
  data[[feature]] <- factor(data[[feature]], levels = levels$level[levels$feature == feature])
}
data[[outcome]] <- as.numeric(data[[outcome]])
data[[id]] <- as.integer(data[[id]])
formula <- stats::reformulate(features, outcome)
formula_without_by <- stats::reformulate(setdiff(features, by), outcome)
ids <- stats::reformulate(id)
groups <- stats::reformulate(by)

amce_by_survey <- function() {
  design <- survey::svydesign(ids = ids, weights = ~1, data = data)
  fit <- survey::svyglm(formula, design = design)
  coefficients <- summary(fit)$coefficients
  name <- rownames(coefficients)[-1L]
  feature <- rep(features, sapply(data[features], nlevels) - 1L)
  data.frame(
    feature = feature, level = substring(name, nchar(feature) + 1L),
    estimate = coefficients[-1L, 1L], std_error = coefficients[-1L, 2L]
  )
}
amce_by_cregg <- function() as.data.frame(cregg::cj(data, formula, id = ids, estimate = "amce"))
draw_rows <- function() data[sample.int(nrow(data), replace = TRUE), ]
in_parallel <- function(estimator) {
  parallel::mclapply(seq_len(cores), function(draw) estimator(draw_rows()), mc.cores = cores)
}
# With clusters these are faster than without, and the estimates are the same.
amce_of <- function(rows) cregg::amce(rows, formula, id = ids)
differences_of <- function(rows) cregg::amce_diffs(rows, formula_without_by, by = groups, id = ids)

routines <- list()
if (has("survey")) routines[["survey svyglm"]] <- amce_by_survey
if (has("cregg")) routines[["cregg cj"]] <- amce_by_cregg

installed <- Filter(has, c("survey", "cregg"))
save_table(
  data.frame(
    package = c("R", installed),
    version = c(as.character(getRversion()), sapply(installed, function(p) as.character(utils::packageVersion(p))))
  ),
  "versions.csv"
)
options(warn = -1L, survey.lonely.psu = "fail")
columns <- c("feature", "level", "estimate", "std_error")
estimates <- lapply(names(routines), function(name) {
  table <- routines[[name]]()
  names(table) <- sub("std.error", "std_error", names(table), fixed = TRUE)
  cbind(routine = name, table[columns])
})
if (length(estimates)) save_table(do.call(rbind, estimates), "estimates.csv")
timings <- lapply(names(routines), function(name) {
  data.frame(routine = name, seconds = replicate(repeats, seconds(routines[[name]]())))
})
if (has("cregg")) {
  set.seed(1L)
  rows <- sample.int(nrow(data), replace = TRUE)
  save_table(data.frame(row = rows), "rows.csv")
  save_table(as.data.frame(amce_of(data[rows, ])), "draw_amce.csv")
  save_table(as.data.frame(differences_of(data[rows, ])), "draw_differences.csv")
  RNGkind("L'Ecuyer-CMRG")
  timings <- c(timings, list(
    data.frame(routine = "cregg rows amce", seconds = replicate(rounds, seconds(in_parallel(amce_of)))),
    data.frame(
      routine = "cregg rows differences",
      seconds = replicate(rounds, seconds(in_parallel(differences_of)))
    )
  ))
}
if (length(timings)) save_table(do.call(rbind, timings), "timings.csv")
