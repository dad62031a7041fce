"""
How large are effects without the noise of unreliable answers?
==============================================================

Choices that people would not repeat attenuate effects. The corrected effects are larger, and their intervals
include the uncertainty of the correction.
"""

from conjury.analysis.conjoint import amce
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=500, judges=["human"]).choices
fit = amce(choices, "chosen ~ slur + reply", id="judge_id", correct="reliability")
figure = fit.plot(labels=study)
