test_that("warnings, errors and output are kept apart from the value", {
  noisy <- function(x) {
    print("seen by nobody")
    warning("first")
    warning("second")
    x + 1
  }
  expect_silent(found <- call_captured("noisy", list(x = 1), environment()))
  expect_equal(found$value, 2)
  expect_equal(found$warnings, c("first", "second"))
  expect_null(found$error)
})

test_that("an error is described by its message and a short call", {
  failing <- function(data) stop("no such thing")
  found <- call_captured("failing", list(data = data.frame(x = 1:1e5)), environment())
  expect_equal(found$error, list(message = "no such thing", call = "failing(data = data)"))
})

test_that("an absent package has no version", {
  found <- versions(c("stats", "no.such.package"))
  expect_equal(found$R, as.character(getRversion()))
  expect_equal(found$packages$stats, as.character(getRversion()))
  expect_true("no.such.package" %in% names(found$packages))
  expect_null(found$packages$no.such.package)
})
