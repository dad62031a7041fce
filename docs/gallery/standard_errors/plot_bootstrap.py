"""
Do effects generalise to other texts and other authors?
=======================================================

Texts and authors are resampled together, so the intervals are about posts with other texts by other authors.
They are wider than intervals that treat the texts as given.
"""

from conjury.analysis.conjoint import amce, bootstrap
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=3000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = bootstrap(amce, choices, "chosen ~ topic + reply", unit=["text", "user"], draws=200, seed=1)
figure = fit.plot(labels=study)
