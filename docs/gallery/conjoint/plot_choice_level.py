"""
Are posts by Black authors reviewed before posts by white authors?
==================================================================

The estimate uses only tasks with one Black and one white author who write about the same topic. A share of
one half means that the author makes no difference there.
"""

from conjury.analysis.conjoint import choice_level
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=8000, judges=["gpt4o"], prompts=["baseline"]).choices
women = ("black_female", "white_female")
men = ("black_male", "white_male")
both = (["black_male", "black_female"], ["white_male", "white_female"])
fit = choice_level(choices, "chosen ~ identity", [both, women, men], id="pair_id", same="topic")
figure = fit.plot(labels=study)
