"""
Which kinds of insult does a model treat differently?
=====================================================

Every cell compares two kinds of insult, row with column. Effects compared with the reference alone do not
show whether two other levels differ.
"""

from conjury.analysis.conjoint import amce, contrast
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = contrast(amce(choices, "chosen ~ slur + identity + topic", id="pair_id"), "slur")
figure = fit.plot(labels=study)
