# Tables that cregg 0.4.0 made from its own data and from choices of a model, in a folder beside the checkout.
# tests/fixtures/golden_calls.yaml lists the calls.

RIGHT_IN_OURS <- c(
  # restricted features, differences between groups that share clusters, a null of a difference, a fit that stops early
  "immigration_amce_constrained_simple", "immigration_amce_constrained_full", "immigration_amce_constrained_full_noid",
  "taxes_amce_constrained_allowed", "gemini_flash_amce_interaction_slur_identity", "immigration_mm_diffs_gender",
  "immigration_mm_diffs_contest", "gemini_flash_mm_diffs_identity", "gemini_flash_mm_diffs_prompt_id",
  "immigration_mm_diffs_ethno_h0_alpha10"
)
# of these one or two calls are enough, on 60,000 rows
LARGE <- c("gemini_flash_amce_id", "gemini_flash_mm_id", "gemini_flash_cj_freqs", "gemini_flash_cj_anova_identity")
ELSEWHERE <- c("gemini_two_prompts", "gemini_as_published", "wide_conjoint", "long_conjoint")
QUICK <- c("immigration_amce_id", "taxes_mm_diffs_partyid")

shared_folder <- function() {
  named <- Sys.getenv("CONJURY_SHARED")
  folder <- if (nzchar(named)) named else file.path(dirname(checkout()), "shared")
  skip_if_not(dir.exists(file.path(folder, "cregg", "golden")), "the folder of reference tables is not here")
  folder
}

golden_calls <- function() {
  skip_if_not_installed("yaml")
  written <- yaml::read_yaml(checkout("tests", "fixtures", "golden_calls.yaml"))
  lapply(written$calls, function(call) {
    formula <- call[[3]]
    known <- if (is.null(formula)) NULL else written$formulas[[formula]]
    list(verb = call[[1]], data = call[[2]], formula = if (is.null(known)) formula else known, options = call[[4]])
  })
}

typed <- function(path, levels, labels = list()) {
  data <- utils::read.csv(path, colClasses = "character", na.strings = c("", "NA"), encoding = "UTF-8")
  for (name in names(data)) {
    found <- unlist(levels[[name]])
    if (length(found)) {
      data[[name]] <- factor(data[[name]], levels = found)
      attr(data[[name]], "label") <- labels[[name]]
    } else {
      data[[name]] <- utils::type.convert(data[[name]], as.is = TRUE)
    }
  }
  data
}

golden_data <- function(name) {
  if (startsWith(name, "gemini")) {
    folder <- file.path(shared_folder(), "data", "moderation")
    levels <- jsonlite::fromJSON(file.path(folder, "gemini_levels.json"), simplifyVector = FALSE)$factor_levels
    file <- if (name == "gemini") "gemini_baseline_flash.csv.gz" else "gemini_baseline_flash_aspublished.csv.gz"
    return(typed(file.path(folder, file), c(levels, list(profile = list("A", "B")))))
  }
  base <- sub("_with_.*", "", name)
  folder <- file.path(shared_folder(), "cregg", "data")
  columns <- jsonlite::fromJSON(file.path(folder, paste0(base, ".levels.json")), simplifyVector = FALSE)$columns
  data <- typed(
    file.path(folder, paste0(base, ".csv.gz")), lapply(columns, `[[`, "levels"), lapply(columns, `[[`, "label")
  )
  if (base == "immigration") {
    data$contest_f <- factor(data$contest_no)
    data$ethno_f <- factor(ifelse(data$ethnocentrism > 50, "high", "low"), levels = c("low", "high"))
    data$language_entry <- interaction(data$LanguageSkills, data$PriorEntry, sep = "_")
  }
  kept <- switch(name, immigration_with_ethno = !is.na(data$ethno_f), taxes_with_party = !is.na(data$partyid), TRUE)
  whole <- data
  data <- data[kept, ]
  for (column in names(data)) attr(data[[column]], "label") <- attr(whole[[column]], "label")
  data
}

run_golden <- function(call, data) {
  options <- call$options
  for (name in intersect(c("id", "weights", "by", "variable"), names(options))) {
    options[[name]] <- stats::reformulate(options[[name]])
  }
  if (call$verb %in% c("cj_props", "cj_freqs", "cj_table")) options$id <- NULL
  arguments <- c(list(data, stats::as.formula(call$formula)), options)
  suppressWarnings(do.call(call$verb, arguments))
}

expect_golden <- function(name, call, data) {
  theirs <- utils::read.csv(
    file.path(shared_folder(), "cregg", "golden", paste0(name, ".csv")), check.names = FALSE, encoding = "UTF-8",
    na.strings = ""
  )
  # cregg loses the label of the feature whose reference changes
  if (!is.null(call$options$variable)) attr(data[[call$options$variable]], "label") <- NULL
  ours <- run_golden(call, data)
  if (call$verb == "cj_anova") {
    expect_equal(unlist(ours), unlist(theirs), tolerance = 1e-8, ignore_attr = TRUE, info = name)
    return(invisible())
  }
  expect_setequal(names(ours), names(theirs))
  numbers <- c("estimate", "std.error", "z", "p", "lower", "upper", "Proportion")
  keys <- setdiff(names(theirs), numbers)
  key <- function(table) do.call(paste, c(lapply(unclass(table)[keys], as.character), sep = "|"))
  expect_setequal(key(ours), key(theirs))
  ours <- ours[match(key(theirs), key(ours)), ]
  for (column in intersect(numbers, names(theirs))) {
    expect_equal(is.na(ours[[column]]), is.na(theirs[[column]]), info = paste(name, column))
    distance <- abs(ours[[column]] - theirs[[column]]) /
      pmax(abs(theirs[[column]]), if (column == "p") 1e-300 else 1e-3)
    if (column == "p") distance <- distance[theirs[[column]] > 1e-300]
    expect_lt(max(0, distance, na.rm = TRUE), if (column == "p") 1e-8 else 1e-10, label = paste(name, column))
  }
}

test_that("verbs have the numbers of cregg's tables of real data", {
  calls <- golden_calls()
  calls <- calls[!names(calls) %in% RIGHT_IN_OURS]
  calls <- Filter(function(call) !call$data %in% ELSEWHERE, calls)
  calls <- calls[!startsWith(names(calls), "gemini") | names(calls) %in% LARGE]
  if (!nzchar(Sys.getenv("CONJURY_LONG"))) calls <- calls[QUICK]
  for (data in unique(vapply(calls, `[[`, "", "data"))) {
    rows <- golden_data(data)
    for (name in names(Filter(function(call) call$data == data, calls))) expect_golden(name, calls[[name]], rows)
  }
})

test_that("restricted effects are those that are right, which cjoint has too", {
  long()
  call <- golden_calls()$immigration_amce_constrained_full
  ours <- run_golden(call, golden_data("immigration"))
  right <- utils::read.csv(file.path(shared_folder(), "cregg", "golden", "REF_immigration_constrained_correct.csv"))
  ours <- ours[match(right$level, ours$level), ]
  for (column in c("estimate", "std.error", "upper")) {
    expect_equal(ours[[column]], right[[column]], tolerance = 1e-10, info = column)
  }
})
