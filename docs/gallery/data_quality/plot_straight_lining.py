"""
Do respondents choose the same position in a row too often?
===========================================================

The bars show the longest run of one position for each respondent, and the line the runs expected by chance.
One respondent in ten was made to choose position A throughout, which is visible at the right end.
"""

from conjury.analysis.checks import run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=200, judges=["human"]).choices
lazy = choices["judge_id"].str.fullmatch(r"human_\d{3}7")
choices.loc[lazy, "chosen"] = (choices.loc[lazy, "position"] == "A").astype(int)
[check] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ204"])
figure = check.plot(labels=study)
