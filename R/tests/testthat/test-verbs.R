KEYS <- c("BY", "REFERENCE", "feature", "level")
NUMBERS <- c("estimate", "std.error", "z", "p", "lower", "upper")

posts_of_the_checkout <- function() {
  folder <- checkout("tests", "fixtures", "data")
  data <- utils::read.csv(file.path(folder, "posts.csv"), na.strings = "", encoding = "UTF-8")
  levels <- utils::read.csv(file.path(folder, "posts.levels.csv"), colClasses = "character", encoding = "UTF-8")
  for (column in unique(levels$column)) {
    data[[column]] <- factor(data[[column]], levels = levels$level[levels$column == column])
  }
  data
}

made_by_cregg <- function(name) {
  utils::read.csv(
    checkout("tests", "fixtures", "r", paste0("cregg_", name, ".csv")), check.names = FALSE, encoding = "UTF-8",
    na.strings = ""
  )
}

key_of <- function(table) {
  do.call(paste, c(lapply(unclass(table)[intersect(KEYS, names(table))], as.character), sep = "|"))
}

expect_same_numbers <- function(ours, theirs, columns = intersect(NUMBERS, names(theirs)), tolerance = 1e-10) {
  expect_setequal(key_of(ours), key_of(theirs))
  expect_false(anyDuplicated(key_of(ours)) > 0)
  ours <- ours[match(key_of(theirs), key_of(ours)), ]
  for (column in columns) {
    expect_equal(is.na(ours[[column]]), is.na(theirs[[column]]), info = column)
    scale <- pmax(abs(theirs[[column]]), if (column == "p") 1e-300 else 1e-3)
    distance <- abs(ours[[column]] - theirs[[column]]) / scale
    expect_lt(max(0, distance, na.rm = TRUE), if (column == "p") 1e-8 else tolerance, label = column)
  }
}

plain <- chosen ~ tone + topic + author + reply
restricted <- chosen ~ tone * topic + author + reply
without_author <- chosen ~ tone + topic + reply

test_that("verbs have the numbers and columns of cregg's tables", {
  posts <- posts_of_the_checkout()
  calls <- list(
    amce = quote(amce(posts, plain)),
    amce_id = quote(amce(posts, plain, id = ~respondent)),
    amce_weights = quote(amce(posts, plain, id = ~respondent, weights = ~weight)),
    amce_quasibinomial = quote(
      amce(posts, plain, id = ~respondent, weights = ~weight, family = stats::quasibinomial())
    ),
    amce_labels = quote(amce(posts, plain, id = ~pair_id, alpha = 0.1, level_order = "descending",
      feature_order = c("reply", "tone", "author", "topic"), feature_labels = list(author = "Auteur\u00b7e"))),
    mm_id = quote(mm(posts, plain, id = ~respondent)),
    mm_weights_h0 = quote(mm(posts, plain, id = ~pair_id, weights = ~weight, h0 = 0.5)),
    amce_diffs_age = quote(amce_diffs(posts, plain, by = ~age, id = ~respondent)),
    amce_diffs_author = quote(amce_diffs(posts, without_author, by = ~author, id = ~respondent, weights = ~weight)),
    mm_diffs_age = quote(mm_diffs(posts, plain, by = ~age, id = ~respondent)),
    cj_amce_position = quote(cj(posts, plain, estimate = "amce", by = ~position, id = ~respondent)),
    cj_mm_age_position = quote(cj(posts, plain, estimate = "mm", by = ~ age + position)),
    cj_freqs = quote(cj_freqs(posts, plain, weights = ~weight)),
    amce_by_reference = quote(amce_by_reference(posts, plain, ~tone, id = ~respondent))
  )
  for (name in names(calls)) {
    ours <- suppressWarnings(eval(calls[[name]]))
    theirs <- made_by_cregg(name)
    expect_identical(names(ours), names(theirs), info = name)
    expect_same_numbers(ours, theirs)
  }
})

test_that("proportions, the table of features and the analysis of variance are cregg's", {
  posts <- posts_of_the_checkout()
  props <- cj_props(posts, ~ tone + topic, margin = 1)
  theirs <- made_by_cregg("cj_props")
  expect_identical(names(props), names(theirs))
  order <- match(paste(theirs$tone, theirs$topic), paste(props$tone, props$topic))
  expect_equal(props$Proportion[order], theirs$Proportion, tolerance = 1e-12)
  table <- cj_table(posts, plain, include_reference = TRUE)
  expect_equal(as.data.frame(lapply(table, as.character)), as.data.frame(lapply(made_by_cregg("cj_table"), as.character)))
  found <- cj_anova(posts, plain, by = ~position)
  expect_equal(unlist(found), unlist(made_by_cregg("cj_anova_position")), tolerance = 1e-10, ignore_attr = TRUE)
})

test_that("counts and shares with a column of weights that is not there are refused, as effects are", {
  posts <- small_posts()
  for (verb in list(cj_freqs, cj_props)) {
    expect_error(verb(posts, ~ tone + topic, weights = ~nosuch), "the data have no column 'nosuch'")
  }
  weighted <- cj_props(posts, ~tone, weights = ~weight)$Proportion
  expect_equal(weighted, as.vector(tapply(posts$weight, posts$tone, sum)) / sum(posts$weight))
})

test_that("restricted effects are ours, not cregg's: full intervals and shared partners", {
  posts <- posts_of_the_checkout()
  ours <- amce(posts, restricted, id = ~respondent)
  theirs <- made_by_cregg("amce_restricted")
  width <- (ours$upper - ours$estimate) / ours$std.error
  expect_equal(width[!is.na(width)], rep(stats::qnorm(0.975), sum(!is.na(width))))
  free <- theirs$feature %in% c("author", "reply")
  expect_same_numbers(ours[ours$feature %in% c("author", "reply"), ], theirs[free, ])
  reference <- utils::read.csv(checkout("tests", "fixtures", "r", "amce_restricted.csv"), encoding = "UTF-8")
  names(reference)[names(reference) == "std_error"] <- "std.error"
  expect_same_numbers(ours, reference)
})

test_that("differences of means between groups that share no cluster are cregg's, else keep the covariance", {
  posts <- small_posts()
  posts$age <- factor(ifelse(posts$person %% 2 == 0, "old", "young"), levels = c("young", "old"))
  apart <- mm_diffs(posts, chosen ~ tone, by = ~age, id = ~person)
  each <- cj(posts, chosen ~ tone, estimate = "mm", by = ~age, id = ~person)
  young <- each[each$BY == "young", ]
  old <- each[each$BY == "old", ]
  expect_equal(apart$estimate, old$estimate - young$estimate)
  expect_equal(apart$std.error, sqrt(old$std.error^2 + young$std.error^2), tolerance = 1e-12)
  # the same answers twice: no difference, and none in doubt
  twice <- rbind(cbind(posts, wave = "one"), cbind(posts, wave = "two"))
  same <- mm_diffs(twice, chosen ~ tone, by = ~wave, id = ~person)
  expect_lt(max(abs(same$estimate)), 1e-12)
  expect_lt(max(same$std.error), 1e-7)
})

test_that("a design gives the numbers of its clusters and weights, and strata count", {
  posts <- small_posts()
  design <- survey::svydesign(ids = ~person, weights = ~weight, data = posts)
  for (verb in list(amce, mm)) {
    expect_equal(
      verb(design, chosen ~ tone + author)[NUMBERS], verb(posts, chosen ~ tone + author, ~person, ~weight)[NUMBERS]
    )
  }
  differ <- amce_diffs(design, chosen ~ tone, by = ~age)
  expect_equal(differ[NUMBERS], amce_diffs(posts, chosen ~ tone, ~age, ~person, ~weight)[NUMBERS])
  posts$region <- posts$person %% 4
  strata <- survey::svydesign(ids = ~person, strata = ~region, weights = ~weight, data = posts)
  reference <- survey::svyglm(chosen ~ tone, design = strata)
  expect_equal(amce(strata, chosen ~ tone)$std.error[-1], unname(survey::SE(reference)[-1]))
  means <- survey::svyby(~chosen, ~tone, strata, survey::svymean)
  expect_equal(mm(strata, chosen ~ tone)$std.error, unname(survey::SE(means)), tolerance = 1e-10)
  part <- cj(strata, chosen ~ tone, estimate = "mm", by = ~author)
  domain <- survey::svyby(~chosen, ~ tone + author, strata, survey::svymean)
  expect_equal(part$std.error, unname(survey::SE(domain)), tolerance = 1e-10)
})

test_that("labels, orders and text columns", {
  posts <- small_posts()
  attr(posts$tone, "label") <- "Tone of the post"
  table <- amce(posts, chosen ~ tone + author)
  expect_equal(levels(table$feature), c("Tone of the post", "author"))
  posts$tone <- as.character(posts$tone)
  expect_equal(as.character(amce(posts, chosen ~ tone)$level), c("calm", "rude", "sharp"))
  down <- mm(posts, chosen ~ tone, level_order = "descending")
  expect_equal(as.character(down$level), c("sharp", "rude", "calm"))
})

test_that("one label in two features gives a row for each", {
  posts <- small_posts()
  levels(posts$author) <- c("work", "sport")
  expect_equal(nrow(mm(posts, chosen ~ topic + author)), 5)
})

test_that("rows without a group are excluded with their number", {
  posts <- small_posts()
  posts$age[1:3] <- NA
  kept <- posts[-(1:3), ]
  expect_warning(found <- cj(posts, chosen ~ tone, estimate = "mm", by = ~age), "3 rows excluded: no value of age")
  expect_equal(found[NUMBERS], cj(kept, chosen ~ tone, estimate = "mm", by = ~age)[NUMBERS])
  expect_warning(found <- mm_diffs(posts, chosen ~ tone, by = ~age, id = ~person), "3 rows")
  expect_equal(found[NUMBERS], mm_diffs(kept, chosen ~ tone, by = ~age, id = ~person)[NUMBERS])
})

test_that("frequencies within groups are counts of the groups", {
  posts <- small_posts()
  found <- cj(posts, chosen ~ tone, estimate = "frequencies", by = ~age)
  expect_equal(found$estimate, as.vector(table(posts$tone, posts$age)))
})

test_that("bad input is refused in one sentence", {
  posts <- small_posts()
  expect_error(amce(posts, ~ tone), "no outcome")
  expect_error(amce(posts, chosen ~ nothing), "no column 'nothing'")
  expect_error(amce(posts, chosen ~ tone, id = ~nobody), "no column 'nobody'")
  expect_error(amce(posts, chosen ~ weight), "make it a factor")
  expect_error(amce(list(), chosen ~ tone), "neither a data frame nor a design")
  expect_error(amce(posts, chosen ~ tone, alpha = 1), "alpha is between")
  expect_error(amce(posts, chosen ~ tone, family = "poisson"), "poisson")
  expect_error(amce(posts, chosen ~ tone + author, feature_order = "tone"), "each feature of the formula once")
  expect_error(amce(posts, chosen ~ tone, feature_labels = list(who = "x")), "not in the formula")
  expect_error(cj(posts, chosen ~ tone, estimate = "mm_differences"), "need groups")
  expect_error(mm_diffs(posts, chosen ~ tone, by = ~ age + author), "of one column")
  expect_error(cj_anova(posts, chosen ~ tone, weights = ~weight, by = ~age), "no weights")
})
