"""
Do most people react to an insult, or a few people strongly?
============================================================

An average effect is compatible with many shares of people who prefer a level, and the bars show all of them.
Only for racist and homophobic slurs does the effect imply that a majority reacts.
"""

from conjury.analysis.conjoint import amce, share_preferring
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=500, judges=["human"]).choices.query("~repeat")
fit = amce(choices, "chosen ~ slur + identity + topic + reply + curse + engagement", id="judge_id")
figure = share_preferring(fit).plot(labels=study)
