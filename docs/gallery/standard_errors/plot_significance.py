"""
Which effects remain significant among many tests?
==================================================

A study with twenty effects finds one by chance alone. Holm's adjustment controls the probability of even one
false finding among all effects.
"""

from conjury.analysis.conjoint import adjust, amce
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=2000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = amce(choices, "chosen ~ slur + identity + topic + reply + curse + engagement", id="pair_id")
figure = adjust(fit, "holm").plot(labels=study)
