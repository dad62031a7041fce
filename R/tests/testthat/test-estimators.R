test_that("unrestricted effects are the coefficients, with a zero row for the reference", {
  posts <- small_posts()
  table <- survey_amce(posts, chosen ~ tone + author, id = "person")
  fit <- fit_survey(posts, chosen ~ tone + author, id = "person")
  expect_equal(as.character(table$level), c("calm", "sharp", "rude", "none", "\u00e9tudiante"))
  expect_equal(table$estimate, c(0, unname(fit$coef[2:3]), 0, unname(fit$coef[4])))
  expect_equal(table$std_error, c(NA, unname(sqrt(diag(fit$vcov))[2:3]), NA, unname(sqrt(fit$vcov[4, 4]))))
})

test_that("restricted effects average over the partners allowed with both levels", {
  posts <- small_posts()
  cell <- tapply(posts$chosen, posts[c("tone", "topic")], mean)
  table <- survey_amce(posts, chosen ~ tone * topic)
  effects <- stats::setNames(table$estimate, table$level)
  both <- c("sport", "politics")
  expect_equal(effects[["rude"]], mean(cell["rude", both] - cell["calm", both]))
  expect_equal(effects[["sharp"]], mean(cell["sharp", ] - cell["calm", ]))
  expect_equal(effects[["sport"]], mean(cell[c("calm", "sharp"), "sport"] - cell[c("calm", "sharp"), "work"]))
})

test_that("intervals have their nominal width on restricted rows too", {
  table <- survey_amce(small_posts(), chosen ~ tone * topic + author, alpha = 0.05)
  width <- (table$upper - table$estimate) / table$std_error
  expect_equal(width[!is.na(width)], rep(stats::qnorm(0.975), sum(!is.na(width))))
})

test_that("marginal means are weighted means and the null moves z only", {
  posts <- small_posts()
  table <- survey_mm(posts, chosen ~ tone, id = "person", weights = "weight", h0 = 0.5)
  means <- sapply(split(posts, posts$tone), function(part) stats::weighted.mean(part$chosen, part$weight))
  expect_equal(table$estimate, unname(means))
  expect_equal(table$z, (table$estimate - 0.5) / table$std_error)
  expect_equal((table$lower + table$upper) / 2, table$estimate)
})

test_that("differences in effects are differences of the effects in subgroups", {
  posts <- small_posts()
  inside <- function(group) survey_amce(posts[posts$age == group, ], chosen ~ tone + author)$estimate
  table <- survey_amce_diffs(posts, chosen ~ tone + author, "age", id = "person")
  expect_equal(table$estimate, (inside("old") - inside("young"))[c(2, 3, 5)])
  expect_equal(unique(table$by), "old - young")
})

test_that("differences in means keep the covariance between subgroups", {
  posts <- small_posts()
  table <- survey_mm_diffs(posts, chosen ~ tone, "age", id = "person")
  fit <- fit_survey(posts[posts$tone == "calm", ], chosen ~ age, id = "person")
  expect_equal(table$estimate[1], unname(fit$coef[2]))
  people <- length(unique(posts$person[posts$tone == "calm"]))
  factor <- sqrt((100 / 99) / (people / (people - 1)))
  expect_equal(table$std_error[1], factor * sqrt(fit$vcov[2, 2]))
})

test_that("a level that never occurs has no estimate", {
  posts <- small_posts()
  posts$tone <- factor(posts$tone, levels = c("absent", levels(posts$tone)))
  table <- survey_amce(posts, chosen ~ tone)
  expect_equal(is.na(table$estimate), c(TRUE, FALSE, FALSE, FALSE))
  expect_equal(table$estimate[2], 0)
  expect_true(is.na(survey_mm(posts, chosen ~ tone)$estimate[1]))
})

test_that("a feature in two restrictions is refused", {
  expect_error(survey_amce(small_posts(), chosen ~ tone * topic + tone * author), "one restriction only")
})

test_that("ordered factors have the estimates of unordered ones", {
  posts <- small_posts()
  ordered <- posts
  for (name in c("tone", "topic", "author", "age")) ordered[[name]] <- as.ordered(posts[[name]])
  main <- chosen ~ tone + author
  expect_equal(survey_amce(ordered, main), survey_amce(posts, main))
  expect_equal(survey_amce(ordered, chosen ~ tone * topic), survey_amce(posts, chosen ~ tone * topic))
  expect_equal(survey_mm(ordered, main), survey_mm(posts, main))
  expect_equal(survey_amce_diffs(ordered, main, "age"), survey_amce_diffs(posts, main, "age"))
  expect_equal(survey_mm_diffs(ordered, main, "age"), survey_mm_diffs(posts, main, "age"))
})

test_that("text and logical columns have the estimates of factors with sorted levels", {
  posts <- small_posts()
  posts$tone <- factor(posts$tone, levels = c("calm", "rude", "sharp"))
  posts$age <- factor(posts$age == "old")
  loose <- posts
  loose$tone <- as.character(posts$tone)
  loose$age <- posts$age == "TRUE"
  main <- chosen ~ tone + author
  expect_equal(survey_amce(loose, chosen ~ tone + age), survey_amce(posts, chosen ~ tone + age))
  expect_equal(survey_mm(loose, chosen ~ tone + age), survey_mm(posts, chosen ~ tone + age))
  expect_equal(survey_amce_diffs(loose, main, "age"), survey_amce_diffs(posts, main, "age"))
  expect_equal(survey_mm_diffs(loose, main, "age"), survey_mm_diffs(posts, main, "age"))
})

test_that("missing values in text make no level", {
  posts <- small_posts()
  posts$tone <- replace(as.character(posts$tone), 1:5, NA)
  expect_equal(levels(with_factors(posts, "tone")$tone), c("calm", "rude", "sharp"))
})

test_that("a column that is no feature is refused by its name", {
  posts <- small_posts()
  numeric <- "column 'weight' is integer; make it a factor"
  expect_error(survey_amce(posts, chosen ~ tone + weight), numeric)
  expect_error(survey_mm(posts, chosen ~ weight), numeric)
  expect_error(survey_amce_diffs(posts, chosen ~ tone, "weight"), numeric)
  expect_error(survey_mm_diffs(posts, chosen ~ tone, "weight"), numeric)
  expect_error(survey_amce(posts, chosen ~ tone + Topic), "no column 'Topic'")
})

test_that("rows of repeated pairs are excluded with a warning", {
  posts <- small_posts()
  again <- transform(posts[1:50, ], chosen = 1 - chosen)
  both <- rbind(cbind(posts, `repeat` = "False"), cbind(again, `repeat` = "True"))
  for (marks in list(both[["repeat"]], factor(both[["repeat"]]), both[["repeat"]] == "True")) {
    both[["repeat"]] <- marks
    expect_warning(table <- survey_amce(both, chosen ~ tone, id = "person"), "50 rows of repeated pairs")
    expect_equal(table, survey_amce(posts, chosen ~ tone, id = "person"))
    expect_warning(table <- survey_mm(both, chosen ~ tone, id = "person"), "50 rows")
    expect_equal(table, survey_mm(posts, chosen ~ tone, id = "person"))
    expect_warning(table <- survey_mm_diffs(both, chosen ~ tone, "age"), "50 rows")
    expect_equal(table, survey_mm_diffs(posts, chosen ~ tone, "age"))
    expect_warning(table <- survey_amce_diffs(both, chosen ~ tone, "age"), "50 rows")
    expect_equal(table, survey_amce_diffs(posts, chosen ~ tone, "age"))
  }
  expect_no_warning(survey_mm(both, chosen ~ `repeat`))
  both[["repeat"]] <- "sometimes"
  expect_no_warning(survey_amce(both, chosen ~ tone))
})
