"""
Which effects remain significant among many tests?
==================================================

Among twenty effects of zero, one is significant on average. Filled dots remain significant after Holm's
adjustment, and dots with a centre only before it.
"""

from conjury.analysis.conjoint import adjust, amce
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=2000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = amce(choices, "chosen ~ identity + topic + reply + curse", id="pair_id")
figure = adjust(fit, "holm").plot(part="significance", labels=study)
