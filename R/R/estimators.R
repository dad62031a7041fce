# Reference estimators for conjoint experiments, from models fitted by the package survey.
#
# Each returns a data frame with the columns outcome, statistic, feature, level, estimate, std_error, z, p,
# lower, upper (differences: `by` first, and the column of the subgroups after level). Intervals and tests are
# normal and two-sided throughout, also on the rows of restricted features. Features, and the column of the
# subgroups, are factors, text or logical; ordered factors count as unordered. Rows whose column `repeat` is TRUE
# are answers to pairs shown again; they are excluded with a warning, unless the call names that column.

#' Average marginal component effects
#'
#' An effect is the mean, over the levels of the feature's partner in a restriction (`a * b` in the formula)
#' that occur with both the level and the reference, of the difference in the model's linear predictor. Without
#' a partner it is the coefficient.
#'
#' @param data,id,weights,family,strata As in `fit_survey`.
#' @param formula `outcome ~ a + b * c`, or its text; at most two-way, every feature in at most one pair.
#' @param alpha One minus the level of the intervals.
#' @return A row for every level. The reference, the first level that occurs, has estimate 0 and no standard
#'   error; a level that never occurs has no estimate.
#' @noRd
survey_amce <- function(
    data, formula, id = NULL, weights = NULL, alpha = 0.05, family = "gaussian", strata = NULL) {
  formula <- stats::as.formula(formula, env = baseenv())
  data <- with_factors(without_repeats(data, c(all.vars(formula), id)), features_of(formula))
  fit <- fit_survey(data, formula, id, weights, family, strata)
  rows <- lapply(features_of(formula), function(feature) {
    effects <- feature_effects(fit, data, formula, feature)
    tidy_rows(formula, "amce", feature, levels(rows_of(data)[[feature]]), effects$estimate, effects$std_error, alpha)
  })
  stack_rows(rows)
}

#' Marginal means: the weighted mean outcome in each level of each feature
#'
#' @param data,id,weights,alpha,strata As in `survey_amce`.
#' @param formula `outcome ~ a + b`, or its text; each feature is taken alone.
#' @param h0 Mean under the null hypothesis; it moves z and p, not the interval.
#' @noRd
survey_mm <- function(data, formula, id = NULL, weights = NULL, alpha = 0.05, h0 = 0, strata = NULL) {
  formula <- stats::as.formula(formula, env = baseenv())
  data <- with_factors(without_repeats(data, c(all.vars(formula), id)), features_of(formula))
  rows <- lapply(features_of(formula), function(feature) {
    means <- cell_means(data, formula, feature, id, weights, strata = strata)
    tidy_rows(formula, "mm", feature, levels(rows_of(data)[[feature]]), means$estimate, sqrt(diag(means$vcov)), alpha, h0)
  })
  stack_rows(rows)
}

#' Differences between subgroups in average marginal component effects
#'
#' Effects in each further level of `by` minus those in its first level, from one model in which every feature
#' interacts with `by`; the covariance between subgroups is kept.
#'
#' @param data,formula,id,weights,alpha,family As in `survey_amce`; no restrictions in the formula.
#' @param by Name of the column that makes the subgroups.
#' @return As `survey_amce`, without rows for the reference levels.
#' @noRd
survey_amce_diffs <- function(data, formula, by, id = NULL, weights = NULL, alpha = 0.05, family = "gaussian") {
  formula <- stats::as.formula(formula, env = baseenv())
  if (length(partners_of(formula))) stop("differences in effects take no restricted features (`a * b`)")
  features <- setdiff(features_of(formula), by)
  data <- with_factors(without_repeats(data, c(all.vars(formula), id, by)), c(features, by))
  joint <- paste0(
    backquoted(outcome_of(formula)), " ~ (", paste(backquoted(features), collapse = " + "), ") * ", backquoted(by)
  )
  fit <- fit_survey(data, joint, id, weights, family)
  rows <- rows_of(data)
  groups <- levels(rows[[by]])
  tables <- lapply(groups[-1L], function(group) {
    do.call(rbind, lapply(features, function(feature) {
      all_levels <- levels(rows[[feature]])
      reference <- fit$xlevels[[feature]][1L]
      effect <- function(level, in_group) {
        predictor(fit, stats::setNames(list(level, in_group), c(feature, by))) -
          predictor(fit, stats::setNames(list(reference, in_group), c(feature, by)))
      }
      further <- setdiff(all_levels, reference)
      found <- combine(fit, lapply(further, function(level) effect(level, group) - effect(level, groups[1L])))
      table <- tidy_rows(formula, "amce_difference", feature, further, found$estimate, found$std_error, alpha)
      label_groups(table, by, group, groups)
    }))
  })
  stack_rows(tables)
}

#' Differences between subgroups in marginal means
#'
#' Means in each further level of `by` minus those in its first level, from one model for each feature, so that
#' a cluster that feeds both subgroups is counted once.
#'
#' @param data,formula,id,weights,alpha As in `survey_mm`.
#' @param by Name of the column that makes the subgroups.
#' @param counted Number of clusters of each subgroup, named by its level, for the factor G / (G - 1) of its
#'   means (of covariances: the geometric mean of two factors); NULL counts all clusters, as one model does.
#' @noRd
survey_mm_diffs <- function(data, formula, by, id = NULL, weights = NULL, alpha = 0.05, counted = NULL) {
  formula <- stats::as.formula(formula, env = baseenv())
  features <- setdiff(features_of(formula), by)
  data <- with_factors(without_repeats(data, c(all.vars(formula), id, by)), c(features, by))
  rows <- rows_of(data)
  groups <- levels(rows[[by]])
  means <- sapply(features, function(feature) {
    cell_means(data, formula, feature, id, weights, by)
  }, simplify = FALSE)
  tables <- lapply(groups[-1L], function(group) {
    do.call(rbind, lapply(features, function(feature) {
      all_levels <- levels(rows[[feature]])
      cells <- means[[feature]]
      here <- (match(group, groups) - 1L) * length(all_levels) + seq_along(all_levels)
      first <- seq_along(all_levels)
      scale <- c(1, 1)
      if (!is.null(counted)) {
        scale <- sqrt(small_sample(counted[c(group, groups[1L])]) / small_sample(cells$n_clusters))
      }
      variance <- scale[1L]^2 * diag(cells$vcov)[here] + scale[2L]^2 * diag(cells$vcov)[first] -
        2 * scale[1L] * scale[2L] * cells$vcov[cbind(here, first)]
      difference <- cells$estimate[here] - cells$estimate[first]
      table <- tidy_rows(formula, "mm_difference", feature, all_levels, difference, sqrt(pmax(variance, 0)), alpha)
      label_groups(table, by, group, groups)
    }))
  })
  stack_rows(tables)
}

small_sample <- function(clusters) {
  clusters <- unname(clusters)
  ifelse(clusters > 1, clusters / (clusters - 1), NA_real_)
}

# --- rows of repeated pairs --------------------------------------------------------------------------

#' The data without rows of repeated pairs, with a warning
#'
#' @param named Columns that the call names; where `repeat` is one of them all rows stay.
#' @noRd
without_repeats <- function(data, named) {
  data <- without_excluded(data, named)
  marks <- tolower(as.character(rows_of(data)[["repeat"]]))
  again <- marks %in% c("true", "t", "1")
  if ("repeat" %in% named || !any(again) || !all(is.na(marks) | marks %in% c("true", "t", "1", "false", "f", "0"))) {
    return(data)
  }
  warning(sprintf(paste(
    "%s of repeated pairs (column 'repeat') excluded: repeated answers are not independent of the earlier ones. To",
    "include them in the clusters of the earlier pairs, write these (column 'repeat_of') into their pair_id and FALSE",
    "into repeat; to silence this warning, drop the rows"
  ), if (sum(again) == 1L) "One row" else paste(format(sum(again), big.mark = ","), "rows")), call. = FALSE)
  if (is.data.frame(data)) data[!again, , drop = FALSE] else data[!again, ]
}

#' The data without rows that have a reason in column `excluded`, with a warning
#' @noRd
without_excluded <- function(data, named) {
  reason <- tolower(trimws(as.character(rows_of(data)[["excluded"]])))
  marked <- !is.na(reason) & !reason %in% c("false", "f", "no", "n", "0", "0.0", "none", "")
  if ("excluded" %in% named || !any(marked)) {
    return(data)
  }
  warning(sprintf(
    "%s excluded by column 'excluded' (%s); drop the rows to silence this warning, or the column to use them",
    if (sum(marked) == 1L) "One row" else paste(format(sum(marked), big.mark = ","), "rows"),
    paste(unique(reason[marked]), collapse = ", ")
  ), call. = FALSE)
  if (is.data.frame(data)) data[!marked, , drop = FALSE] else data[!marked, ]
}

# --- from columns to factors -------------------------------------------------------------------------

#' The data with the named columns as unordered factors
#'
#' Levels keep their order; text gets its levels in the order of code points, logical columns FALSE before TRUE.
#' @noRd
with_factors <- function(data, columns) {
  rows <- rows_of(data)
  for (name in columns) rows[[name]] <- unordered_factor(rows[[name]], name)
  with_rows(data, rows)
}

unordered_factor <- function(column, name) {
  if (is.null(column)) stop(sprintf("the data have no column '%s'", name), call. = FALSE)
  if (is.factor(column)) return(factor(column, levels = levels(column), ordered = FALSE))
  if (is.character(column)) return(factor(column, levels = sort(unique(column), method = "radix")))
  if (is.logical(column)) return(factor(column, levels = c(FALSE, TRUE)))
  stop(sprintf("column '%s' is %s; make it a factor, with a level for each value", name, class(column)[1L]),
    call. = FALSE)
}

# --- from a fit to effects ---------------------------------------------------------------------------

feature_effects <- function(fit, data, formula, feature) {
  data <- rows_of(data)
  all_levels <- levels(data[[feature]])
  used <- fit$xlevels[[feature]]
  partner <- partners_of(formula)[feature]
  contrasts <- lapply(all_levels, function(level) {
    if (!level %in% used || level == used[1L]) return(NULL)
    if (is.na(partner)) {
      return(predictor(fit, stats::setNames(list(level), feature)) - predictor(fit, list()))
    }
    shared <- shared_partners(data, formula, feature, partner, level, used[1L])
    if (!length(shared)) return(NULL)
    Reduce(`+`, lapply(shared, function(other) {
      predictor(fit, stats::setNames(list(level, other), c(feature, partner))) -
        predictor(fit, stats::setNames(list(used[1L], other), c(feature, partner)))
    })) / length(shared)
  })
  found <- combine(fit, contrasts)
  found$estimate[all_levels == used[1L]] <- 0
  found
}

#' Levels of the partner that occur with both levels of the feature, in rows that enter the fit
#' @noRd
shared_partners <- function(data, formula, feature, partner, level, reference) {
  complete <- data[stats::complete.cases(data[c(outcome_of(formula), features_of(formula))]), ]
  occurs <- table(complete[[feature]], complete[[partner]])[c(level, reference), ] > 0
  colnames(occurs)[occurs[1L, ] & occurs[2L, ]]
}

#' Row of the design matrix with the given levels, all other features at their reference
#' @noRd
predictor <- function(fit, at) {
  values <- sapply(names(fit$xlevels), function(name) {
    level <- if (is.null(at[[name]])) fit$xlevels[[name]][1L] else at[[name]]
    factor(level, levels = fit$xlevels[[name]])
  }, simplify = FALSE)
  frame <- structure(values, class = "data.frame", row.names = 1L)
  stats::model.matrix(stats::delete.response(fit$terms), frame)[1L, ]
}

#' Estimates and standard errors of linear combinations; NULL gives NA
#' @noRd
combine <- function(fit, contrasts) {
  coefficients <- ifelse(fit$aliased, 0, fit$coef)
  covariance <- fit$vcov
  covariance[is.na(covariance)] <- 0
  number <- function(make) {
    vapply(contrasts, function(weights) if (is.null(weights) || anyNA(weights)) NA_real_ else make(weights), 0)
  }
  list(
    estimate = number(function(weights) sum(weights * coefficients)),
    std_error = number(function(weights) sqrt(drop(weights %*% covariance %*% weights)))
  )
}

#' Means of the outcome in the cells of a feature, or of a feature within subgroups (feature fastest)
#' @noRd
cell_means <- function(data, formula, feature, id, weights, by = NULL, strata = NULL) {
  rows <- rows_of(data)
  cells <- if (is.null(by)) rows[[feature]] else interaction(rows[c(feature, by)], lex.order = FALSE)
  slots <- seq_len(nlevels(cells))
  rows[["(cell)"]] <- factor(as.integer(cells), levels = slots)
  data <- with_rows(data, rows)
  fit <- fit_survey(data, paste(backquoted(outcome_of(formula)), "~ 0 + `(cell)`"), id, weights, strata = strata)
  place <- match(slots, as.integer(fit$xlevels[["(cell)"]]))
  vcov <- unname(fit$vcov)[place, place, drop = FALSE]
  list(estimate = unname(fit$coef)[place], vcov = vcov, n_clusters = fit$n_clusters)
}

# --- formulas and tables -----------------------------------------------------------------------------

outcome_of <- function(formula) all.vars(formula[[2L]])

features_of <- function(formula) all.vars(formula[[3L]])

#' The partner of each restricted feature, named by the feature
#' @noRd
partners_of <- function(formula) {
  terms <- stats::terms(formula)
  order <- attr(terms, "order")
  if (any(order > 2L)) stop("restrictions are two-way: `a * b`")
  pairs <- attr(terms, "factors")[-1L, order == 2L, drop = FALSE] > 0
  names <- features_of(formula)
  partners <- character()
  for (column in seq_len(ncol(pairs))) {
    pair <- names[pairs[, column]]
    partners[pair] <- rev(pair)
  }
  if (length(partners) != 2L * ncol(pairs)) stop("a feature can be part of one restriction only")
  partners
}

tidy_rows <- function(formula, statistic, feature, level, estimate, std_error, alpha, h0 = 0) {
  z <- (estimate - h0) / std_error
  half <- stats::qnorm(1 - alpha / 2) * std_error
  data.frame(
    outcome = outcome_of(formula), statistic = statistic, feature = feature, level = level,
    estimate = estimate, std_error = std_error, z = z, p = 2 * stats::pnorm(-abs(z)),
    lower = estimate - half, upper = estimate + half, stringsAsFactors = FALSE
  )
}

label_groups <- function(table, by, group, groups) {
  labels <- data.frame(by = rep(paste(group, "-", groups[1L]), nrow(table)), stringsAsFactors = FALSE)
  subgroup <- stats::setNames(data.frame(rep(group, nrow(table)), stringsAsFactors = FALSE), by)
  cbind(labels, table[1:4], subgroup, table[-(1:4)])
}

stack_rows <- function(tables) {
  table <- do.call(rbind, tables)
  table$feature <- factor(table$feature, levels = unique(table$feature))
  table$level <- factor(table$level, levels = unique(table$level))
  rownames(table) <- NULL
  table
}
