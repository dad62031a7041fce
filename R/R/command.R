# The program conjury, called from R.

#' Call the program conjury
#'
#' Runs `conjury COMMAND ...`, which Python provides (`pip install conjury`). It is found on the PATH, or where
#' `options(conjury.command = )` says: a path, or a program with its first arguments, as
#' `c("uvx", "conjury")`.
#'
#' @param command Command, as "fit" or "simulate"; `conjury --help` lists them.
#' @param ... Arguments of the command. Unnamed ones come first; named ones are options: `data = "a.csv"` is
#'   `--data a.csv`, `fail_under = 1` is `--fail-under 1`, a vector repeats its option, TRUE gives the option
#'   alone, and NULL and FALSE leave it out.
#' @param quiet Whether what the program prints is kept back. It is part of the value in any case.
#' @return Invisibly a list: `status`, the exit code; `stdout` and `stderr`, what was printed.
#' @section Errors: An exit code other than 0 is an error with the sentence that the program printed, of class
#'   `conjury_error`, with the fields `status` (the exit code) and `stdout`. A program that is not there is an
#'   error, too.
#' @seealso [conjury_fit()] and its like, which read the results.
#' @examples
#' if (has_conjury()) conjury("doctor")
#' @export
conjury <- function(command, ..., quiet = TRUE) {
  program <- conjury_program()
  ran <- run_program(program[1L], c(program[-1L], command, as_arguments(list(...))))
  if (!quiet) cat(ran$stdout)
  if (ran$status != 0L) stop(program_error(command, ran))
  invisible(ran)
}

#' @rdname conjury
#' @export
has_conjury <- function() nzchar(conjury_path())

conjury_path <- function() unname(Sys.which(getOption("conjury.command", "conjury")[1L]))

conjury_program <- function() {
  if (!has_conjury()) {
    stop(
      "the program conjury is not on the PATH; install it with `pip install conjury`, or name it: ",
      'options(conjury.command = "path/to/conjury")', call. = FALSE
    )
  }
  c(conjury_path(), getOption("conjury.command", "conjury")[-1L])
}

as_arguments <- function(given) {
  names <- names(given) %||% rep("", length(given))
  options <- lapply(which(nzchar(names)), function(place) {
    value <- given[[place]]
    flag <- paste0("--", gsub("_", "-", names[place]))
    if (is.null(value) || identical(value, FALSE)) return(character())
    if (isTRUE(value)) return(flag)
    as.vector(rbind(flag, as_text(value)))
  })
  c(as_text(unlist(given[!nzchar(names)])), unlist(options))
}

as_text <- function(values) {
  if (is.numeric(values)) return(vapply(values, format, "", digits = 15, scientific = FALSE, trim = TRUE))
  as.character(values)
}

PLAIN <- c(NO_COLOR = "1", COLUMNS = "200", PYTHONIOENCODING = "utf-8")

#' Run a program by processx, or by base R where that is missing
#' @noRd
run_program <- function(program, arguments) {
  if (!requireNamespace("processx", quietly = TRUE)) return(by_system2(program, arguments))
  ran <- processx::run(program, arguments, error_on_status = FALSE, env = c("current", PLAIN), encoding = "UTF-8")
  ran[c("status", "stdout", "stderr")]
}

by_system2 <- function(program, arguments) {
  files <- tempfile(c("stdout", "stderr"))
  on.exit(unlink(files))
  status <- system2(
    program, shQuote(arguments), stdout = files[1L], stderr = files[2L], env = paste0(names(PLAIN), "=", PLAIN)
  )
  printed <- lapply(files, function(file) {
    lines <- readLines(file, encoding = "UTF-8", warn = FALSE)
    paste0(lines, rep("\n", length(lines)), collapse = "")
  })
  list(status = as.integer(status), stdout = printed[[1L]], stderr = printed[[2L]])
}

program_error <- function(command, ran) {
  said <- trimws(if (nzchar(trimws(ran$stderr))) ran$stderr else ran$stdout)
  message <- if (nzchar(said)) sub("^conjury: ", "", said) else sprintf("conjury %s ended with %d", command, ran$status)
  structure(
    class = c("conjury_error", "error", "condition"),
    list(message = message, call = NULL, status = ran$status, stdout = ran$stdout)
  )
}

#' Analyses that only Python has, with their results in R
#'
#' Each runs one command of the program conjury on a file or a data frame and returns the results folder that it
#' wrote, as [read_results()] does. `conjury_judge()` compares a judge with people from any file, `conjury_fit()`
#' runs all analyses of a study, `conjury_agreement()` gives coefficients of agreement, `conjury_alt_test()` tests
#' whether a model may replace a person.
#'
#' @param data,judgments A file (.parquet, .csv, .csv.gz; of `conjury_judge()` also logs of other programs) or a data
#'   frame, whose factors keep their level order.
#' @param judge,human Columns of the judge and of people; guessed where they are not named.
#' @param study A study file, or the name of a study that conjury ships.
#' @param out Results folder to write.
#' @param ... Options of the command, as in [conjury()]: `draws = 200`, `where = "task=stars"`.
#' @return The results, as [read_results()] returns them.
#' @examples
#' \dontrun{
#' judged <- conjury_judge("comments.csv", "verdict", c("ann", "ben", "eva"), by = "language")
#' tidy(judged$estimates)
#' results <- conjury_fit("hotel.yaml", choices, out = "results", draws = 200)
#' autoplot(results$amce)
#' conjury_agreement(judgments, where = "task=stars")
#' }
#' @export
conjury_fit <- function(study, data, out = tempfile("results"), ...) {
  with_file(data, function(file) conjury("fit", study, data = file, out = out, ...))
  read_results(out)
}

#' @rdname conjury_fit
#' @export
conjury_judge <- function(data, judge = NULL, human = NULL, ...) {
  ran <- with_file(data, function(file) {
    tryCatch(
      conjury("judge", file, judge = judge, human = human, ..., json = TRUE),
      # 1: a limit of fail_under or fail_over is not met, which the result says
      conjury_error = function(condition) if (condition$status == 1L) condition else stop(condition)
    )
  })
  results_of_json(ran$stdout, if (is.character(data)) data else "data")
}

#' @rdname conjury_fit
#' @export
conjury_agreement <- function(judgments, out = tempfile("results"), ...) {
  with_file(judgments, function(file) conjury("agreement", file, results = out, ...))
  read_results(out)
}

#' @rdname conjury_fit
#' @export
conjury_alt_test <- function(judgments, out = tempfile("results"), ...) {
  with_file(judgments, function(file) conjury("alt-test", file, results = out, ...))
  read_results(out)
}

#' Call with the name of a file: the one given, or one that a data frame is written to
#' @noRd
with_file <- function(data, call) {
  if (is.character(data)) return(call(data))
  folder <- tempfile("conjury")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  path <- file.path(folder, "data.csv")
  utils::write.csv(data, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  levels <- lapply(Filter(is.factor, as.list(data)), function(column) as.list(levels(column)))
  if (length(levels)) {
    jsonlite::write_json(levels, file.path(folder, "data.levels.json"), auto_unbox = TRUE)
  }
  call(path)
}
