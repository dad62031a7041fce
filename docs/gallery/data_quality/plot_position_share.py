"""
Do people or models prefer the first of two posts?
==================================================

Without a preference for a position the post in position A is chosen in half of the tasks. The people's
answers were modified: one person in ten chooses A whatever it shows.
"""

from conjury.analysis.checks import run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
simulated = simulate(study, 1, respondents=200, pairs=1500, judges=["human", "gpt4o"], prompts=["baseline"])
choices = simulated.choices
lazy = choices["judge_id"].str.fullmatch(r"human_\d{3}7")
choices.loc[lazy, "chosen"] = (choices.loc[lazy, "position"] == "A").astype(int)
[check] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ303"])
figure = check.plot(labels=study)
