"""
How many respondents can prefer a reply that disagrees?
=======================================================

An average effect is compatible with a small share of respondents who care much and with a large share who
care little. The bars are all shares that the effect allows.
"""

from conjury.analysis.conjoint import amce, share_preferring
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=500, judges=["human"]).choices
fit = amce(choices, "chosen ~ slur + identity + topic + reply + curse + engagement", id="judge_id")
figure = share_preferring(fit).plot(labels=study)
