"""
Do two attributes vary independently?
=====================================

Each cell is the share of profiles with a combination of levels. Under independence the cells of a row have
equal shares where the levels of the column are equally probable.
"""

from conjury.analysis.conjoint import cj_props
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
figure = cj_props(choices, "chosen ~ slur + topic").plot(labels=study)
