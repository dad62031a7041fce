"""
How large is the effective sample size of each contrast?
========================================================

The effective sample size of a contrast is twice the harmonic mean of the numbers of profiles with the level
and with the reference. Attributes with many levels have the smallest.
"""

from conjury.analysis.checks import run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=2000, judges=["gpt4o"], prompts=["baseline"]).choices
[check] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ101"])
figure = check.plot(labels=study)
