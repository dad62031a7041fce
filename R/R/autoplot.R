# Figures by ggplot2, which is needed for them alone.

#' Draw estimates with their intervals
#'
#' Points with intervals, a row for each term: levels below their feature in a conjoint, coefficients or metrics
#' in other results. Judges, prompts and groups have colours, where there are several. A line marks no effect, or
#' the mean under the null hypothesis.
#'
#' @param object A result of [read_results()], or a table of [amce()] and the other verbs.
#' @param ... Not used.
#' @return A ggplot; add scales, labels and themes to it as you like.
#' @examples
#' if (requireNamespace("ggplot2", quietly = TRUE)) {
#'   results <- read_results(system.file("extdata", "hotel", package = "conjury"))
#'   ggplot2::autoplot(results$amce)
#' }
#' @exportS3Method ggplot2::autoplot
autoplot.conjury_result <- function(object, ...) {
  about <- attr(object, "about")
  shown <- drawn_rows(tidy(object), attr(object, "labels"))
  null <- if (!is.null(about) && about$kind == "amce") 0 else scalar_number(about$settings$h0)
  forest(shown, about$title, null)
}

#' @rdname autoplot.conjury_result
#' @exportS3Method ggplot2::autoplot
autoplot.conjury_cj <- function(object, ...) {
  h0 <- attr(object, "fit")$h0
  null <- if (inherits(object, "cj_mm")) h0[1L] else if (inherits(object, "cj_freqs")) NULL else 0
  forest(drawn_rows(tidy(object), NULL), NULL, if (length(null) && is.finite(null) && null != 0 || !inherits(object, "cj_mm")) null)
}

scalar_number <- function(value) if (is.numeric(value) && length(value) == 1L) value

#' Rows of a figure: `row`, `panel`, `group`, and the numbers
#' @noRd
drawn_rows <- function(table, labels) {
  shown <- table[!is.na(table$estimate), , drop = FALSE]
  conjoint <- all(c("feature", "level") %in% names(shown))
  shown$panel <- if (conjoint) shown$feature else if ("weights" %in% names(shown)) {
    ifelse(is.na(shown$weights), "", shown$weights)
  } else if ("part" %in% names(shown)) shown$part else ""
  row <- if (conjoint) shown$level else factor(shown$term, levels = unique(shown$term))
  if (conjoint) {
    feature <- as.character(shown$feature)
    shown$panel <- factor(shown$panel, labels = labelled(levels(droplevels(shown$panel)), labels$features))
    row <- factor(
      mapply(function(feature, level) labelled(level, labels$levels[[feature]]), feature, as.character(row)),
      levels = unique(unlist(lapply(unique(feature), function(feature) {
        found <- levels(droplevels(shown$level[shown$feature == feature | shown$panel == feature]))
        labelled(if (length(found)) found else levels(shown$level), labels$levels[[feature]])
      })))
    )
  }
  shown$row <- factor(row, levels = rev(levels(row)))
  keys <- intersect(c("judge", "prompt", "variant", "BY", "by", "REFERENCE", "dimension", "among", "against"), names(shown))
  several <- Filter(function(name) length(unique(shown[[name]])) > 1L, keys)
  parts <- lapply(several, function(name) {
    text <- as.character(shown[[name]])
    labelled(ifelse(is.na(text), "", text), labels[[paste0(name, "s")]])
  })
  group <- if (length(parts)) trimws(do.call(paste, parts)) else rep("", nrow(shown))
  shown$group <- factor(group, levels = rev(unique(group)))  # the first comes on top
  shown
}

labelled <- function(names, labels) {
  if (is.null(labels)) return(names)
  found <- labels[names]
  unname(ifelse(vapply(found, is.null, NA), names, vapply(found, function(label) as.character(label %||% ""), "")))
}

forest <- function(shown, title, null) {
  if (!requireNamespace("ggplot2", quietly = TRUE)) {
    stop('figures need the package ggplot2: install.packages("ggplot2")', call. = FALSE)
  }
  several <- nlevels(shown$group) > 1L
  place <- ggplot2::position_dodge(width = if (several) 0.6 else 0)
  mapping <- ggplot2::aes(
    x = .data$estimate, y = .data$row, xmin = .data$conf.low, xmax = .data$conf.high, colour = .data$group
  )
  figure <- ggplot2::ggplot(shown, mapping)
  if (length(null) && !is.na(null)) {
    figure <- figure + ggplot2::geom_vline(xintercept = null, colour = "grey60", linewidth = 0.4)
  }
  figure <- figure +
    ggplot2::geom_linerange(position = place, na.rm = TRUE) +
    ggplot2::geom_point(position = place, size = 1.6) +
    ggplot2::facet_grid(rows = ggplot2::vars(.data$panel), scales = "free_y", space = "free_y") +
    ggplot2::labs(x = "Estimate", y = NULL, colour = NULL, title = title) +
    ggplot2::theme_minimal(base_size = 11) +
    ggplot2::theme(
      strip.text.y = ggplot2::element_text(angle = 0, hjust = 0), panel.grid.major.y = ggplot2::element_blank(),
      legend.position = if (several) "bottom" else "none"
    )
  if (!several) return(figure + ggplot2::scale_colour_manual(values = "grey15"))
  figure + ggplot2::scale_colour_viridis_d(end = 0.85) +
    ggplot2::guides(colour = ggplot2::guide_legend(reverse = TRUE))
}

utils::globalVariables(".data")
