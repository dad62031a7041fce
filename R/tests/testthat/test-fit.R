sandwich_by_hand <- function(data, formula, cluster, weights, clusters = length(unique(cluster))) {
  design <- stats::model.matrix(formula, data)
  outcome <- stats::model.response(stats::model.frame(formula, data))
  bread <- solve(crossprod(design * sqrt(weights)))
  coefficients <- drop(bread %*% crossprod(design, weights * outcome))
  scores <- design * weights * drop(outcome - design %*% coefficients)
  meat <- crossprod(rowsum(scores, cluster))
  list(coef = coefficients, vcov = clusters / (clusters - 1) * bread %*% meat %*% bread)
}

test_that("the covariance is the cluster sandwich with G / (G - 1)", {
  posts <- small_posts()
  fit <- fit_survey(posts, chosen ~ tone + author, id = "person", weights = "weight")
  expected <- sandwich_by_hand(posts, chosen ~ tone + author, posts$person, posts$weight)
  expect_equal(unname(fit$coef), unname(expected$coef), tolerance = 1e-10)
  expect_equal(unname(fit$vcov), unname(expected$vcov), tolerance = 1e-10)
})

test_that("without id every row is its own cluster", {
  posts <- small_posts()
  posts$row <- seq_len(nrow(posts))
  expect_equal(
    fit_survey(posts, chosen ~ tone)$vcov, fit_survey(posts, chosen ~ tone, id = "row")$vcov,
    tolerance = 1e-12
  )
})

test_that("clusters are counted before rows with missing values are dropped", {
  posts <- small_posts()
  posts$chosen[posts$person <= 10] <- NA
  kept <- posts[!is.na(posts$chosen), ]
  fit <- fit_survey(posts, chosen ~ tone, id = "person")
  expected <- sandwich_by_hand(kept, chosen ~ tone, kept$person, rep(1, nrow(kept)), clusters = 100)
  expect_equal(unname(fit$vcov), unname(expected$vcov), tolerance = 1e-10)
  expect_equal(c(fit$n_rows, fit$n_used, fit$n_clusters), c(600, nrow(kept), 100))
})

test_that("coefficients that the data cannot estimate keep their place as NA", {
  fit <- fit_survey(small_posts(), chosen ~ tone * topic)
  expect_length(fit$coef, 9)
  expect_equal(fit$aliased, is.na(unname(fit$coef)))
  expect_equal(fit$names[fit$aliased], "tonerude:topicpolitics")
  expect_true(all(is.na(fit$vcov[fit$aliased, ])))
  expect_false(anyNA(fit$vcov[!fit$aliased, !fit$aliased]))
})

test_that("odd column names work in every place", {
  posts <- small_posts()
  plain <- fit_survey(posts, chosen ~ tone, id = "person", weights = "weight")
  names(posts)[match(c("chosen", "tone", "person", "weight"), names(posts))] <- c("if", "a tone", "per`son", "\u00e9")
  odd <- fit_survey(posts, "`if` ~ `a tone`", id = "per`son", weights = "\u00e9")
  expect_equal(unname(odd$vcov), unname(plain$vcov))
})

test_that("an unknown family is refused by name", {
  expect_error(fit_survey(small_posts(), chosen ~ tone, family = "poisson"), "poisson")
})
