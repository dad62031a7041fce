"""
How often was each level shown?
===============================

Counts should follow the probabilities of the design. Levels that were shown rarely have wide intervals in all
later figures.
"""

from conjury.analysis.conjoint import cj_freqs
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=100, judges=["human"]).choices
figure = cj_freqs(choices, "chosen ~ slur + topic + reply", id="judge_id").plot(labels=study)
