# Linear models with design-based standard errors, by the package survey.

#' Fit a model with survey's linearised (clustered) covariance
#'
#' The design is made from all rows of `data`, so that the number of clusters counts those whose rows are
#' dropped for missing values afterwards, as cregg does it.
#'
#' @param data Data frame, or a design of survey; features are unordered factors.
#' @param formula Formula, or its text.
#' @param id Name of the column of clusters; NULL makes every row its own cluster. A design has its own clusters,
#'   weights and strata.
#' @param weights Name of the column of weights; NULL weighs all rows alike.
#' @param strata Name of the column of strata; clusters lie within them.
#' @param family "gaussian" or "quasibinomial" (coefficients on the scale of the link).
#' @return A list: `coef`, named, NA where a coefficient cannot be estimated (`aliased`); `vcov`, with NA rows
#'   and columns for those; `names`; `aliased`; `assign`, the term of each coefficient, 0 for the intercept;
#'   `xlevels`, the levels in use; `n_rows`, `n_used`, `n_clusters`; `terms`.
#' @noRd
fit_survey <- function(data, formula, id = NULL, weights = NULL, family = "gaussian", strata = NULL) {
  formula <- stats::as.formula(formula, env = baseenv())
  design <- survey_design(data, id, weights, strata)
  model <- survey::svyglm(formula, design = design, family = model_family(family))
  coefficients <- model$coefficients  # coef() leaves out what is aliased
  aliased <- is.na(coefficients)
  covariance <- matrix(NA_real_, length(aliased), length(aliased), dimnames = list(names(aliased), names(aliased)))
  covariance[!aliased, !aliased] <- stats::vcov(model)
  list(
    coef = coefficients, vcov = covariance, names = names(coefficients), aliased = unname(aliased),
    assign = attr(stats::model.matrix(model), "assign"), xlevels = model$xlevels,
    n_rows = nrow(rows_of(data)), n_used = length(stats::fitted(model)),
    n_clusters = length(unique(design$cluster[[1L]])), terms = stats::terms(model)
  )
}

survey_design <- function(data, id = NULL, weights = NULL, strata = NULL) {
  if (inherits(data, "survey.design")) return(data)
  ids <- if (is.null(id)) ~1 else one_sided(id)
  survey::svydesign(
    ids = ids, strata = if (!is.null(strata)) one_sided(strata),
    weights = if (is.null(weights)) ~1 else one_sided(weights), data = data
  )
}

rows_of <- function(data) if (inherits(data, "survey.design")) data$variables else data

with_rows <- function(data, rows) {
  if (!inherits(data, "survey.design")) return(rows)
  data$variables <- rows
  data
}

#' A one-sided formula of column names, whatever characters they hold
#' @noRd
one_sided <- function(names) {
  stats::as.formula(paste("~", paste(backquoted(names), collapse = " + ")), env = baseenv())
}

backquoted <- function(names) {
  vapply(names, function(name) deparse(as.name(name), backtick = TRUE), "", USE.NAMES = FALSE)
}

model_family <- function(family) {
  if (is.function(family)) family <- family()
  if (inherits(family, "family")) return(family)
  switch(family,
    gaussian = stats::gaussian(),
    quasibinomial = stats::quasibinomial(),
    stop(sprintf("family must be \"gaussian\" or \"quasibinomial\", not \"%s\"", family))
  )
}

#' Residual degrees of freedom and deviance of an ordinary linear model, unweighted
#' @noRd
fit_ordinary <- function(data, formula) {
  model <- stats::lm(stats::as.formula(formula, env = baseenv()), data = data)
  list(df = stats::df.residual(model), deviance = stats::deviance(model))
}
