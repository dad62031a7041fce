# cregg's verbs, by the estimators of this package.

#' Average marginal component effects, marginal means and their differences
#'
#' The verbs of the package cregg, with its arguments and columns, computed by the package survey alone.
#' `amce()` gives average marginal component effects, `mm()` marginal means, `amce_diffs()` and `mm_diffs()`
#' their differences between groups, `amce_by_reference()` the effects with each level of a feature as the
#' reference, and `cj()` any of them, also within groups.
#'
#' Standard errors are those of survey's linearisation: clusters in the data, G of them, give the sandwich
#' with the factor G / (G - 1); without `id` every row is a cluster. Tests and intervals are normal.
#'
#' Numbers are cregg's (0.4.0) except where its own are wrong:
#' * intervals of restricted features (`a * b` in the formula) have the level asked for, where cregg's have
#'   1 - 2 `alpha`, and their effects average over the partner's levels that occur with both the level and
#'   the reference;
#' * `mm_diffs()` keeps the covariance between groups that share clusters, and tests differences against 0;
#' * a level that never occurs has no estimate;
#' * ordered factors count as unordered; text and logical columns are features, too;
#' * rows of `amce_diffs()` come in the order of levels.
#'
#' Rows without a group are excluded with a warning, and so are repeated pairs (column `repeat` is TRUE).
#'
#' @param data Data frame with a row for each profile, or a design made by [survey::svydesign()], whose
#'   clusters, strata and weights then apply. `amce_diffs()`, `amce()`, `mm()` and `mm_diffs()` take both.
#' @param formula `outcome ~ feature1 + feature2`; for restricted pairs of features
#'   `outcome ~ feature1 * feature2 + feature3`, at most two-way, each feature in at most one pair.
#' @param id One-sided formula of the clusters, as `~ respondent`; of several columns the first counts. `~ 0`
#'   makes every row a cluster.
#' @param weights One-sided formula of the weights, as `~ weight`.
#' @param feature_order Names of all features in the order of the table.
#' @param feature_labels Named list of labels for some or all features; by default the attribute `label` of the
#'   column, else its name.
#' @param level_order Whether levels come in their order within each feature, or reversed.
#' @param alpha One minus the level of the intervals.
#' @param family Family of the model: "gaussian", "quasibinomial", or a family; effects are on the scale of
#'   its link.
#' @param h0 Mean under the null hypothesis; moves `z` and `p`, not the interval.
#' @param by One-sided formula of the groups: of `cj()` one or several columns, of differences one.
#' @param variable One-sided formula of the feature whose reference changes.
#' @param estimate What `cj()` estimates: "amce", "mm", "amce_differences", "mm_differences" or "frequencies".
#' @param ... Further arguments of the verb that `cj()` calls.
#'
#' @return A data frame with a row for each level, and the columns `outcome`, `statistic`, `feature`, `level`,
#'   `estimate`, `std.error`, `z`, `p`, `lower`, `upper`. The reference of an effect has estimate 0 and no
#'   standard error. With groups: `BY` and the columns of the groups; `amce_by_reference()`: `REFERENCE`.
#'   It takes [tidy()][tidy.conjury_cj], [glance()][tidy.conjury_cj] and
#'   [autoplot()][autoplot.conjury_cj].
#' @references Hainmueller, J., Hopkins, D. J. and Yamamoto, T. (2014). Causal inference in conjoint analysis.
#'   Political Analysis 22(1), 1-30. \doi{10.1093/pan/mpt024}
#'
#'   Leeper, T. J., Hobolt, S. B. and Tilley, J. (2020). Measuring subgroup preferences in conjoint
#'   experiments. Political Analysis 28(2), 207-221. \doi{10.1017/pan.2019.30}
#' @seealso [cj_freqs()] for counts, [cj_anova()] for a joint test of groups.
#' @examples
#' choices <- read_data(system.file("extdata", "hotel.csv", package = "conjury"))
#' effects <- amce(choices, chosen ~ reviews + distance + price, id = ~ judge_id)
#' effects
#' mm(choices, chosen ~ reviews + distance, id = ~ judge_id, h0 = 0.5)
#' amce_diffs(choices, chosen ~ reviews + price, by = ~ age, id = ~ judge_id)
#' cj(choices, chosen ~ distance, id = ~ judge_id, estimate = "mm", by = ~ age)
#'
#' # strata: a design of survey in place of the data
#' design <- survey::svydesign(ids = ~ judge_id, strata = ~ age, weights = ~ 1, data = choices)
#' amce(design, chosen ~ reviews + distance)
#' @export
amce <- function(
    data, formula, id = ~0, weights = NULL, feature_order = NULL, feature_labels = NULL,
    level_order = c("ascending", "descending"), alpha = 0.05, family = "gaussian") {
  asked <- request(data, formula, id, weights, feature_order, feature_labels, level_order, alpha, family = family)
  table <- without_likelihood(
    survey_amce(asked$data, asked$formula, asked$id, asked$weights, alpha, family)
  )
  laid_out(table, asked, "amce")
}

#' @rdname amce
#' @export
mm <- function(
    data, formula, id = ~0, weights = NULL, feature_order = NULL, feature_labels = NULL,
    level_order = c("ascending", "descending"), alpha = 0.05, h0 = 0) {
  asked <- request(data, formula, id, weights, feature_order, feature_labels, level_order, alpha, h0 = h0)
  table <- without_likelihood(
    survey_mm(asked$data, asked$formula, asked$id, asked$weights, alpha, h0)
  )
  laid_out(table, asked, "mm")
}

#' @rdname amce
#' @export
amce_diffs <- function(
    data, formula, by, id = ~0, weights = NULL, feature_order = NULL, feature_labels = NULL,
    level_order = c("ascending", "descending"), alpha = 0.05, family = "gaussian") {
  by <- one_name(by, "by")
  data <- with_groups(data, by)
  asked <- request(
    data, without_group(formula, by), id, weights, feature_order, feature_labels, level_order, alpha, by,
    family = family
  )
  table <- without_likelihood(
    survey_amce_diffs(asked$data, asked$formula, by, asked$id, asked$weights, alpha, family)
  )
  laid_out(table, asked, "diffs")
}

#' @rdname amce
#' @export
mm_diffs <- function(
    data, formula, by, id = ~0, weights = NULL, feature_order = NULL, feature_labels = NULL,
    level_order = c("ascending", "descending"), alpha = 0.05) {
  by <- one_name(by, "by")
  data <- with_groups(data, by)
  asked <- request(
    data, without_group(formula, by), id, weights, feature_order, feature_labels, level_order, alpha, by
  )
  counted <- if (is.data.frame(asked$data)) clusters_of_groups(asked$data, by, asked$id)
  table <- without_likelihood(
    survey_mm_diffs(asked$data, asked$formula, by, asked$id, asked$weights, alpha, counted)
  )
  table <- laid_out(table, asked, "diffs")
  table[c("BY", "statistic", "outcome", "feature", "level", "estimate", "std.error", "z", "p", "lower", "upper", by)]
}

#' @rdname amce
#' @export
amce_by_reference <- function(data, formula, variable, id = ~0, weights = NULL, ...) {
  variable <- one_name(variable, "variable")
  rows <- rows_of(data)
  label <- attr(rows[[variable]], "label", exact = TRUE)
  rows[[variable]] <- unordered_factor(rows[[variable]], variable)
  tables <- lapply(levels(rows[[variable]]), function(level) {
    rows[[variable]] <- structure(stats::relevel(rows[[variable]], level), label = label)
    table <- amce(with_rows(data, rows), formula, id, weights, ...)
    table$REFERENCE <- level
    table
  })
  table <- do.call(rbind, tables)
  table$REFERENCE <- factor(table$REFERENCE, levels = levels(rows[[variable]]))
  table
}

#' @rdname amce
#' @export
cj <- function(
    data, formula, id = ~0, weights = NULL,
    estimate = c("amce", "frequencies", "mm", "amce_differences", "mm_differences"),
    feature_order = NULL, feature_labels = NULL, level_order = c("ascending", "descending"), by = NULL, ...) {
  estimate <- match.arg(estimate)
  level_order <- match.arg(level_order)
  verb <- list(
    amce = amce, frequencies = cj_freqs, mm = mm, amce_differences = amce_diffs, mm_differences = mm_diffs
  )[[estimate]]
  run <- function(data, ...) {
    verb(
      data = data, formula = formula, id = id, weights = weights, feature_order = feature_order,
      feature_labels = feature_labels, level_order = level_order, ...
    )
  }
  if (endsWith(estimate, "differences")) {
    if (is.null(by)) stop("differences need groups: give `by`, as by = ~ group", call. = FALSE)
    return(run(data, by = by, ...))
  }
  if (is.null(by)) return(run(data, ...))
  names <- all.vars(by)
  # parts of the data lose the labels of columns
  features <- features_on_the_right(formula)
  feature_labels <- as.list(layout_of(rows_of(data), features, feature_order, feature_labels, level_order)$labels)
  data <- with_groups(data, names)
  within_groups(data, names, estimate, function(part) run(part, ...))
}

#' The same table in each group, one below the other
#' @noRd
within_groups <- function(data, names, estimate, run) {
  rows <- rows_of(data)
  groups <- interaction(rows[names], sep = "***", lex.order = FALSE)
  present <- levels(groups)[levels(groups) %in% groups]
  tables <- lapply(present, function(group) {
    here <- which(groups == group)
    table <- run(if (is.data.frame(data)) data[here, , drop = FALSE] else data[here, ])
    fit <- attr(table, "fit")
    values <- sapply(names, function(name) rows[[name]][rep(here[1L], nrow(table))], simplify = FALSE)
    combined <- cbind(data.frame(BY = rep(group, nrow(table))), table, as.data.frame(values, check.names = FALSE))
    combined$statistic <- estimate
    list(table = combined, fit = cbind(data.frame(BY = group), fit), class = class(table))
  })
  table <- do.call(rbind, lapply(tables, `[[`, "table"))
  table$BY <- factor(table$BY, levels = present)
  structure(
    table, row.names = seq_len(nrow(table)), class = tables[[1L]]$class, by = names,
    fit = do.call(rbind, lapply(tables, `[[`, "fit"))
  )
}

# --- what is asked for -------------------------------------------------------------------------------

request <- function(
    data, formula, id, weights, feature_order, feature_labels, level_order, alpha, by = NULL, h0 = NULL,
    family = NULL) {
  if (!is.data.frame(data) && !inherits(data, "survey.design")) {
    stop("'data' is neither a data frame nor a design of survey", call. = FALSE)
  }
  formula <- stats::as.formula(formula)
  if (length(formula) != 3L) stop("the formula has no outcome; write outcome ~ feature1 + feature2", call. = FALSE)
  if (length(alpha) != 1L || is.na(alpha) || alpha <= 0 || alpha >= 1) {
    stop("alpha is between 0 and 1, as 0.05", call. = FALSE)
  }
  id <- names_in(id)[1L]
  weights <- names_in(weights)[1L]
  features <- features_of(formula)
  rows <- rows_of(data)
  require_columns(rows, c(outcome_of(formula), features, id, weights))
  layout <- layout_of(rows, features, feature_order, feature_labels, match.arg(level_order, c("ascending", "descending")))
  kept <- without_repeats(data, c(all.vars(formula), id, by))
  c(layout, list(
    data = kept, formula = formula, id = if (!is.na(id)) id, weights = if (!is.na(weights)) weights, by = by,
    alpha = alpha, h0 = h0, family = family
  ))
}

require_columns <- function(rows, names) {
  for (name in stats::na.omit(names)) {
    if (is.null(rows[[name]])) stop(sprintf("the data have no column '%s'", name), call. = FALSE)
  }
}

names_in <- function(formula) if (is.null(formula)) character() else all.vars(formula)

one_name <- function(formula, argument) {
  names <- all.vars(formula)
  if (length(names) != 1L) {
    stop(sprintf("%s is a formula of one column, as %s = ~ column", argument, argument), call. = FALSE)
  }
  names
}

without_group <- function(formula, by) {
  if (!by %in% all.vars(formula[[length(formula)]])) return(formula)
  stats::update(formula, stats::reformulate(c(".", paste("-", backquoted(by))), response = "."))
}

#' The data with the groups as factors, without rows that have none
#' @noRd
with_groups <- function(data, names) {
  rows <- rows_of(data)
  require_columns(rows, names)
  for (name in names) {
    if (!is.factor(rows[[name]])) rows[[name]] <- factor(rows[[name]])
    rows[[name]] <- droplevels(factor(rows[[name]], levels = levels(rows[[name]]), ordered = FALSE))
  }
  absent <- !stats::complete.cases(rows[names])
  if (any(absent)) {
    warning(sprintf(
      "%s excluded: no value of %s", if (sum(absent) == 1L) "One row" else paste(format(sum(absent), big.mark = ","), "rows"),
      paste(names, collapse = " or ")
    ), call. = FALSE)
  }
  with_rows(data, rows)
}

clusters_of_groups <- function(data, by, id) {
  vapply(split(seq_len(nrow(data)), data[[by]]), function(rows) {
    as.numeric(if (is.null(id)) length(rows) else length(unique(data[[id]][rows])))
  }, 0)
}

without_likelihood <- function(expression) {
  withCallingHandlers(expression, warning = function(condition) {
    if (grepl("not fitted by maximum likelihood", conditionMessage(condition))) invokeRestart("muffleWarning")
  })
}

# --- how the table is laid out -----------------------------------------------------------------------

layout_of <- function(rows, features, feature_order, feature_labels, level_order) {
  if (!length(features)) stop("the formula names no feature; write outcome ~ feature1 + feature2", call. = FALSE)
  if (is.null(feature_order)) feature_order <- features
  if (!setequal(feature_order, features) || anyDuplicated(feature_order)) {
    stop("feature_order names each feature of the formula once: ", paste(features, collapse = ", "), call. = FALSE)
  }
  unknown <- setdiff(names(feature_labels), features)
  if (length(unknown)) {
    stop(sprintf("feature_labels names '%s', which is not in the formula", unknown[1L]), call. = FALSE)
  }
  labels <- vapply(features, function(feature) {
    given <- feature_labels[[feature]]
    label <- if (is.null(given)) attr(rows[[feature]], "label", exact = TRUE) else given
    if (is.null(label) || !nzchar(label)) feature else as.character(label)
  }, "")
  levels <- sapply(feature_order, function(feature) {
    found <- levels(unordered_factor(rows[[feature]], feature))
    if (level_order == "descending") rev(found) else found
  }, simplify = FALSE)
  list(order = feature_order, labels = labels, levels = levels)
}

#' A table of the estimators in cregg's columns and order
#' @noRd
laid_out <- function(table, asked, kind) {
  place <- match(table$feature, asked$order)
  within <- mapply(
    function(feature, level) match(level, asked$levels[[feature]]), as.character(table$feature),
    as.character(table$level)
  )
  group <- if (is.null(table$by)) integer(nrow(table)) else match(table$by, unique(table$by))
  table <- table[order(group, place, within), , drop = FALSE]
  renamed <- c(std_error = "std.error", by = "BY")
  names(table) <- ifelse(names(table) %in% names(renamed) & names(table) != asked$by %||% "", renamed[names(table)], names(table))
  table$feature <- factor(table$feature, levels = asked$order, labels = asked$labels[asked$order])
  table$level <- factor(table$level, levels = unique(unlist(asked$levels)))
  if (!is.null(asked$by)) {
    table[[asked$by]] <- factor(table[[asked$by]], levels = levels(rows_of(asked$data)[[asked$by]]))
  }
  structure(
    table, row.names = seq_len(nrow(table)), class = c(paste0("cj_", kind), "conjury_cj", "data.frame"),
    by = asked$by, fit = fit_row(asked, kind)
  )
}

`%||%` <- function(x, y) if (is.null(x)) y else x

#' What glance() says about a fit
#' @noRd
fit_row <- function(asked, kind) {
  rows <- rows_of(asked$data)
  needed <- c(outcome_of(asked$formula), asked$by, if (kind != "mm") features_of(asked$formula))
  clusters <- if (!is.data.frame(asked$data)) {
    length(unique(asked$data$cluster[[1L]]))
  } else if (is.null(asked$id)) nrow(rows) else length(unique(rows[[asked$id]]))
  family <- asked$family
  data.frame(
    outcome = outcome_of(asked$formula), formula = paste(deparse(asked$formula, 500L), collapse = " "),
    nobs = sum(stats::complete.cases(rows[needed])), n_rows = nrow(rows), n_clusters = clusters,
    id = asked$id %||% NA_character_, weights = asked$weights %||% NA_character_,
    family = if (is.null(family)) "gaussian" else model_family(family)$family, h0 = asked$h0 %||% NA_real_,
    conf.level = 1 - asked$alpha, stringsAsFactors = FALSE
  )
}
