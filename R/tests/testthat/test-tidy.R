BROOM_COLUMNS <- c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")

test_that("every table begins with the columns of broom and keeps its keys", {
  results <- read_results(shipped("hotel"))
  found <- tidy(results$amce)
  expect_identical(names(found)[1:7], BROOM_COLUMNS)
  expect_true(all(c("judge", "prompt", "estimand", "feature", "level", "boot_lower") %in% names(found)))
  expect_equal(found$statistic, results$amce$z)
  expect_equal(found$estimand, rep("amce", 10))
  expect_equal(found$term[2], "reviews: good")
  expect_identical(class(found), "data.frame")
  ours <- tidy(amce(hotel(), chosen ~ reviews + price, ~judge_id))
  expect_identical(names(ours), c(BROOM_COLUMNS, "outcome", "estimand", "feature", "level"))
  counts <- tidy(results$counts)
  expect_true(all(is.na(counts$std.error)))
  expect_equal(sum(counts$estimate), 4800)
})

test_that("coefficients name the rows of agreement", {
  found <- tidy(read_results(shipped("reviews"))$agreement)
  expect_identical(names(found)[1:7], BROOM_COLUMNS)
  expect_true(all(c("krippendorff", "gwet", "icc2") %in% found$term))
  expect_true(all(is.na(found$statistic)))
})

test_that("all results of a folder stack", {
  results <- read_results(shipped("hotel"))
  found <- tidy(results)
  expect_identical(names(found)[1:8], c("result", BROOM_COLUMNS))
  expect_equal(unique(found$result), c("amce", "mm", "counts"))
  expect_equal(nrow(found), 30)
  expect_equal(glance(results)$result, c("amce", "mm", "counts"))
})

test_that("a fit is described in one row, and one for each group", {
  found <- glance(read_results(shipped("hotel"))$amce)
  expect_equal(nrow(found), 1)
  expect_equal(found[c("nobs", "n_clusters", "conf.level", "draws")], data.frame(
    nobs = 1200L, n_clusters = 120L, conf.level = 0.95, draws = 200L
  ))
  choices <- hotel()
  choices$chosen[1:10] <- NA
  ours <- glance(amce(choices, chosen ~ reviews, ~judge_id, alpha = 0.1))
  expect_equal(ours$nobs, 1190)
  expect_equal(ours$n_clusters, 120)
  expect_equal(ours$conf.level, 0.9)
  each <- glance(cj(hotel(), chosen ~ reviews, ~judge_id, estimate = "mm", by = ~age))
  expect_equal(each$BY, c("under 40", "40 and over"))
  expect_equal(sum(each$nobs), 1200)
  expect_equal(nrow(glance(read_results(shipped("reviews")))), 1)
})

test_that("a table without estimates is refused by its name", {
  results <- read_results(shipped("hotel"))
  other <- structure(data.frame(n = 1), class = c("conjury_result", "data.frame"), about = list(name = "answers"))
  expect_error(tidy(other), "'answers' is a table without estimates")
})
