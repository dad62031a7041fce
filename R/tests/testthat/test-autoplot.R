drawn <- function(object) {
  skip_if_not_installed("ggplot2")
  ggplot2::ggplot_build(ggplot2::autoplot(object))
}

intercepts <- function(built) {
  unlist(lapply(built$data, function(layer) unique(layer$xintercept)))
}

points_of <- function(built) built$data[[length(built$data)]]$x

test_that("every estimate is a point, at no effect a line", {
  results <- read_results(shipped("hotel"))
  built <- drawn(results$amce)
  expect_setequal(points_of(built), results$amce$estimate)
  expect_equal(intercepts(built), 0)
  expect_equal(intercepts(drawn(results$mm)), 0.5)
  expect_equal(as.character(built$layout$layout$panel), c("Reviews", "Distance", "Breakfast", "Price"))
  expect_length(points_of(drawn(results$counts)), 10)
})

test_that("levels come from top to bottom in their order, with their labels", {
  shown <- drawn_rows(tidy(read_results(shipped("hotel"))$amce), attr(read_results(shipped("hotel"))$amce, "labels"))
  expect_equal(rev(levels(shown$row))[1:5], c("Few", "Good", "30 minutes", "15 minutes", "Centre"))
})

test_that("groups have colours, and a null of means is drawn where it is given", {
  within <- cj(hotel(), chosen ~ reviews + price, ~judge_id, estimate = "mm", by = ~age, h0 = 0.5)
  built <- drawn(within)
  expect_equal(length(unique(built$data[[length(built$data)]]$colour)), 2)
  expect_equal(intercepts(built), 0.5)
  expect_null(intercepts(drawn(mm(hotel(), chosen ~ reviews))))
  expect_null(intercepts(drawn(cj_freqs(hotel(), ~reviews))))
  expect_equal(intercepts(drawn(amce_diffs(hotel(), chosen ~ price, ~age, ~judge_id))), 0)
})

test_that("agreement is drawn by coefficient", {
  expect_true(nrow(drawn(read_results(shipped("reviews"))$agreement)$data[[1]]) > 10)
})
