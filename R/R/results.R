# Tables and results folders of the program conjury.

#' Read a table of choices, judgments or numbers
#'
#' CSV files (also gzipped) are read as they are. Level order comes from `NAME.levels.json` beside `NAME.csv`, as
#' conjury has it: `{"column": ["reference", "second level"]}`. Parquet files contain their level order; they
#' are read by the package nanoparquet or arrow if one is installed, else by the command `conjury convert`.
#'
#' @param path A file ending in .csv, .csv.gz or .parquet.
#' @param reader Who reads Parquet: "nanoparquet", "arrow", "conjury", or the first of them that is there.
#' @return A data frame; columns with levels are factors. A column of numbers becomes numeric, unless one has
#'   leading zeros or is a whole number with more digits than R can represent; `NA` is missing there. A column of
#'   `True` and `False` becomes logical. Any other column stays text, in which only an empty cell is missing.
#' @examples
#' choices <- read_data(system.file("extdata", "hotel.csv", package = "conjury"))
#' levels(choices$price)
#' @export
read_data <- function(path, reader = c("any", "nanoparquet", "arrow", "conjury")) {
  reader <- match.arg(reader)
  if (!file.exists(path)) stop(sprintf("%s does not exist", path), call. = FALSE)
  if (grepl("\\.csv(\\.gz)?$", path)) return(read_csv(path))
  if (!grepl("\\.parquet$", path)) {
    stop(sprintf("%s: tables are files that end in .csv, .csv.gz or .parquet", path), call. = FALSE)
  }
  if (reader == "any") reader <- installed_reader()
  switch(reader,
    nanoparquet = read_by_nanoparquet(path), arrow = read_by_arrow(path), conjury = read_by_conjury(path)
  )
}

installed_reader <- function() {
  for (package in c("nanoparquet", "arrow")) if (requireNamespace(package, quietly = TRUE)) return(package)
  if (nzchar(conjury_path())) return("conjury")
  stop(
    "a Parquet file needs the package nanoparquet or arrow, or the program conjury: ",
    'install.packages("nanoparquet")', call. = FALSE
  )
}

read_csv <- function(path) {
  text <- utils::read.csv(
    path, colClasses = "character", na.strings = "", encoding = "UTF-8", check.names = FALSE, strip.white = FALSE
  )
  noted <- sub("\\.csv(\\.gz)?$", ".levels.json", path)
  levels <- if (file.exists(noted)) jsonlite::fromJSON(noted, simplifyVector = FALSE) else list()
  for (name in setdiff(names(text), names(levels))) text[[name]] <- plain_values(text[[name]])
  with_levels(text, lapply(levels, function(found) list(levels = found)))
}

# R itself reads `1e` and `0x1F` as numbers, too
NUMBER <- "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(Inf|inf)$|^(NaN|nan)$"

#' Text as numbers or logical values, where that loses nothing
#'
#' Whole numbers that a double cannot contain stay text; decimals are read to the nearest double, since those of
#' results have 17 digits.
#' @noRd
plain_values <- function(text) {
  if (all(is.na(text))) return(NA[seq_along(text)])
  if (all(text %in% c("True", "False", NA))) return(text == "True")
  present <- trimws(text[!text %in% c(NA, "NA")])
  if (!length(present) || any(grepl("^[+-]?0[0-9]", present)) || !all(grepl(NUMBER, present))) return(text)
  whole <- grep("^[+-]?[0-9]+$", present, value = TRUE)
  if (length(whole) && is.character(utils::type.convert(whole, as.is = TRUE, numerals = "no.loss"))) return(text)
  utils::type.convert(text, as.is = TRUE, na.strings = c("", "NA"))
}

with_levels <- function(table, noted) {
  for (name in intersect(names(noted), names(table))) {
    found <- noted[[name]]
    table[[name]] <- factor(
      as.character(table[[name]]), levels = as.character(unlist(found$levels)), ordered = isTRUE(found$ordered)
    )
  }
  table
}

read_by_nanoparquet <- function(path) {
  table <- as.data.frame(nanoparquet::read_parquet(path))
  noted <- nanoparquet::read_parquet_metadata(path)$file_meta_data$key_value_metadata[[1L]]
  with_levels(table, noted_levels(noted$value[noted$key == "conjury"]))
}

read_by_arrow <- function(path) {
  table <- arrow::read_parquet(path, as_data_frame = FALSE)
  with_levels(as.data.frame(table), noted_levels(table$metadata$conjury))
}

noted_levels <- function(text) {
  if (length(text)) jsonlite::fromJSON(text[1L], simplifyVector = FALSE) else list()
}

read_by_conjury <- function(path) {
  folder <- tempfile("conjury")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  converted <- file.path(folder, "table.csv")
  conjury("convert", path, out = converted)
  read_csv(converted)
}

#' Read results
#'
#' A results folder is what `conjury fit`, `conjury agreement` and other commands write: `manifest.json` and
#' `tables/`, with each table as CSV and Parquet. CSV is read where it is there. Commands with `--json`, as
#' `conjury judge`, give one JSON file instead.
#'
#' @param path Results folder, or file of JSON.
#' @return A list of class `conjury_results` with a data frame of class `conjury_result` for each result, by name.
#'   A result has the columns that conjury writes; `attr(x, "about")` has its kind, title, settings, notes and
#'   groups as in the manifest, and `attr(x, "extra")` further tables. `attr(results, "manifest")` is the manifest.
#'   Results and each of them take [tidy()][tidy.conjury_result], [glance()][tidy.conjury_result] and
#'   [autoplot()][autoplot.conjury_result].
#' @examples
#' results <- read_results(system.file("extdata", "hotel", package = "conjury"))
#' results
#' tidy(results$amce)
#' glance(results)
#'
#' judged <- read_results(system.file("extdata", "comments.json", package = "conjury"))
#' judged
#' tidy(judged$estimates)
#' @export
read_results <- function(path) {
  if (file.exists(path) && !dir.exists(path)) return(results_of_json(path))
  folder <- path
  path <- file.path(folder, "manifest.json")
  if (!file.exists(path)) {
    stop(sprintf("%s contains no results: there is no manifest.json", folder), call. = FALSE)
  }
  manifest <- jsonlite::fromJSON(path, simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
  if (!identical(as.integer(manifest$format), 2L)) {
    stop(sprintf("%s was written by another version of conjury; fit again", folder), call. = FALSE)
  }
  entries <- manifest$results
  names(entries) <- vapply(entries, `[[`, "", "name")
  results <- lapply(entries, read_result, folder = folder, labels = manifest$labels)
  structure(results, class = "conjury_results", manifest = manifest, folder = folder)
}

read_result <- function(entry, folder, labels) {
  table <- in_level_order(stored_table(folder, entry$name), labels)
  further <- unlist(entry$extra)
  extra <- sapply(further, function(name) stored_table(folder, paste0(entry$name, "__", name)), simplify = FALSE)
  structure(table, class = c("conjury_result", "data.frame"), about = entry, extra = extra, labels = labels)
}

stored_table <- function(folder, name) {
  files <- file.path(folder, "tables", paste0(name, c(".csv", ".parquet")))
  found <- files[file.exists(files)]
  if (!length(found)) stop(sprintf("%s has no table '%s'", folder, name), call. = FALSE)
  read_data(found[1L])
}

#' Features and levels as factors, in the order of the study, else in that of the rows
#' @noRd
in_level_order <- function(table, labels) {
  for (name in intersect(c("feature", "level"), names(table))) {
    known <- if (name == "feature") names(labels$features) else unlist(lapply(labels$levels, names))
    table[[name]] <- factor(table[[name]], levels = unique(c(intersect(known, table[[name]]), table[[name]])))
    table[[name]] <- droplevels(table[[name]], exclude = NA)
  }
  table
}

#' Results of one file or text of JSON: each list of records is a table
#' @noRd
results_of_json <- function(json, source = json) {
  found <- tryCatch(jsonlite::fromJSON(json, simplifyMatrix = FALSE), error = function(condition) NULL)
  if (!is.list(found) || is.null(found$conjury) || !is.data.frame(found$estimates)) {
    stop(sprintf("%s is not JSON that conjury printed", source), call. = FALSE)
  }
  tables <- Filter(is.data.frame, found)
  results <- Map(function(table, name) {
    about <- list(name = name, kind = found$kind, title = found$kind, settings = found$settings, notes = found$notes)
    structure(table, class = c("conjury_result", "data.frame"), about = about)
  }, tables, names(tables))
  structure(
    results, class = "conjury_results", manifest = found[setdiff(names(found), names(tables))], folder = source
  )
}

#' @method print conjury_results
#' @export
print.conjury_results <- function(x, ...) {
  manifest <- attr(x, "manifest")
  cat(sprintf("%s (%s)\n", manifest$title %||% manifest$study %||% manifest$kind %||% "Results", attr(x, "folder")))
  for (sentence in manifest$verdict) cat(strwrap(sentence, initial = "  ", prefix = "\n    "), "\n", sep = "")
  for (name in names(x)) {
    cat(sprintf("  %s: %s, %d rows\n", name, attr(x[[name]], "about")$title, nrow(x[[name]])))
  }
  invisible(x)
}
