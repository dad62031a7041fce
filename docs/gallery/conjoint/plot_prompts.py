"""
Which effects does the prompt change?
=====================================

The model judged the same pairs under three prompts. Under the prompt that asks for context all effects are a
little smaller; none of the prompts changes the order of the insults.
"""

from conjury.analysis.conjoint import cj
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
prompts = ["baseline", "context_aware", "context_free"]
choices = simulate(study, seed=1, pairs=3000, judges=["gpt4o"], prompts=prompts).choices
fit = cj(choices.rename(columns={"prompt_id": "prompts"}), "chosen ~ slur", id="pair_id", by="prompts")
figure = fit.plot(labels=study)
