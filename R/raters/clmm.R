# Cumulative link mixed models with crossed random effects of items and judges, by ordinal::clmm.
#
#   Rscript R/raters/clmm.R OUT [RATINGS.csv]
#
# writes OUT/clmm_wine.csv (rating ~ 1 + (1 | bottle) + (1 | judge) on ordinal's wine data, logit and
# probit) and, from RATINGS.csv with columns judge, item, value, OUT/clmm_cebab.csv. Columns: link, term,
# estimate, std_error (missing for standard deviations).
suppressPackageStartupMessages(library(ordinal))

terms_of <- function(fit, link) {
  spread <- sapply(VarCorr(fit), function(v) attr(v, "stddev")[[1]])
  thresholds <- coef(summary(fit))
  data.frame(
    link = link,
    term = c(rownames(thresholds), paste0("sd_", names(spread))),
    estimate = signif(c(thresholds[, "Estimate"], spread), 7),
    std_error = signif(c(thresholds[, "Std. Error"], rep(NA, length(spread))), 7)
  )
}

fitted_by <- function(link, data) {
  terms_of(clmm(value ~ 1 + (1 | item) + (1 | judge), data = data, link = link), link)
}

written <- function(data, links, path) {
  data$value <- factor(data$value, ordered = TRUE)
  write.csv(do.call(rbind, lapply(links, fitted_by, data = data)), path, row.names = FALSE, na = "")
}

arguments <- commandArgs(TRUE)
out <- arguments[1]
wine <- data.frame(judge = ordinal::wine$judge, item = ordinal::wine$bottle, value = ordinal::wine$rating)
written(wine, c("logit", "probit"), file.path(out, "clmm_wine.csv"))
if (length(arguments) > 1) {
  ratings <- read.csv(arguments[2], colClasses = c(judge = "factor", item = "factor"))
  written(ratings, "logit", file.path(out, "clmm_cebab.csv"))
}
