# Logistic regressions with random intercepts of items, by lme4::glmer with adaptive Gauss-Hermite quadrature.
#
#   Rscript R/benchmark/glmer.R OUT
#
# writes OUT/mixed_answers.csv (data, judge, item, correct: three sets of simulated answers), and
# OUT/mixed_glmer.csv (data, nagq, term, estimate, std_error): the log-odds of each judge, the differences
# from the first, and the standard deviation of items, with nAGQ = 1 (Laplace) and 25.
suppressPackageStartupMessages(library(lme4))

simulated <- function(name, items, judges, lines, sd, kept) {
  grid <- expand.grid(line = seq_len(lines), item = seq_len(items), judge = letters[seq_len(judges)])
  intercept <- rnorm(items, sd = sd)
  log_odds <- seq(-0.8, 0.6, length.out = judges)[as.integer(grid$judge)] + intercept[grid$item]
  grid$correct <- rbinom(nrow(grid), 1, plogis(log_odds))
  grid <- grid[runif(nrow(grid)) < kept, ]
  data.frame(data = name, judge = grid$judge, item = grid$item, correct = grid$correct)
}

fitted <- function(answers, nagq) {
  control <- glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(rhoend = 1e-9, maxfun = 1e5))
  fit <- glmer(correct ~ 0 + judge + (1 | item), answers, binomial, nAGQ = nagq, control = control)
  beta <- fixef(fit)
  covariance <- as.matrix(vcov(fit))
  others <- seq_along(beta)[-1]
  between <- sapply(others, function(k) sqrt(covariance[k, k] + covariance[1, 1] - 2 * covariance[1, k]))
  judges <- sub("judge", "", names(beta))
  data.frame(
    data = answers$data[1],
    nagq = nagq,
    term = c(judges, paste0(judges[others], "-", judges[1]), "sd"),
    estimate = signif(c(beta, beta[others] - beta[1], attr(VarCorr(fit)$item, "stddev")), 8),
    std_error = signif(c(sqrt(diag(covariance)), between, NA), 8)
  )
}

out <- commandArgs(TRUE)[1]
set.seed(20240611)
sets <- list(
  simulated("items", items = 120, judges = 3, lines = 1, sd = 1.5, kept = 1),
  simulated("lines", items = 40, judges = 4, lines = 6, sd = 0.9, kept = 0.8),
  simulated("pair", items = 90, judges = 2, lines = 1, sd = 1.2, kept = 0.9)
)
write.csv(do.call(rbind, sets), file.path(out, "mixed_answers.csv"), row.names = FALSE)
fits <- do.call(rbind, lapply(sets, function(answers) rbind(fitted(answers, 1), fitted(answers, 25))))
write.csv(fits, file.path(out, "mixed_glmer.csv"), row.names = FALSE, na = "")
