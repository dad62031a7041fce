# How often levels were shown, and one joint test of groups.

#' Counts and shares of levels, and the table of features
#'
#' `cj_freqs()` counts how often each level was shown, `cj_props()` gives the joint shares of some features, and
#' `cj_table()` lists features and levels. Arguments and columns are those of cregg.
#'
#' @inheritParams amce
#' @param formula `~ feature1 + feature2`; an outcome on the left is ignored.
#' @param id Accepted as in cregg, and not used: counts have no standard errors.
#' @param margin As in [base::prop.table()]: 1 for shares within levels of the first feature, and so on.
#' @param include_reference Whether a column `reference` marks the first level of each feature.
#' @return A data frame. `cj_freqs()`: `statistic`, `feature`, `level`, `estimate`; `cj_props()`: the features and
#'   `Proportion`; `cj_table()`: `feature`, `level` and, if asked for, `reference`.
#' @examples
#' choices <- read_data(system.file("extdata", "hotel.csv", package = "conjury"))
#' cj_freqs(choices, ~ reviews + distance)
#' cj_props(choices, ~ reviews + distance, margin = 1)
#' cj_table(choices, ~ reviews + distance, include_reference = TRUE)
#' @export
cj_freqs <- function(
    data, formula, id = NULL, weights = NULL, feature_order = NULL, feature_labels = NULL,
    level_order = c("ascending", "descending")) {
  rows <- rows_of(data)
  layout <- layout_of(
    rows, features_on_the_right(formula), feature_order, feature_labels, match.arg(level_order)
  )
  weight <- weights_of(rows, weights)
  tables <- lapply(layout$order, function(feature) {
    levels <- layout$levels[[feature]]
    shown <- factor(rows[[feature]], levels = levels)
    counts <- vapply(levels, function(level) sum(weight[which(shown == level)]), 0)
    data.frame(statistic = "frequencies", feature = feature, level = levels, estimate = unname(counts))
  })
  table <- do.call(rbind, tables)
  table$feature <- factor(table$feature, levels = layout$order, labels = layout$labels[layout$order])
  table$level <- factor(table$level, levels = unique(unlist(layout$levels)))
  fit <- data.frame(
    formula = paste(deparse(formula, 500L), collapse = " "), nobs = nrow(rows), n_rows = nrow(rows)
  )
  structure(table, class = c("cj_freqs", "conjury_cj", "data.frame"), fit = fit)
}

#' @rdname cj_freqs
#' @export
cj_props <- function(data, formula, id = NULL, weights = NULL, margin = NULL) {
  rows <- rows_of(data)
  features <- features_on_the_right(formula)
  weight <- weights_of(rows, weights)
  frame <- as.data.frame(
    sapply(features, function(name) unordered_factor(rows[[name]], name), simplify = FALSE), optional = TRUE
  )
  frame[["(weight)"]] <- weight
  counted <- stats::xtabs(stats::reformulate(backquoted(features), "`(weight)`"), frame)
  found <- as.data.frame(prop.table(counted, margin), responseName = "Proportion")
  names(found)[seq_along(features)] <- features
  structure(found, class = c("cj_props", "data.frame"))
}

#' @rdname cj_freqs
#' @export
cj_table <- function(
    data, formula, feature_order = NULL, feature_labels = NULL, level_order = c("ascending", "descending"),
    include_reference = FALSE) {
  rows <- rows_of(data)
  layout <- layout_of(
    rows, features_on_the_right(formula), feature_order, feature_labels, match.arg(level_order)
  )
  levels <- unlist(layout$levels, use.names = FALSE)
  feature <- rep(layout$order, lengths(layout$levels))
  table <- data.frame(
    feature = factor(feature, levels = layout$order, labels = layout$labels[layout$order]),
    level = factor(levels, levels = unique(levels))
  )
  if (include_reference) {
    first <- vapply(feature, function(name) levels(unordered_factor(rows[[name]], name))[1L], "")
    table$reference <- levels == unname(first)
  }
  table
}

#' One test of whether effects differ between groups
#'
#' Compares two ordinary models by their F statistic: one for all, and one in which every feature interacts
#' with the groups. As in cregg, clusters and weights play no part; see [amce_diffs()] for differences with
#' clustered standard errors.
#'
#' @inheritParams amce
#' @param id,weights As in cregg: `id` is not used, and weights are refused.
#' @param by One-sided formula of the groups.
#' @return A table of class `anova`.
#' @examples
#' choices <- read_data(system.file("extdata", "hotel.csv", package = "conjury"))
#' cj_anova(choices, chosen ~ reviews + distance, by = ~ age)
#' @export
cj_anova <- function(data, formula, id = NULL, weights = NULL, by, family = "gaussian") {
  if (!is.null(weights)) stop("cj_anova() takes no weights; see amce_diffs()", call. = FALSE)
  by <- one_name(by, "by")
  data <- with_groups(data, by)
  formula <- without_group(stats::as.formula(formula), by)
  asked <- request(data, formula, ~0, NULL, NULL, NULL, "ascending", 0.05, by)
  rows <- with_factors(asked$data, features_of(asked$formula))
  rows <- rows[!is.na(rows[[by]]), , drop = FALSE]
  pooled <- asked$formula
  each <- stats::update(pooled, stats::as.formula(paste(". ~ (.) *", backquoted(by))))
  fit <- function(formula) stats::glm(formula, data = rows, family = model_family(family))
  stats::anova(fit(pooled), fit(each), test = "F")
}

#' The column of weights, or ones where none are asked for
#' @noRd
weights_of <- function(rows, weights) {
  name <- names_in(weights)[1L]
  require_columns(rows, name)
  if (is.na(name)) rep(1, nrow(rows)) else rows[[name]]
}

features_on_the_right <- function(formula) all.vars(formula[[length(formula)]])
