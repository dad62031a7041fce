"""
Does the effect of an insult depend on who writes the post?
===========================================================

Each point compares the effect of an insult by one kind of author with that by an anonymous author. Most
intervals contain zero: for this model the author hardly matters.
"""

from conjury.analysis.conjoint import amce_diffs
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=8000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = amce_diffs(choices, "chosen ~ slur", by="identity", id="pair_id")
figure = fit.plot(labels=study)
