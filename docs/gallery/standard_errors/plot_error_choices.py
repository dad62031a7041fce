"""
Does it matter how standard errors are computed?
================================================

The same effects are shown with intervals by rows, pairs, and texts and users. Texts make no difference of
their own in this simulation, so most ratios are near 1; the pigeonhole bootstrap is conservative.
"""

from conjury.analysis.conjoint import errors_under_choices
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
figure = errors_under_choices(choices, "chosen ~ topic + reply", draws=199, seed=1).plot(labels=study)
