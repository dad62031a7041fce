"""
Are effects the same in both positions?
=======================================

Each point is the effect of a level in position A minus its effect in position B. Intervals that contain zero
are compatible with pooling the two positions.
"""

from conjury.analysis.checks import run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=300, judges=["human"]).choices
[check] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ304"])
figure = check.plot(labels=study)
