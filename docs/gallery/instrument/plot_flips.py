"""
How many decisions change with the prompt?
==========================================

Two prompts give different decisions on some of the pairs. Part of this is noise, as repeats of the same
request show; the net share is the share after subtracting this noise.
"""

from conjury.analysis.instrument import flips
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
prompts = ["baseline", "context_aware", "context_free"]
options = {"judges": ["gpt4o"], "prompts": prompts, "samples": 2, "noise": 0.1}
choices = simulate(study, seed=1, pairs=800, **options).choices
figure = flips(choices).plot(labels=study)
