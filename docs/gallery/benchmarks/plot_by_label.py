"""
Which kinds of jokes does a model name too often?
=================================================

A label that is given as often as it is correct is at 1. The models differ in the labels that they give too
often, which an overall accuracy does not show.
"""

from conjury.analysis.benchmark import by_label, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study, judges = load_any_study("multiturn"), ["qwen3_32b", "olmo3_1_32b"]
simulated = simulate_labels(study, seed=1, items=150, judges=judges)
scored = score(simulated.judgments, simulated.labels, items=simulated.items).of(condition="none")
figure = by_label(scored, draws=200).plot(labels=study)
