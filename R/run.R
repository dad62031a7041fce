# Make the reference tables in tests/fixtures/r from the data in tests/fixtures/data.
#
#   Rscript R/run.R            writes the tables
#   Rscript R/run.R --check    compares instead, and exits with status 1 where a byte differs
#
# Tables by the package survey are always made, those by cregg (cregg_*.csv), sandwich (errors_hc*.csv,
# errors_cl*.csv), clubSandwich (errors_cr*.csv) and lme4 (errors_mixed*.csv) where these are installed.
# INDEX.csv lists every table with its call and the versions that made it.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
root <- normalizePath(file.path(dirname(script), ".."))
check <- "--check" %in% commandArgs(trailingOnly = TRUE)
sources <- c("R/fit.R", "R/estimators.R", file.path("inst/engines", c("bridge.R", "cregg.R", "errors.R")))
for (file in sources) source(file.path(root, "R", file), encoding = "UTF-8")
stopifnot("R needs a UTF-8 locale" = use_utf8())
invisible(Sys.setlocale("LC_COLLATE", "C"))

read_fixture <- function(name) {
  folder <- file.path(root, "tests", "fixtures", "data")
  read <- function(file, ...) utils::read.csv(file.path(folder, file), encoding = "UTF-8", ...)
  data <- read(paste0(name, ".csv"), na.strings = "")
  levels <- read(paste0(name, ".levels.csv"), colClasses = "character")
  for (column in unique(levels$column)) {
    data[[column]] <- factor(data[[column]], levels = levels$level[levels$column == column])
  }
  data
}

posts <- read_fixture("posts")
stimuli <- read_fixture("stimuli")
stratified <- transform(posts, region = findInterval(respondent, c(3, 30, 110, 111.5, 114)))
from_rude <- transform(stimuli, tone = stats::relevel(tone, "rude"))
few <- stimuli[stimuli$respondent <= 6, ]
some <- stimuli[stimuli$respondent <= 20, ]
plain <- chosen ~ tone + topic + author + reply
restricted <- chosen ~ tone * topic + author + reply
without_author <- chosen ~ tone + topic + reply
shown <- chosen ~ tone + author + reply
rated <- rating ~ tone + author + reply

fit_table <- function(...) {
  fit <- fit_survey(...)
  table <- data.frame(name = fit$names, assign = fit$assign, aliased = fit$aliased, coef = unname(fit$coef))
  cbind(table, stats::setNames(as.data.frame(unname(fit$vcov)), paste0("vcov_", seq_along(fit$names))))
}

calls <- alist(
  fit_plain = fit_table(posts, plain, id = "respondent"),
  fit_restricted = fit_table(posts, restricted, id = "pair_id"),
  fit_weights = fit_table(posts, plain, id = "respondent", weights = "weight"),
  fit_quasibinomial = fit_table(posts, plain, id = "respondent", family = "quasibinomial"),
  amce = survey_amce(posts, plain),
  amce_id = survey_amce(posts, plain, id = "respondent"),
  amce_pair_alpha10 = survey_amce(posts, plain, id = "pair_id", alpha = 0.1),
  amce_weights = survey_amce(posts, plain, id = "respondent", weights = "weight"),
  amce_quasibinomial = survey_amce(posts, plain, id = "respondent", weights = "weight", family = "quasibinomial"),
  amce_restricted = survey_amce(posts, restricted, id = "respondent"),
  amce_strata = survey_amce(stratified, plain, id = "respondent", strata = "region"),
  amce_strata_rows = survey_amce(stratified, plain, strata = "region"),
  amce_strata_restricted = survey_amce(stratified, restricted, id = "pair_id", weights = "weight", strata = "region"),
  amce_strata_quasibinomial = survey_amce(stratified, plain, id = "respondent", weights = "weight",
    family = "quasibinomial", strata = "region"),
  mm_strata = survey_mm(stratified, plain, id = "respondent", weights = "weight", h0 = 0.5, strata = "region"),
  mm_id = survey_mm(posts, plain, id = "respondent"),
  mm_weights_h0 = survey_mm(posts, plain, id = "pair_id", weights = "weight", h0 = 0.5),
  amce_diffs_age = survey_amce_diffs(posts, plain, "age", id = "respondent"),
  amce_diffs_author = survey_amce_diffs(posts, without_author, "author", id = "respondent", weights = "weight"),
  mm_diffs_age = survey_mm_diffs(posts, plain, "age", id = "respondent"),
  mm_diffs_author = survey_mm_diffs(posts, without_author, "author", id = "respondent"),
  cregg_amce = call_cregg("amce", posts, plain),
  cregg_amce_id = call_cregg("amce", posts, plain, id = "respondent"),
  cregg_amce_labels = call_cregg("amce", posts, plain, id = "pair_id", alpha = 0.1, level_order = "descending",
    feature_order = c("reply", "tone", "author", "topic"), feature_labels = list(author = "Auteur·e")),
  cregg_amce_weights = call_cregg("amce", posts, plain, id = "respondent", weights = "weight"),
  cregg_amce_quasibinomial = call_cregg("amce", posts, plain, id = "respondent", weights = "weight",
    family = "quasibinomial"),
  cregg_amce_restricted = call_cregg("amce", posts, restricted, id = "respondent"),
  cregg_mm_id = call_cregg("mm", posts, plain, id = "respondent"),
  cregg_mm_weights_h0 = call_cregg("mm", posts, plain, id = "pair_id", weights = "weight", h0 = 0.5),
  cregg_amce_diffs_age = call_cregg("amce_diffs", posts, plain, by = "age", id = "respondent"),
  cregg_amce_diffs_author = call_cregg("amce_diffs", posts, without_author, by = "author", id = "respondent",
    weights = "weight"),
  cregg_mm_diffs_age = call_cregg("mm_diffs", posts, plain, by = "age", id = "respondent"),
  cregg_mm_diffs_author = call_cregg("mm_diffs", posts, without_author, by = "author", id = "respondent"),
  cregg_cj_amce_position = call_cregg("cj", posts, plain, estimate = "amce", by = "position", id = "respondent"),
  cregg_cj_mm_age_position = call_cregg("cj", posts, plain, estimate = "mm", by = c("age", "position")),
  cregg_cj_anova_position = call_cregg("cj_anova", posts, plain, by = "position"),
  cregg_cj_freqs = call_cregg("cj_freqs", posts, plain, weights = "weight"),
  cregg_cj_props = call_cregg("cj_props", posts, ~ tone + topic, margin = 1),
  cregg_cj_table = call_cregg("cj_table", posts, plain, include_reference = TRUE),
  cregg_amce_by_reference = call_cregg("amce_by_reference", posts, plain, variable = "tone", id = "respondent"),
  errors_hc0 = errors_hc(stimuli, shown, "HC0"),
  errors_hc1 = errors_hc(stimuli, shown, "HC1"),
  errors_hc2 = errors_hc(stimuli, shown, "HC2"),
  errors_hc3 = errors_hc(stimuli, shown, "HC3"),
  errors_hc0_weights = errors_hc(stimuli, shown, "HC0", weights = "weight"),
  errors_hc1_weights = errors_hc(stimuli, shown, "HC1", weights = "weight"),
  errors_hc2_weights = errors_hc(stimuli, shown, "HC2", weights = "weight"),
  errors_hc3_weights = errors_hc(stimuli, shown, "HC3", weights = "weight"),
  errors_cl_cr0_text = errors_cl(stimuli, shown, "text", cadjust = FALSE),
  errors_cl_cr1_text = errors_cl(stimuli, shown, "text"),
  errors_cl_cr1s_text = errors_cl(stimuli, shown, "text", type = "HC1"),
  errors_cl_cr1_respondent_weights = errors_cl(stimuli, shown, "respondent", weights = "weight"),
  errors_cl_cr0_two = errors_cl(stimuli, shown, c("text", "user"), cadjust = FALSE),
  errors_cl_cr1_two = errors_cl(stimuli, shown, c("text", "user")),
  errors_cl_cr1s_two = errors_cl(stimuli, shown, c("text", "user"), type = "HC1"),
  errors_cl_cr0_three = errors_cl(stimuli, shown, c("respondent", "text", "user"), cadjust = FALSE),
  errors_cl_cr1_three = errors_cl(stimuli, shown, c("respondent", "text", "user")),
  errors_cl_cr1s_three = errors_cl(stimuli, shown, c("respondent", "text", "user"), type = "HC1"),
  errors_cl_cr1_three_weights = errors_cl(stimuli, shown, c("respondent", "text", "user"), weights = "weight"),
  errors_cl_cr1_few = errors_cl(few, shown, c("respondent", "text", "user")),
  errors_cl_cr1_few_fixed = errors_cl(few, shown, c("respondent", "text", "user"), fix = TRUE),
  errors_cl_cr1_some = errors_cl(some, shown, c("respondent", "text", "user")),
  errors_cl_cr1_some_fixed = errors_cl(some, shown, c("respondent", "text", "user"), fix = TRUE),
  errors_cr0_text = errors_cr(stimuli, shown, "text", "CR0"),
  errors_cr1_text = errors_cr(stimuli, shown, "text", "CR1"),
  errors_cr1s_text = errors_cr(stimuli, shown, "text", "CR1S"),
  errors_cr2_text = errors_cr(stimuli, shown, "text", "CR2"),
  errors_cr2_text_from_rude = errors_cr(from_rude, shown, "text", "CR2"),
  errors_cr2_respondent = errors_cr(stimuli, shown, "respondent", "CR2"),
  errors_cr2_site = errors_cr(stimuli, shown, "site", "CR2"),
  errors_cv3_text = errors_cv3(stimuli, shown, "text"),
  errors_cv3_respondent = errors_cv3(stimuli, shown, "respondent"),
  errors_cv3_respondent_weights = errors_cv3(stimuli, shown, "respondent", weights = "weight"),
  errors_mixed = errors_mixed(stimuli, rated, c("text", "user")),
  errors_mixed_components = errors_components(stimuli, rated, c("text", "user")),
  errors_mixed_three = errors_mixed(stimuli, rated, c("text", "user", "respondent", "text:author")),
  errors_mixed_three_components = errors_components(stimuli, rated, c("text", "user", "respondent", "text:author")),
  errors_mixed_boundary = errors_mixed(stimuli, rated, c("text", "user", "text:reply")),
  errors_mixed_boundary_components = errors_components(stimuli, rated, c("text", "user", "text:reply"))
)

packages_of <- function(name) {
  if (startsWith(name, "cregg_")) return(c("survey", "lmtest", "cregg"))
  if (startsWith(name, "errors_mixed")) return("lme4")
  if (startsWith(name, "errors_cr")) return("clubSandwich")
  if (startsWith(name, "errors_cv3")) return("survey")
  if (startsWith(name, "errors_")) return("sandwich")
  "survey"
}

is_installed <- function(packages) all(nzchar(vapply(packages, function(package) system.file(package = package), "")))
can_be_made <- vapply(names(calls), function(name) is_installed(packages_of(name)), NA)
for (package in unique(unlist(lapply(names(calls)[!can_be_made], packages_of)))) {
  if (!is_installed(package)) {
    cat(sprintf("note: %s is not installed, so its tables are left as they are\n", package))
  }
}

# --- bytes -------------------------------------------------------------------------------------------

field <- function(column) {
  if (is.numeric(column)) return(ifelse(is.na(column), "", sprintf("%.17g", column)))
  text <- enc2utf8(as.character(column))
  ifelse(is.na(text), "", paste0("\"", gsub("\"", "\"\"", text), "\""))
}

csv_lines <- function(table) {
  head <- paste(field(names(table)), collapse = ",")
  c(head, do.call(paste, c(lapply(unname(as.list(table)), field), sep = ",")))
}

#' Rows of a tidy table in one order, whatever the order in which a package returns them
in_order <- function(table) {
  keys <- Filter(Negate(is.double), table)
  if ("name" %in% names(table) || !length(keys)) return(table)
  keys <- lapply(keys, function(column) if (is.factor(column)) as.integer(column) else column)
  table[do.call(order, unname(keys)), , drop = FALSE]
}

target <- file.path(root, "tests", "fixtures", "r")
different <- character()

keep_lines <- function(lines, file) {
  path <- file.path(target, file)
  bytes <- charToRaw(paste0(paste(lines, collapse = "\n"), "\n"))
  if (!check) {
    writeBin(bytes, path)
  } else if (!file.exists(path) || !identical(readBin(path, "raw", file.size(path)), bytes)) {
    different <<- c(different, file)
  }
}

index_row <- function(name, table) {
  packages <- packages_of(name)
  made <- versions(packages)
  data.frame(
    name = name, rows = as.character(nrow(table)),
    call = gsub("\\s+", " ", paste(deparse(calls[[name]], 500L), collapse = " ")),
    R = made$R, packages = paste(packages, unlist(made$packages), collapse = "; "),
    blas = basename(extSoftVersion()[["BLAS"]])
  )
}

old_index <- function() {
  path <- file.path(target, "INDEX.csv")
  if (file.exists(path)) utils::read.csv(path, encoding = "UTF-8", colClasses = "character") else NULL
}

before <- old_index()
index <- list()
for (name in names(calls)) {
  if (can_be_made[[name]]) {
    table <- in_order(eval(calls[[name]]))
    keep_lines(csv_lines(table), paste0(name, ".csv"))
    index[[name]] <- index_row(name, table)
  } else {
    index[[name]] <- before[before$name == name, ]
  }
}
index <- do.call(rbind, index)

if (!check) {
  keep_lines(csv_lines(index), "INDEX.csv")
  cat(sprintf("%d tables written\n", sum(can_be_made)))
} else {
  same <- c("name", "rows", "call")
  listed <- identical(unname(as.list(index[same])), unname(as.list(before[same])))
  if (!listed) different <- c(different, "INDEX.csv")
  made_with <- function(table) do.call(paste, table[c("R", "packages", "blas")])
  if (!identical(made_with(index), made_with(before))) {
    cat("note: the tables were made with other versions than these:", unique(made_with(before)), sep = "\n  ")
  }
  if (length(different)) {
    cat("differs:", different, sep = "\n  ")
    quit(status = 1L)
  }
  cat(sprintf("%d tables are the same, byte for byte\n", sum(can_be_made)))
}
