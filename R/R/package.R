#' How LLM judges decide, next to human judges
#'
#' * [read_results()] and [read_data()] read what the program conjury writes; [tidy()][tidy.conjury_result],
#'   [glance()][tidy.conjury_result] and [autoplot()][autoplot.conjury_result] show it.
#' * [amce()], [mm()], [amce_diffs()], [mm_diffs()], [cj()], [cj_freqs()] and [cj_anova()] estimate conjoint
#'   quantities in R alone, as cregg does.
#' * [conjury()] calls the program for what only Python has.
#'
#' `vignette("conjury")` shows all three.
#' @name conjury-package
#' @docType package
NULL
