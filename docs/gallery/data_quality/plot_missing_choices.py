"""
Does a model refuse some posts more often than others?
======================================================

Here the model refuses pairs with a racist slur. Such answers are not missing at random: the estimates
describe the posts that it accepted to judge.
"""

from conjury.analysis.checks import run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=3000, judges=["gpt4o"], prompts=["baseline"]).choices
racist = choices["pair_id"].isin(choices.loc[choices["slur"] == "racism", "pair_id"])
refused = racist & choices["pair_id"].str[-1].isin(["3", "7"])
choices["chosen"] = choices["chosen"].mask(refused)
choices["status"] = choices["status"].mask(refused, "refused")
[check] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ302"])
figure = check.plot(labels=study)
