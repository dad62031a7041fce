"""
Which attribute decides most?
=============================

The importance of an attribute is the range of its effects as a share of the ranges of all attributes. It
depends on the levels that the study contains, and is not a property of the attribute alone.
"""

from conjury.analysis.conjoint import amce, importance
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = amce(choices, "chosen ~ slur + identity + topic + reply + curse + engagement", id="pair_id")
figure = importance(fit).plot(labels=study)
