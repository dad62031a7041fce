"""
Does the previous task influence a choice?
==========================================

A respondent may choose differently because the previous pair showed the same level, or because of the
previous choice. The points estimate such influences, which are absent from these simulated data.
"""

from conjury.analysis.checks import run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=300, judges=["human"]).choices
[check] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ306"])
figure = check.plot(labels=study)
