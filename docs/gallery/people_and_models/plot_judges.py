"""
Do models weigh insults as people do?
=====================================

The model reacts more strongly to racist slurs than the simulated people do. People are clustered by
respondent and the model by pair, so that each has the standard errors of its own design.
"""

from conjury.analysis.conjoint import cj
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
simulated = simulate(study, 1, respondents=400, pairs=3000, judges=["human", "gpt4o"], prompts=["baseline"])
choices = simulated.choices.query("~repeat").assign(judges="human")
model = choices["judge_kind"] == "model"
choices["judges"] = choices["judges"].mask(model, choices["judge_id"])
choices["judges"] = choices["judges"].astype("category").cat.reorder_categories(["human", "gpt4o"])
choices["cluster"] = choices["judge_id"].mask(model, choices["pair_id"])
figure = cj(choices, "chosen ~ slur + reply", id="cluster", by="judges").plot(labels=study)
