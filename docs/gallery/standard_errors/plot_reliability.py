"""
How often do people repeat their choice?
========================================

The first pair is shown again at the end, in exchanged positions. Choices that are not repeated are noise,
which attenuates all effects.
"""

from conjury.analysis.conjoint import reliability
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=500, judges=["human"]).choices
figure = reliability(choices, seed=1).plot(labels=study)
