"""
Are scores robust to small changes of the text?
===============================================

Each joke has perturbed copies that keep its meaning. Differences are paired by joke, and those below zero
mean that the change of wording costs accuracy.
"""

from conjury.analysis.benchmark import robustness, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
simulated = simulate_labels(study, seed=1, items=100, judges=["qwen3_32b", "olmo3_1_32b"])
scored = score(simulated.judgments, simulated.labels, items=simulated.items)
figure = robustness(scored, metrics=["accuracy"], draws=200).plot(labels=study)
