# Effects of three attributes on 400 simulated choices; needs R's package survey.
for (file in c("fit.R", "estimators.R")) source(file.path("conjury-R", "R", file))
choices <- read.csv("choices.csv", stringsAsFactors = TRUE)
# R orders levels by the alphabet: the first level is the reference.
choices$topic <- relevel(choices$topic, "everyday")
print(survey_amce(choices, chosen ~ slur + identity + topic, id = "pair_id"))
