"""
How close are simulated effects to published ones?
==================================================

The published effects of one model are shown with those of the study's simulated model. This simulation uses
values near the published ones and is not a replication.
"""

from conjury.analysis.audit import compare_moderation, published_numbers
from conjury.analysis.conjoint import amce
from conjury.analysis.raters import Result
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=8000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = amce(choices, "chosen ~ slur + identity + topic + reply + curse + engagement", id="pair_id").frame
published = published_numbers("moderation")
both = compare_moderation(published, fit.assign(judge="gpt4o", variant="", prompt="baseline"))
figure = Result(both, "published").plot(labels=study)
