"""
Which effects are too small to matter?
======================================

An effect that is not significant may still be large. Two one-sided tests show which effects are within three
percentage points of zero, and which remain undecided.
"""

from conjury.analysis.conjoint import amce, equivalence
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=8000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = amce(choices, "chosen ~ identity + topic + reply + curse + engagement", id="pair_id")
figure = equivalence(fit, 0.03).plot(labels=study)
