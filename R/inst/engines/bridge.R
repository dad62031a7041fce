# How the Python side calls the functions of this folder.
#
# These functions need base R only. They keep R's warnings, errors and printed output apart, so that
# the caller can raise them in its own way.

#' Call a function and catch what it signals
#'
#' @param name Name of a function of this folder.
#' @param arguments Named list of its arguments.
#' @param where Environment that holds the functions.
#' @return A list: `value`; `warnings`, their messages in order; `messages`; `error`, NULL or a list of
#'   the message and the call that failed, as text.
call_captured <- function(name, arguments, where) {
  warnings <- character()
  messages <- character()
  error <- NULL
  discarded <- file(nullfile(), open = "w")
  sink(discarded)
  on.exit({
    sink()
    close(discarded)
  })
  # The call names its arguments instead of holding them, so that error messages stay short.
  call <- as.call(c(as.name(name), sapply(names(arguments), as.name, simplify = FALSE)))
  value <- tryCatch(
    withCallingHandlers(
      eval(call, list2env(arguments, parent = where)),
      warning = function(condition) {
        warnings <<- c(warnings, conditionMessage(condition))
        invokeRestart("muffleWarning")
      },
      message = function(condition) {
        messages <<- c(messages, conditionMessage(condition))
        invokeRestart("muffleMessage")
      }
    ),
    error = function(condition) {
      error <<- list(message = conditionMessage(condition), call = call_text(conditionCall(condition)))
      NULL
    }
  )
  list(value = value, warnings = warnings, messages = messages, error = error)
}

call_text <- function(call) {
  if (is.null(call)) "" else deparse(call, width.cutoff = 200L, nlines = 1L)[1L]
}

#' Versions of R and of some packages
#'
#' @param packages Character vector of package names.
#' @return A list: `R`, the version of R; `packages`, a named list of versions, NULL where a package is absent.
versions <- function(packages = character()) {
  list(R = as.character(getRversion()), packages = sapply(packages, package_version_text, simplify = FALSE))
}

package_version_text <- function(package) {
  installed <- nzchar(system.file(package = package))
  if (installed) as.character(utils::packageVersion(package)) else NULL
}

#' Make sure that text is read and written as UTF-8
#'
#' @return TRUE if R now works in UTF-8. Where R runs in another locale, labels beyond ASCII are mangled and
#'   cregg returns NaN without a word.
use_utf8 <- function() {
  for (locale in c("C.UTF-8", "en_US.UTF-8", "UTF-8")) {
    if (isTRUE(l10n_info()[["UTF-8"]])) break
    suppressWarnings(Sys.setlocale("LC_CTYPE", locale))
  }
  isTRUE(l10n_info()[["UTF-8"]])
}
