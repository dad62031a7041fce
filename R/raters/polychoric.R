# Make tests/fixtures/raters/polychoric.csv: polychoric correlations of contingency tables, by psych::polychoric.
#
#   Rscript R/raters/polychoric.R
#
# Tables are counts written row by row; the same run gives the same bytes.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
root <- normalizePath(file.path(dirname(script), "..", ".."))
tables <- list(
  spread = matrix(c(30, 22, 14, 6, 3, 20, 34, 30, 16, 6, 12, 28, 44, 32, 16, 5, 14, 33, 36, 24, 2, 6, 15, 22, 30), 5, byrow = TRUE),
  ceiling = matrix(c(6, 5, 4, 2, 8, 9, 14, 22, 5, 12, 46, 160, 4, 11, 62, 330), 4, byrow = TRUE),
  negative = matrix(c(8, 25, 62, 30, 45, 28, 66, 24, 12), 3, byrow = TRUE)
)
rows <- lapply(names(tables), function(name) {
  counts <- tables[[name]]
  x <- cbind(
    x = rep(row(counts), counts) - 1L,
    y = rep(col(counts), counts) - 1L
  )
  found <- psych::polychoric(x, correct = 0, smooth = FALSE)
  data.frame(
    table = name,
    counts = paste(t(counts), collapse = " "),
    n_columns = ncol(counts),
    correlation = formatC(found$rho[1, 2], digits = 6, format = "f")
  )
})
made <- do.call(rbind, rows)
made$psych <- as.character(utils::packageVersion("psych"))
folder <- file.path(root, "tests", "fixtures", "raters")
dir.create(folder, recursive = TRUE, showWarnings = FALSE)
write.csv(made, file.path(folder, "polychoric.csv"), row.names = FALSE, quote = FALSE, eol = "\n")
