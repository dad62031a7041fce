"""
What share of the answers can be used?
======================================

Models refuse some of the posts. Answers without a valid choice are treated as missing and excluded, so every
report should give their share.
"""

from conjury.analysis.checks import run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
simulated = simulate(study, 1, respondents=100, pairs=1500, judges=["human", "gpt4o"], prompts=["baseline"])
choices = simulated.choices
refused = (choices["judge_kind"] == "model") & (choices["pair_id"].str[-1] == "7")
choices["chosen"] = choices["chosen"].mask(refused)
choices["status"] = choices["status"].mask(refused, "refused")
[check] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ301"])
figure = check.plot(labels=study)
