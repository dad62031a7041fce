# Make the reference tables of choice-level estimates and of AFCPs in tests/fixtures/preferences.
#
#   Rscript R/conjoint/preferences.R PEERS
#
# PEERS is a folder with afcp.R of astrezhnev/afcp (0.0.0.9003), cjoint.R of cran/cjoint, pj_estimate.R and
# organize_data.R of yhoriuchi/projoint (1.1.3), which are not part of this repository. Needs dplyr, estimatr,
# sandwich, stringr and tidyr. A second run gives the same bytes.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
folder <- file.path(dirname(normalizePath(script)), "..", "..", "tests", "fixtures", "preferences")
peers <- commandArgs(trailingOnly = TRUE)[1L]
suppressPackageStartupMessages(library(dplyr))

code <- parse(file.path(peers, "cjoint.R"), keep.source = FALSE)
is_names <- vapply(code, function(one) is.call(one) && identical(one[[2L]], quote(clean.names)), TRUE)
for (one in code[is_names]) eval(one)
eval(parse(text = gsub("cjoint:::", "", readLines(file.path(peers, "afcp.R")), fixed = TRUE)))
for (name in c("organize_data", "pj_estimate")) source(file.path(peers, paste0(name, ".R")))

save_table <- function(table, name) {
  numbers <- vapply(table, is.double, logical(1L))
  table[numbers] <- lapply(table[numbers], format, digits = 12, trim = TRUE, scientific = FALSE)
  file <- file.path(folder, paste0(name, ".csv"))
  utils::write.csv(table, file, row.names = FALSE, quote = FALSE, eol = "\n")
}

# Sixty judges with eight tasks; calm is preferred to sharp, sharp to rude and rude to calm.
set.seed(18, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
tones <- c("calm", "sharp", "rude", "mild")
margin <- matrix(0, 4L, 4L, dimnames = list(tones, tones))
margin["calm", "sharp"] <- margin["sharp", "rude"] <- margin["rude", "calm"] <- 0.25
margin["mild", c("calm", "sharp", "rude")] <- 0.1
margin <- margin - t(margin)
tasks <- expand.grid(task = 1:8, judge = 1:60)
shown <- function() {
  data.frame(tone = sample(tones, nrow(tasks), TRUE), topic = sample(c("work", "sport"), nrow(tasks), TRUE))
}
a <- shown()
b <- shown()
taste <- stats::rnorm(60, sd = 0.15)[tasks$judge]
worth <- margin[cbind(a$tone, b$tone)] + (0.1 + taste) * ((a$topic == "sport") - (b$topic == "sport"))
first <- as.integer(stats::runif(nrow(tasks)) < pmin(pmax(0.5 + worth, 0.05), 0.95))
keys <- data.frame(judge_id = tasks$judge, task = tasks$task)
choices <- rbind(cbind(keys, position = "A", a, chosen = first), cbind(keys, position = "B", b, chosen = 1L - first))
choices <- choices[order(choices$judge_id, choices$task, choices$position), ]
rownames(choices) <- NULL
save_table(choices, "choices")

# AFCPs and Wald tests of afcp, from an object as cjoint's amce() returns it, for each baseline in turn.
data <- choices
data$profile <- as.numeric(match(data$position, c("A", "B")))
data$judge <- data$judge_id
as_amce <- structure(
  list(data = data, formula = chosen ~ tone, attributes = list(tone = tones), baselines = list(tone = "calm")),
  class = "amce"
)
found <- lapply(tones, function(base) {
  afcp(as_amce, "judge", "task", "profile", "tone", baseline = base)
})
every <- bind_rows(lapply(found, `[[`, "afcp"))
save_table(every[c("level", "baseline", "afcp", "se")], "afcp")
save_table(bind_rows(lapply(found, `[[`, "wald")), "afcp_wald")
save_table(bind_rows(lapply(found, `[[`, "direct_indirect")), "afcp_cycles")

# Choice-level means and AMCEs of projoint, uncorrected, with its default standard errors.
levels_of <- function(values, known, name) paste0(name, ":level", match(values, known))
wide <- data.frame(
  id = data$judge_id, task = data$task, profile = data$profile, selected = data$chosen, agree = NA,
  att1 = levels_of(data$tone, tones, "att1"), att2 = levels_of(data$topic, c("work", "sport"), "att2")
)
one_topic <- stats::ave(match(data$topic, c("work", "sport")), data$judge_id, data$task, FUN = stats::var) == 0
choice_level <- function(case, rows, estimand, choose, against, choose_b = NULL, against_b = NULL) {
  att <- function(levels) if (is.null(levels)) NULL else "att1"
  result <- pj_estimate(
    list(data = wide[rows, ]), "choice_level", estimand, "att1", choose, "att1", against,
    att(choose_b), choose_b, att(against_b), against_b,
    .se_method = "analytical", .irr = 0.75, .remove_ties = TRUE, .ignore_position = TRUE, .n_sims = NULL,
    .n_boot = NULL, .weights_1 = NULL, .clusters_1 = NULL, .se_type_1 = NULL, .weights_2 = NULL,
    .clusters_2 = NULL, .se_type_2 = NULL
  )
  result <- result[grepl("uncorrected", result$estimand), ]
  data.frame(
    case = case, estimate = result$estimate, std_error = result$se, lower = result$conf.low,
    upper = result$conf.high
  )
}
all <- rep(TRUE, nrow(wide))
save_table(bind_rows(
  choice_level("sharp against calm", all, "mm", "level2", "level1"),
  choice_level("sharp or rude against calm", all, "mm", c("level2", "level3"), "level1"),
  choice_level("sharp or rude against calm or mild", all, "mm", c("level2", "level3"), c("level1", "level4")),
  choice_level("same topic", one_topic, "mm", "level2", "level1"),
  choice_level("amce", all, "amce", "level3", "level1", "level2", "level1")
), "projoint")
