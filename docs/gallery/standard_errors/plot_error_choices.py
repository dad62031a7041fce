"""
How much larger are standard errors that account for shared texts?
==================================================================

The posts of a topic share ten texts, so rows are not independent. Standard errors by text show how far the
effects would move with ten other texts.
"""

from conjury.analysis.conjoint import errors_under_choices
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
figure = errors_under_choices(choices, "chosen ~ topic + reply", draws=199, seed=1).plot(labels=study)
