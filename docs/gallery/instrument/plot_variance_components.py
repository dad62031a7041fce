"""
Where does the variance of answers come from?
=============================================

Objects are the pairs themselves, on which the answers should depend. The residual is the variance between
repeats of the same request; the rest is due to prompts and their interaction with pairs.
"""

from conjury.analysis.instrument import variance_components
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
prompts = ["baseline", "context_aware", "context_free"]
options = {"judges": ["gpt4o"], "prompts": prompts, "samples": 2, "noise": 0.1}
choices = simulate(study, seed=1, pairs=400, **options).choices
figure = variance_components(choices, draws=500).plot(labels=study)
