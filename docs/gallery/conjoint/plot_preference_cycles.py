"""
Do preferences between topics form a cycle?
===========================================

If topics have one order, the direct share of two topics equals the one that follows from their shares
against a third topic. No triple of topics deviates from this here.
"""

from conjury.analysis.conjoint import preference_cycles
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=8000, judges=["gpt4o"], prompts=["baseline"]).choices
figure = preference_cycles(choices, "chosen ~ topic", id="pair_id").plot(labels=study)
