"""
Would effects differ among posts as they occur?
===============================================

In the study every kind of insult is equally frequent; in this target half of the posts have none. Each point
is the change of an effect from the study's distribution to the target.
"""

from conjury.analysis.conjoint import target_sensitivity
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
target = {"slur": dict.fromkeys(study.level_labels["slur"], 0.5 / 6) | {"none": 0.5}}
fit = target_sensitivity(choices, "chosen ~ topic + reply + curse", target, id="pair_id")
figure = fit.plot(labels=study)
