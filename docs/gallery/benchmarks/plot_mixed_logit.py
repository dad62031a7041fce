"""
How much better are the odds of a right answer?
===============================================

Every item has an intercept of its own in this model, so that odds ratios compare models on the same item.
They are further from 1 than ratios of average odds would be.
"""

from conjury.analysis.benchmark import mixed_logit, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study, judges = load_any_study("multiturn"), ["qwen3_32b", "olmo3_1_32b", "qwen3_8b"]
simulated = simulate_labels(study, seed=1, items=100, judges=judges, samples=1)
scored = score(simulated.judgments, simulated.labels, items=simulated.items).of(condition="none")
figure = mixed_logit(scored).plot(labels=study)
