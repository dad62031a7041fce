# cregg's verbs behind one function with plain arguments and plain results.

#' Call a verb of cregg
#'
#' The numbers are cregg's own, with its known errors. Only two things are smoothed: the warning that svyglm
#' is "not fitted by maximum likelihood" is dropped, and `feature_labels` may name some features only (cregg
#' itself gives the other labels to the wrong features).
#'
#' @param verb "amce", "mm", "amce_diffs", "mm_diffs", "cj", "cj_anova", "cj_freqs", "cj_props", "cj_table",
#'   "cj_tidy" or "amce_by_reference".
#' @param data Data frame; features are unordered factors.
#' @param formula Formula, or its text; NULL for "cj_tidy".
#' @param ... Arguments of the verb. `id`, `weights`, `by` and `variable` are names of columns, `family` is
#'   "gaussian" or "quasibinomial"; the others are as in cregg.
#' @return A data frame without cregg's class and attributes.
call_cregg <- function(verb, data, formula = NULL, ...) {
  options <- list(...)
  for (name in intersect(c("id", "weights", "by", "variable"), names(options))) {
    options[[name]] <- one_sided(options[[name]])
  }
  if (!is.null(options$family)) options$family <- model_family(options$family)
  if (!is.null(formula)) options$formula <- stats::as.formula(formula, env = globalenv())
  if (!is.null(options$feature_labels)) {
    features <- all.vars(stats::update(options$formula, 0 ~ .))
    options$feature_labels <- complete_labels(options$feature_labels, features)
  }
  function_of_cregg <- getExportedValue("cregg", verb)
  plain_frame(without_likelihood_warning(do.call(function_of_cregg, c(list(data = data), options))))
}

complete_labels <- function(labels, features) {
  unknown <- setdiff(names(labels), features)
  if (length(unknown)) stop(sprintf("feature_labels names '%s', which is not in the formula", unknown[1L]))
  sapply(features, function(feature) if (is.null(labels[[feature]])) feature else labels[[feature]], simplify = FALSE)
}

without_likelihood_warning <- function(expression) {
  withCallingHandlers(expression, warning = function(condition) {
    if (identical(conditionMessage(condition), "svyglm not fitted by maximum likelihood.")) {
      invokeRestart("muffleWarning")
    }
  })
}

plain_frame <- function(table) {
  columns <- lapply(unclass(table), function(column) {
    attr(column, "label") <- NULL
    column
  })
  structure(columns, class = "data.frame", row.names = seq_len(nrow(table)))
}
