"""
What makes a model send a post to review?
=========================================

A racist slur raises the probability that a post is reviewed first far more than any topic does. Each effect
compares a level with the reference of its attribute, averaged over all other attributes.
"""

from conjury.analysis.conjoint import amce
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = amce(choices, "chosen ~ slur + identity + topic", id="pair_id")
figure = fit.plot(labels=study)
