# Install the package of this folder into a library of its own and run its tests there.
#
#   Rscript R/tests/run.R           the tests, also against the tables in tests/fixtures/r
#   Rscript R/tests/run.R --long    also against all tables that cregg made from real data (needs yaml)
needed <- c("testthat", "survey", "generics", "jsonlite")
missing <- needed[!vapply(needed, requireNamespace, NA, quietly = TRUE)]
if (length(missing)) {
  cat("The tests of R/ are left out: the R packages they need are missing:", missing, "\n")
  quit(status = 0L)
}

script <- normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L]))
package <- dirname(dirname(script))
library <- tempfile("library")
dir.create(library)
Sys.setenv(
  CONJURY_CHECKOUT = dirname(package), CONJURY_LONG = if ("--long" %in% commandArgs(trailingOnly = TRUE)) "1" else ""
)
options <- c("CMD", "INSTALL", "--no-docs", "--no-byte-compile", "--no-test-load", paste0("--library=", library), package)
status <- system2(file.path(R.home("bin"), "R"), shQuote(options), stdout = FALSE, stderr = FALSE)
if (status != 0L) stop("the package in R/ could not be installed; R CMD INSTALL R says why")
.libPaths(c(library, .libPaths()))
program <- file.path(dirname(package), ".venv", "bin", "conjury")
if (file.exists(program)) options(conjury.command = program)
testthat::test_dir(
  file.path(package, "tests", "testthat"), package = "conjury", load_package = "installed", stop_on_failure = TRUE,
  reporter = "summary"
)
