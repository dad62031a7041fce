# Make the reference tables of agreement in tests/fixtures/raters (agreement_*.csv).
#
#   Rscript R/raters/agreement.R
#
# Needs psych and lme4. A second run gives the same bytes.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
folder <- file.path(dirname(normalizePath(script)), "..", "..", "tests", "fixtures", "raters")
suppressPackageStartupMessages({
  library(psych)
  library(lme4)
})

save_table <- function(table, name) {
  numbers <- vapply(table, is.double, logical(1L))
  table[numbers] <- lapply(table[numbers], function(column) {
    ifelse(is.na(column), "", format(column, digits = 12, trim = TRUE, scientific = FALSE))
  })
  file <- file.path(folder, paste0("agreement_", name, ".csv"))
  utils::write.csv(table, file, row.names = FALSE, quote = FALSE, eol = "\n")
}

# Ratings of 60 items by 3 to 5 of 12 raters (ragged), by raters of their own (nested), and of 40 items by 4
# raters who rated all (complete).
set.seed(20, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
rate <- function(item, rater, quality, severity) {
  on_scale <- round(2 + quality[item] - severity[rater] + stats::rnorm(length(item), sd = 0.8))
  data.frame(item = item, rater = rater, value = pmin(pmax(on_scale, 0), 4))
}
quality <- stats::rnorm(60)
severity <- stats::rnorm(12, sd = 0.6)
panels <- lapply(seq_len(60), function(item) sample(12, sample(3:5, 1)))
item <- rep(seq_len(60), lengths(panels))
ragged <- cbind(data = "ragged", rate(item, unlist(panels), quality, severity))
nested <- cbind(data = "nested", rate(item, rep(1, length(item)), quality, severity))
nested$rater <- seq_along(item)
every <- expand.grid(rater = 1:4, item = 1:40)
complete <- cbind(data = "complete", rate(every$item, every$rater, quality, severity))
ratings <- rbind(ragged, nested, complete)
save_table(transform(ratings, item = as.integer(item), rater = as.integer(rater), value = as.integer(value)),
           "ratings")

wide <- function(data) {
  matrix(data$value[order(data$rater, data$item)], nrow = length(unique(data$item)))
}

# Intraclass correlations: Shrout and Fleiss (1979, table 2), and the complete panel.
textbook <- cbind(c(9, 6, 8, 7, 10, 6), c(2, 1, 4, 1, 5, 2), c(5, 3, 6, 2, 6, 4), c(8, 2, 8, 6, 9, 7))
icc <- function(name, table) {
  found <- suppressWarnings(ICC(table, lmer = FALSE))$results
  type <- c("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")
  data.frame(data = name, type = type, estimate = found$ICC, lower = found[["lower bound"]],
             upper = found[["upper bound"]])
}
save_table(rbind(icc("textbook", textbook), icc("complete", wide(complete))), "icc")

# Kappas of two raters, with all categories of the scale.
pairs <- list(c(1, 2), c(1, 3), c(2, 4))
kappas <- do.call(rbind, lapply(pairs, function(pair) {
  both <- table(factor(wide(complete)[, pair[1]], 0:4), factor(wide(complete)[, pair[2]], 0:4))
  do.call(rbind, lapply(c("linear", "quadratic"), function(weights) {
    apart <- abs(outer(0:4, 0:4, "-"))^(if (weights == "linear") 1 else 2)
    found <- suppressWarnings(cohen.kappa(as.matrix(unclass(both)), w = 1 - apart / max(apart)))
    data.frame(first = pair[1], second = pair[2], weights = c("nominal", weights),
               estimate = c(found$kappa, found$weighted.kappa),
               std_error = sqrt(c(found$var.kappa, found$var.weighted)))
  }))
}))
save_table(unique(kappas), "kappa")

# Variances by restricted likelihood.
exact <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10))
variances <- function(name, data, formula) {
  found <- as.data.frame(VarCorr(lmer(formula, data = data, control = exact)))
  data.frame(data = name, component = ifelse(found$grp == "Residual", "residual", found$grp),
             estimate = found$vcov)
}
save_table(rbind(
  variances("ragged", ragged, value ~ 1 + (1 | item) + (1 | rater)),
  variances("nested", nested, value ~ 1 + (1 | item)),
  variances("complete", complete, value ~ 1 + (1 | item) + (1 | rater))
), "variances")

# Concordance, from Friedman's test, which corrects for ties.
friedman <- function(name, table) {
  found <- unname(stats::friedman.test(t(table))$statistic)
  data.frame(data = name, w = found / (ncol(table) * (nrow(table) - 1)))
}
save_table(rbind(friedman("textbook", textbook), friedman("complete", wide(complete))), "concordance")
