# A program that prints its arguments, one a line, and fails when the first is "fail".
stand_in <- function(env = parent.frame()) {
  skip_on_os("windows")
  path <- tempfile("conjury")
  writeLines(c(
    "#!/bin/sh", 'if [ "$1" = fail ]; then echo "conjury: no such file; name another." >&2; exit 2; fi',
    'for each in "$@"; do echo "$each"; done'
  ), path)
  Sys.chmod(path, "755")
  withr_like(options(conjury.command = path), env)
  path
}

#' Put options back when the test ends
withr_like <- function(old, env) {
  do.call(on.exit, list(substitute(options(old), list(old = old)), add = TRUE), envir = env)
}

test_that("arguments become options: repeated, alone, left out, as text", {
  stand_in()
  ran <- conjury("fit", "a study", data = c("a.csv", "b.csv"), fail_under = 0.5, alpha = 1e-05, power = TRUE, out = NULL,
    id = FALSE)
  expect_equal(strsplit(ran$stdout, "\n")[[1]], c(
    "fit", "a study", "--data", "a.csv", "--data", "b.csv", "--fail-under", "0.5", "--alpha", "0.00001", "--power"
  ))
  expect_equal(ran$status, 0L)
  expect_output(conjury("fit", "x", quiet = FALSE), "fit\nx")
})

test_that("a program and its first arguments may be named", {
  path <- stand_in()
  options(conjury.command = c(path, "tool", "run"))
  expect_equal(strsplit(conjury("fit")$stdout, "\n")[[1]], c("tool", "run", "fit"))
})

test_that("base R runs the program as processx does", {
  path <- stand_in()
  with_processx <- conjury("fit", "it's", data = "a b.csv")
  expect_equal(by_system2(path, c("fit", "it's", "--data", "a b.csv")), with_processx)
  failed <- by_system2(path, "fail")
  expect_equal(failed$status, 2L)
  expect_match(failed$stderr, "no such file")
})

test_that("the program's sentence is the error, with its exit code", {
  stand_in()
  failed <- tryCatch(conjury("fail"), conjury_error = identity)
  expect_equal(conditionMessage(failed), "no such file; name another.")
  expect_equal(failed$status, 2L)
})

test_that("a missing program is named with its remedy", {
  withr_like(options(conjury.command = "no-such-program-here"), environment())
  expect_false(has_conjury())
  expect_error(conjury("fit"), "pip install conjury")
})

test_that("a judge is compared with people, and a limit that is not met is a result", {
  skip_if_not(has_conjury(), "the program conjury is not here")
  skip_if(inherits(try(conjury("judge", "--help"), silent = TRUE), "try-error"), "this conjury has no judge")
  rows <- data.frame(verdict = rep(c("a", "b"), 30), ann = rep(c("a", "b", "a", "b", "b"), 12))
  judged <- conjury_judge(rows, "verdict", "ann", fail_under = "kappa.lower=0.9")
  agreed <- tidy(judged$estimates)
  expect_equal(agreed$estimate[agreed$term == "accuracy"], mean(rows$verdict == rows$ann))
  expect_error(conjury_judge(rows, "nothing", "ann"), "nothing")
})

test_that("a data frame goes to the program with its level order", {
  seen <- with_file(hotel(), function(file) read_data(file))
  expect_equal(seen, hotel())
})

test_that("the program fits a data frame, and its effects are those of this package", {
  long()
  skip_if_not(has_conjury(), "the program conjury is not here")
  study <- tempfile(fileext = ".yaml")
  writeLines(c(
    "name: hotel", "title: Hotels", "kind: conjoint", "question: Which?", "attributes:",
    "- {id: reviews, label: Reviews, levels: [{id: few, label: Few}, {id: good, label: Good}]}",
    "- id: price", "  label: Price",
    "  levels: [{id: low, label: Low}, {id: middle, label: Middle}, {id: high, label: High}]",
    "design: {pairs: 600, respondents: 120, tasks: 5, repeat_first: false}",
    "judges: [{id: human, label: People, kind: human}]", "clusters: {human: judge_id, model: pair_id}",
    "analyses: [{name: amce, verb: amce, title: Effects, formula: chosen ~ reviews + price}]"
  ), study)
  data <- hotel()
  results <- conjury_fit(study, data[c("judge_id", "judge_kind", "pair_id", "position", "chosen", "reviews", "price")], draws = 0)
  expect_equal(results$amce$estimate, amce(data, chosen ~ reviews + price, ~judge_id)$estimate, tolerance = 1e-9)
  expect_error(conjury_fit("no-such-study", data), "no-such-study")
})
