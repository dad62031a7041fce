# Make the reference tables in tests/fixtures/r from the data in tests/fixtures/data.
#
#   Rscript R/run.R            writes the tables
#   Rscript R/run.R --check    compares instead, and exits with status 1 where a byte differs
#
# Tables by the package survey are always made, those by cregg (cregg_*.csv) where it is installed. INDEX.csv
# lists every table with its call and the versions that made it.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
root <- normalizePath(file.path(dirname(script), ".."))
check <- "--check" %in% commandArgs(trailingOnly = TRUE)
has_cregg <- requireNamespace("cregg", quietly = TRUE)
for (file in c("bridge.R", "fit.R", "estimators.R", "cregg.R")) {
  source(file.path(root, "R", file), encoding = "UTF-8")
}
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
plain <- chosen ~ tone + topic + author + reply
restricted <- chosen ~ tone * topic + author + reply
without_author <- chosen ~ tone + topic + reply

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
  cregg_amce_by_reference = call_cregg("amce_by_reference", posts, plain, variable = "tone", id = "respondent")
)

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
  packages <- c("survey", if (startsWith(name, "cregg_")) c("lmtest", "cregg"))
  made <- versions(packages)
  data.frame(
    name = name, rows = nrow(table), call = gsub("\\s+", " ", paste(deparse(calls[[name]], 500L), collapse = " ")),
    R = made$R, packages = paste(packages, unlist(made$packages), collapse = "; "),
    blas = basename(extSoftVersion()[["BLAS"]])
  )
}

old_index <- function() {
  path <- file.path(target, "INDEX.csv")
  if (file.exists(path)) utils::read.csv(path, encoding = "UTF-8", colClasses = "character") else NULL
}

index <- list()
for (name in names(calls)) {
  if (startsWith(name, "cregg_") && !has_cregg) next
  table <- in_order(eval(calls[[name]]))
  keep_lines(csv_lines(table), paste0(name, ".csv"))
  index[[name]] <- index_row(name, table)
}
index <- do.call(rbind, index)
index$rows <- as.character(index$rows)
if (!has_cregg) {
  before <- old_index()
  index <- rbind(index, before[startsWith(before$name, "cregg_"), ])
}

if (!check) {
  keep_lines(csv_lines(index), "INDEX.csv")
  cat(sprintf("%d tables written\n", nrow(index)))
} else {
  before <- old_index()
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
  compared <- if (has_cregg) index$name else index$name[!startsWith(index$name, "cregg_")]
  cat(sprintf("%d tables are the same, byte for byte\n", length(compared)))
}
