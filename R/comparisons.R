# Make the reference tables of joint tests, interactions and adjusted p values in tests/fixtures/comparisons
# from the data in tests/fixtures/data.
#
#   Rscript R/comparisons.R            writes the tables
#   Rscript R/comparisons.R --check    compares instead, and exits with status 1 where a byte differs
#
# It needs the packages survey and clubSandwich.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
root <- normalizePath(file.path(dirname(script), ".."))
check <- "--check" %in% commandArgs(trailingOnly = TRUE)
invisible(Sys.setlocale("LC_COLLATE", "C"))
suppressPackageStartupMessages({
  library(survey)
  library(clubSandwich)
})

folder <- file.path(root, "tests", "fixtures", "data")
posts <- utils::read.csv(file.path(folder, "posts.csv"), encoding = "UTF-8", na.strings = "")
levels <- utils::read.csv(file.path(folder, "posts.levels.csv"), encoding = "UTF-8", colClasses = "character")
for (column in unique(levels$column)) {
  posts[[column]] <- factor(posts[[column]], levels = levels$level[levels$column == column])
}
features <- c("tone", "topic", "author", "reply")
plain <- chosen ~ tone + topic + author + reply
crossed <- chosen ~ tone + topic + author * reply
complete <- posts[stats::complete.cases(posts[c("chosen", features)]), ]

wald_survey <- function() {
  fit <- svyglm(plain, svydesign(ids = ~respondent, weights = ~1, data = posts))
  rows <- lapply(features, function(name) {
    test <- regTermTest(fit, name, df = Inf, method = "Wald")
    data.frame(feature = name, chi2 = as.numeric(test$chisq), df = as.integer(test$df), p = as.numeric(test$p))
  })
  do.call(rbind, rows)
}

wald_cr1 <- function() {
  fit <- stats::lm(plain, complete)
  vcov <- vcovCR(fit, cluster = complete$respondent, type = "CR1")
  rows <- lapply(features, function(name) {
    places <- which(attr(stats::model.matrix(fit), "assign") == match(name, features))
    constraint <- constrain_zero(places, coefs = stats::coef(fit))
    chi2 <- Wald_test(fit, constraint, vcov, test = "chi-sq")
    f <- Wald_test(fit, constraint, vcov, test = "Naive-F")
    data.frame(feature = name, df = f$df_num, p_chi2 = chi2$p_val, f = f$Fstat, df2 = f$df_denom, p = f$p_val)
  })
  do.call(rbind, rows)
}

interaction_cr1 <- function() {
  fit <- stats::lm(crossed, complete)
  test <- coef_test(fit, vcovCR(fit, cluster = complete$respondent, type = "CR1"), test = "naive-t")
  test <- as.data.frame(test)[grepl(":", names(stats::coef(fit)), fixed = TRUE), ]
  data.frame(term = rownames(test), estimate = test$beta, std_error = test$SE, p = test$p_t)
}

adjusted <- function() {
  fit <- svyglm(plain, svydesign(ids = ~respondent, weights = ~1, data = posts))
  z <- stats::coef(fit)[-1L] / sqrt(diag(stats::vcov(fit)))[-1L]
  p <- 2 * stats::pnorm(-abs(z))
  data.frame(
    term = names(p), p = unname(p), holm = unname(stats::p.adjust(p, "holm")), bh = unname(stats::p.adjust(p, "BH"))
  )
}

target <- file.path(root, "tests", "fixtures", "comparisons")
dir.create(target, showWarnings = FALSE)
differing <- character()
for (name in c("wald_survey", "wald_cr1", "interaction_cr1", "adjusted")) {
  table <- get(name)()
  numbers <- vapply(table, is.double, logical(1L))
  table[numbers] <- lapply(table[numbers], function(column) sprintf("%.10e", column))
  text <- utils::capture.output(utils::write.csv(table, quote = FALSE, row.names = FALSE))
  path <- file.path(target, paste0(name, ".csv"))
  if (!check) {
    writeLines(text, path, useBytes = TRUE)
  } else if (!file.exists(path) || !identical(readLines(path, encoding = "UTF-8"), enc2utf8(text))) {
    differing <- c(differing, name)
  }
}
if (length(differing)) {
  message("Other bytes than before: ", paste(differing, collapse = ", "))
  quit(status = 1L)
}
