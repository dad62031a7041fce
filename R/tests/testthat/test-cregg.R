test_that("cregg and survey agree where cregg is right", {
  skip_if_not_installed("cregg")
  posts <- small_posts()
  theirs <- call_cregg("amce", posts, chosen ~ tone + author, id = "person", weights = "weight")
  ours <- survey_amce(posts, chosen ~ tone + author, id = "person", weights = "weight")
  expect_equal(theirs$estimate, ours$estimate, tolerance = 1e-10)
  expect_equal(theirs$std.error, ours$std_error, tolerance = 1e-10)
  expect_identical(class(theirs), "data.frame")
})

test_that("cregg's restricted rows carry a narrower interval, ours do not", {
  skip_if_not_installed("cregg")
  theirs <- call_cregg("amce", small_posts(), chosen ~ tone * topic)
  width <- (theirs$upper - theirs$estimate) / theirs$std.error
  expect_equal(width[2], stats::qnorm(0.95))
})

test_that("labels for some features stay with their features", {
  skip_if_not_installed("cregg")
  table <- call_cregg("amce", small_posts(), chosen ~ tone + author, feature_labels = list(author = "Who"))
  expect_equal(levels(table$feature), c("tone", "Who"))
  expect_error(complete_labels(list(nobody = "x"), "tone"), "nobody")
})

test_that("the warning about maximum likelihood is dropped, others stay", {
  skip_if_not_installed("cregg")
  expect_silent(call_cregg("mm", small_posts(), chosen ~ tone))
  expect_warning(without_likelihood_warning(warning("another")), "another")
})
