"""
Does a conclusion depend on the prompt that was used?
=====================================================

Each column is one prompt, sorted by the effect of a reply that disagrees. The effect is positive under all
five prompts, and its size differs little between them.
"""

from conjury.analysis.instrument import specifications
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
prompts = ["baseline", "context_aware", "context_free", "name_only", "face_only"]
choices = simulate(study, seed=1, pairs=3000, judges=["gpt4o"], prompts=prompts).choices
curve = specifications(choices, "chosen ~ slur + reply", draws=500)
figure = curve.plot(feature="reply", level="disagree", labels=study)
