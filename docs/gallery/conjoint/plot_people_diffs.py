"""
By how much does a model differ from people?
============================================

Each point is the effect on the model minus the effect on people, with the covariance of the pairs that both
judged. An interval that excludes zero shows a difference that is unlikely to be noise.
"""

from conjury.analysis.conjoint import people_diffs
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
simulated = simulate(study, 1, respondents=300, pairs=3000, judges=["human", "gpt4o"], prompts=["baseline"])
fit = people_diffs(simulated.choices, "chosen ~ slur + topic + reply", judge="gpt4o", prompt="baseline")
figure = fit.plot(labels=study)
