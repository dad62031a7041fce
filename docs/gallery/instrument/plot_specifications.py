"""
Does a conclusion depend on the prompt that was used?
=====================================================

Each column is one prompt, sorted by the effect. An effect whose sign or significance changes along the curve
is a property of the wording as much as of the judge.
"""

from conjury.analysis.instrument import specifications
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
prompts = ["baseline", "context_aware", "context_free", "name_only", "face_only"]
choices = simulate(study, seed=1, pairs=2000, judges=["gpt4o"], prompts=prompts).choices
choices = choices[choices["slur"].isin(["generic", "reclaimed"])]
figure = None
