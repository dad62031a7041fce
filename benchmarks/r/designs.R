# Times sandwich, clubSandwich or lme4 inside R, on data that are already loaded.
#
#   Rscript designs.R FOLDER PACKAGE
#
# FOLDER holds data.csv and levels.csv (feature, level). Written into it: found.csv (name, std_error, seconds).

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1L]
package <- arguments[2L]
if (!requireNamespace(package, quietly = TRUE)) stop(package, " is not installed", call. = FALSE)

data <- utils::read.csv(file.path(folder, "data.csv"), colClasses = "character", encoding = "UTF-8")
levels <- utils::read.csv(file.path(folder, "levels.csv"), colClasses = "character", encoding = "UTF-8")
features <- unique(levels$feature)
for (feature in features) {
  data[[feature]] <- factor(data[[feature]], levels = levels$level[levels$feature == feature])
}
data$chosen <- as.numeric(data$chosen)
for (column in c("text", "user")) data[[column]] <- factor(data[[column]])
formula <- stats::reformulate(features, "chosen")

run <- switch(package,
  sandwich = function() {
    fit <- stats::lm(formula, data)
    sqrt(diag(sandwich::vcovCL(fit, cluster = data[c("text", "user")], type = "HC0", cadjust = TRUE, fix = TRUE)))
  },
  clubSandwich = function() {
    fit <- stats::lm(formula, data)
    vcov <- clubSandwich::vcovCR(fit, cluster = data$text, type = "CR2")
    tested <- clubSandwich::coef_test(fit, vcov = vcov, test = "Satterthwaite")
    stats::setNames(tested$SE, names(stats::coef(fit)))
  },
  lme4 = function() {
    random <- stats::update(formula, . ~ . + (1 | text) + (1 | user) + (1 | text:slur))
    fit <- lme4::lmer(random, data)
    stats::setNames(sqrt(diag(as.matrix(stats::vcov(fit)))), names(lme4::fixef(fit)))
  }
)
taken <- system.time(errors <- run())["elapsed"]
if (taken < 20) taken <- min(taken, system.time(run())["elapsed"])
table <- data.frame(name = names(errors), std_error = errors, seconds = unname(taken))
utils::write.csv(table, file.path(folder, "found.csv"), row.names = FALSE)
