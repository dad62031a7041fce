"""
By how much does a model differ from people?
============================================

Each point is the effect on the model minus the effect on people. The model reacts more strongly to most
insults; for topics and replies the intervals contain zero.
"""

from conjury.analysis.conjoint import people_diffs
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
simulated = simulate(study, 1, respondents=300, pairs=3000, judges=["human", "gpt4o"], prompts=["baseline"])
choices = simulated.choices.query("~repeat")
fit = people_diffs(choices, "chosen ~ slur + topic + reply", judge="gpt4o", prompt="baseline")
figure = fit.plot(labels=study)
