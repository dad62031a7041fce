# Errors that fit other designs, as references: heteroskedastic and clustered ones by sandwich and
# clubSandwich, random stimuli by lme4.

DIGITS <- 8L  # of tables by lme4, whose last digits change from run to run

#' An ordinary linear model; `weights` names a column
fit_linear <- function(data, formula, weights = NULL) {
  formula <- stats::as.formula(formula, env = baseenv())
  if (is.null(weights)) return(stats::lm(formula, data))
  do.call(stats::lm, list(formula, data, weights = data[[weights]]))
}

used_rows <- function(model, data) data[rownames(stats::model.frame(model)), , drop = FALSE]

#' Coefficients with a covariance, one row each
#'
#' @return A data frame: `name`, `coef`, `std_error`, then the covariance, `vcov_1` to `vcov_k`.
covariance_table <- function(model, covariance, ...) {
  names <- names(stats::coef(model))
  covariance <- unname(as.matrix(covariance))
  table <- data.frame(
    name = names, coef = unname(stats::coef(model)), std_error = sqrt(pmax(diag(covariance), 0)), ...
  )
  cbind(table, stats::setNames(as.data.frame(unclass(covariance)), paste0("vcov_", seq_along(names))))
}

#' Heteroskedasticity-consistent covariance, by sandwich
#'
#' @param type "HC0" to "HC3".
errors_hc <- function(data, formula, type, weights = NULL) {
  model <- fit_linear(data, formula, weights)
  covariance_table(model, sandwich::vcovHC(model, type = type))
}

#' Covariance clustered on one or several columns, by sandwich
#'
#' @param id Names of the columns of clusters.
#' @param type "HC0", or "HC1" for the factor (n - 1) / (n - k).
#' @param cadjust Whether each component is multiplied by its G / (G - 1).
#' @param fix Whether negative eigenvalues are set to zero.
errors_cl <- function(data, formula, id, type = "HC0", cadjust = TRUE, fix = FALSE, weights = NULL) {
  model <- fit_linear(data, formula, weights)
  clusters <- used_rows(model, data)[id]
  covariance <- sandwich::vcovCL(model, cluster = clusters, type = type, cadjust = cadjust, fix = fix)
  covariance_table(model, covariance)
}

#' Covariance clustered on one column with degrees of freedom for each coefficient, by clubSandwich
#'
#' @param id Name of the column of clusters.
#' @param type "CR0", "CR1", "CR1S" or "CR2".
errors_cr <- function(data, formula, id, type) {
  model <- fit_linear(data, formula)
  covariance <- clubSandwich::vcovCR(model, cluster = used_rows(model, data)[[id]], type = type)
  tested <- clubSandwich::coef_test(model, vcov = covariance, test = "Satterthwaite")
  covariance_table(model, covariance, df = tested$df, p = tested$p_Satt)
}

#' Covariance by the jackknife over clusters (CV3): the model is fitted again without each of them
#'
#' @param id Name of the column of clusters.
errors_cv3 <- function(data, formula, id, weights = NULL) {
  model <- fit_linear(data, formula, weights)
  cluster <- as.character(used_rows(model, data)[[id]])
  changes <- vapply(unique(cluster), function(one) {
    kept <- used_rows(model, data)[cluster != one, , drop = FALSE]
    stats::coef(fit_linear(kept, formula, weights)) - stats::coef(model)
  }, stats::coef(model))
  n <- ncol(changes)
  covariance_table(model, (n - 1) / n * tcrossprod(changes))
}

#' Fit a linear mixed model with crossed random intercepts by restricted maximum likelihood, by lme4
#'
#' @param random Groups: names of columns; two names joined by a colon stand for their combinations.
#' @return A list: `coef`, `vcov` and `names` of the fixed effects; `groups`, `variance` and `levels` of the
#'   random intercepts in the order of `random`; `residual`, a variance; `criterion`, -2 log of the restricted
#'   likelihood; `n_used`.
fit_mixed <- function(data, formula, random) {
  parts <- strsplit(random, ":", fixed = TRUE)
  groups <- vapply(parts, function(part) paste(backquoted(part), collapse = ":"), "")
  fixed <- paste(deparse(stats::as.formula(formula, env = baseenv()), 500L), collapse = " ")
  whole <- stats::as.formula(paste(fixed, paste0("(1 | ", groups, ")", collapse = " + "), sep = " + "))
  for (column in unique(unlist(parts))) data[[column]] <- factor(data[[column]])
  parsed <- lme4::lFormula(whole, data, REML = TRUE)
  criterion <- do.call(lme4::mkLmerDevfun, parsed)
  optimum <- lme4::optimizeLmer(criterion, optimizer = "bobyqa", control = list(rhoend = 1e-10, maxfun = 1e5))
  optimum$par <- polished(criterion, optimum$par)
  optimum$fval <- criterion(optimum$par)
  model <- lme4::mkMerMod(environment(criterion), optimum, parsed$reTrms, parsed$fr)
  found <- as.data.frame(lme4::VarCorr(model))
  place <- match(groups, found$grp)
  list(
    coef = lme4::fixef(model), vcov = as.matrix(stats::vcov(model)), names = names(lme4::fixef(model)),
    groups = random, variance = found$vcov[place], levels = unname(lme4::ngrps(model)[groups]),
    residual = found$vcov[found$grp == "Residual"], criterion = unname(lme4::REMLcrit(model)),
    n_used = stats::nobs(model)
  )
}

#' Newton steps from a minimum that is known to some six digits, so that it depends on nothing but the data
#'
#' @param criterion Function of a vector that is not negative; elements near zero are taken as zero.
polished <- function(criterion, start) {
  inside <- which(start > 1e-4)
  start[start <= 1e-4] <- 0
  step <- 2e-3 * start[inside]
  gradient <- function(at) {
    vapply(seq_along(inside), function(i) {
      value <- function(times) criterion(replace(at, inside[i], at[inside[i]] + times * step[i]))
      (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * step[i])
    }, 0)
  }
  for (round in seq_len(3L * (length(inside) > 0L))) {
    slopes <- vapply(seq_along(inside), function(i) {
      moved <- function(times) replace(start, inside[i], start[inside[i]] + times * step[i])
      (gradient(moved(1)) - gradient(moved(-1))) / (2 * step[i])
    }, numeric(length(inside)))
    start[inside] <- start[inside] - solve(slopes, gradient(start))
  }
  start
}

#' Fixed effects of a mixed model, one row each
errors_mixed <- function(...) {
  fit <- fit_mixed(...)
  numbers <- signif(cbind(fit$coef, sqrt(diag(fit$vcov)), fit$vcov), DIGITS)
  labels <- c("coef", "std_error", paste0("vcov_", seq_along(fit$names)))
  cbind(data.frame(name = fit$names), stats::setNames(as.data.frame(unname(numbers)), labels))
}

#' Variance components of a mixed model, the residual last, with -2 log of the restricted likelihood
errors_components <- function(...) {
  fit <- fit_mixed(...)
  data.frame(
    name = c(fit$groups, "residual"), levels = c(fit$levels, fit$n_used),
    variance = signif(c(fit$variance, fit$residual), DIGITS), criterion = signif(fit$criterion, DIGITS)
  )
}
