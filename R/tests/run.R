# Run the tests of the functions in R/:  Rscript R/tests/run.R
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
testthat::test_dir(file.path(dirname(script), "testthat"), stop_on_failure = TRUE, reporter = "summary")
