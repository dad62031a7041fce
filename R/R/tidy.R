# Columns of the package broom.

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

BROOM <- c(
  std_error = "std.error", z = "statistic", p = "p.value", p_adjusted = "adj.p.value", lower = "conf.low",
  upper = "conf.high"
)
FIRST <- c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")
# What names a row, where there are no features
TERMS <- c("name", "coefficient", "metric", "quantity", "parameter", "component", "dimension", "judge")

#' Estimates with the columns of broom
#'
#' `tidy()` gives a row for each estimate, with the columns `term`, `estimate`, `std.error`, `statistic`,
#' `p.value`, `conf.low` and `conf.high` first, and after them all other columns of the table: keys as `judge`,
#' `prompt`, `feature` and `level`, bootstrap intervals, counts. What a table does not have is NA. `statistic` is
#' the test statistic; the column of that name in conjury's and cregg's tables becomes `estimand`.
#'
#' `glance()` gives a row for each fit: of results, one for each judge and prompt where these were fitted apart;
#' of a table within groups ([cj()] with `by`), one for each group.
#'
#' @param x A result of [read_results()], all of them, or a table of [amce()] and the other verbs.
#' @param ... Not used.
#' @return A data frame. `term` is `feature: level`, or the coefficient or metric; the `tidy()` of all results has
#'   the columns that they share, and `result`.
#' @examples
#' results <- read_results(system.file("extdata", "hotel", package = "conjury"))
#' tidy(results$amce)
#' glance(results$amce)
#'
#' choices <- read_data(system.file("extdata", "hotel.csv", package = "conjury"))
#' effects <- amce(choices, chosen ~ reviews + price, id = ~ judge_id)
#' tidy(effects)
#' glance(effects)
#' @export
tidy.conjury_result <- function(x, ...) {
  if (!"estimate" %in% names(x)) {
    stop(sprintf("result '%s' is a table without estimates; use it as it is", attr(x, "about")$name), call. = FALSE)
  }
  in_broom_columns(plain_table(x), BROOM)
}

#' @rdname tidy.conjury_result
#' @export
tidy.conjury_cj <- function(x, ...) in_broom_columns(plain_table(x), BROOM)

#' @rdname tidy.conjury_result
#' @export
tidy.conjury_results <- function(x, ...) {
  tables <- lapply(Filter(function(result) "estimate" %in% names(result), unclass(x)), tidy)
  shared <- Reduce(intersect, lapply(tables, names))
  tables <- Map(function(name, table) {
    table[] <- lapply(table, function(column) if (is.factor(column)) as.character(column) else column)
    cbind(data.frame(result = rep(name, nrow(table))), table[shared])
  }, names(tables), tables)
  stacked <- do.call(rbind, unname(tables))
  rownames(stacked) <- NULL
  stacked
}

#' @rdname tidy.conjury_result
#' @export
glance.conjury_result <- function(x, ...) {
  about <- attr(x, "about")
  if (is.null(about)) stop("this table has lost what glance() needs; take it from read_results()", call. = FALSE)
  scalar <- function(value) if (length(value) == 1L && is.atomic(value)) value else NA
  settings <- lapply(about$settings[c("formula", "family", "vcov", "engine", "draws", "seed")], scalar)
  names(settings) <- c("formula", "family", "vcov", "engine", "draws", "seed")
  fit <- function(group) {
    of <- function(name) scalar(group[[name]] %||% about$settings[[name]])
    keys <- group[intersect(names(group), c("judge", "prompt", "variant"))]
    as.data.frame(
      c(
        list(result = about$name, kind = about$kind, title = about$title), keys, settings["formula"],
        list(nobs = of("n_used"), n_rows = of("n_rows"), n_clusters = of("n_clusters"), id = of("id")),
        settings[-1L], list(conf.level = 1 - (scalar(about$settings$alpha) %||% NA))
      ),
      stringsAsFactors = FALSE
    )
  }
  groups <- if (length(about$groups)) about$groups else list(list())
  do.call(rbind, lapply(groups, fit))
}

#' @rdname tidy.conjury_result
#' @export
glance.conjury_results <- function(x, ...) {
  tables <- lapply(unclass(x), glance)
  names <- unique(unlist(lapply(tables, names)))
  filled <- lapply(tables, function(table) {
    table[setdiff(names, names(table))] <- NA
    table[names]
  })
  stacked <- do.call(rbind, unname(filled))
  rownames(stacked) <- NULL
  stacked
}

#' @rdname tidy.conjury_result
#' @export
glance.conjury_cj <- function(x, ...) {
  fit <- attr(x, "fit")
  if (is.null(fit)) stop("this table has lost what glance() needs; take it from the verb itself", call. = FALSE)
  rownames(fit) <- NULL
  fit
}

plain_table <- function(x) {
  data.frame(unclass(x)[names(x)], check.names = FALSE, stringsAsFactors = FALSE)
}

in_broom_columns <- function(table, renamed) {
  if (!is.numeric(table$statistic)) names(table)[names(table) == "statistic"] <- "estimand"
  here <- names(table) %in% names(renamed)
  names(table)[here] <- renamed[names(table)[here]]
  if (!"term" %in% names(table)) table$term <- terms_of(table)
  for (name in setdiff(FIRST, names(table))) table[[name]] <- rep(NA_real_, nrow(table))
  table[c(FIRST, setdiff(names(table), FIRST))]
}

terms_of <- function(table) {
  if (all(c("feature", "level") %in% names(table))) return(paste0(table$feature, ": ", table$level))
  named <- intersect(TERMS, names(table))
  if (length(named)) as.character(table[[named[1L]]]) else as.character(seq_len(nrow(table)))
}
