"""
Does a curse word change the effect of an insult?
=================================================

Each point is the effect of an insult in posts with a curse word minus its effect in posts without one. Where
the interval contains zero, the effects of the two attributes may be additive.
"""

from conjury.analysis.conjoint import interaction
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=8000, judges=["gpt4o"], prompts=["baseline"]).choices
fit = interaction(choices, "chosen ~ slur + curse", "slur", "curse", id="pair_id")
figure = fit.plot(labels=study)
