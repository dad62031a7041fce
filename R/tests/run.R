# Run the tests of the functions in R/:  Rscript R/tests/run.R
needed <- c("testthat", "survey")
missing <- needed[!vapply(needed, requireNamespace, NA, quietly = TRUE)]
if (length(missing)) {
  cat("The tests of R/ are left out: the R packages they need are missing:", missing, "\n")
  quit(status = 0L)
}

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
testthat::test_dir(file.path(dirname(script), "testthat"), stop_on_failure = TRUE, reporter = "summary")
