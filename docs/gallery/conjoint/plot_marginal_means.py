"""
Which posts are sent to review more often than chance?
======================================================

Posts without an insult are chosen in far fewer than half of their pairs. A marginal mean needs no reference
level: it is the share of pairs in which a post with this level is chosen.
"""

from conjury.analysis.conjoint import mm
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = mm(choices, "chosen ~ slur + reply + curse", id="pair_id")
figure = fit.plot(labels=study)
