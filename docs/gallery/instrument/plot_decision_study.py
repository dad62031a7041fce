"""
How many prompts and repeats are enough?
========================================

Dependability is the share of the variance of a mean that is due to the pairs. Asking under more prompts
raises it more than repeating the same prompt does.
"""

from conjury.analysis.instrument import decision_study, variance_components
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
prompts = ["baseline", "context_aware", "context_free"]
options = {"judges": ["gpt4o"], "prompts": prompts, "samples": 2, "noise": 0.1}
choices = simulate(study, seed=1, pairs=400, **options).choices
plans = [{"prompt_id": p, "repeats": r} for p, r in ((1, 1), (1, 3), (3, 1), (3, 3), (5, 1))]
figure = decision_study(variance_components(choices, draws=500), plans).plot(labels=study)
