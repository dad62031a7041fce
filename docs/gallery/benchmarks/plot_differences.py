"""
Which differences between models are more than noise?
=====================================================

The models labelled the same jokes, so differences are paired and their intervals are short. An interval that
contains zero does not show which of two models is better.
"""

from conjury.analysis.benchmark import differences, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
judges = ["qwen3_32b", "olmo3_1_32b", "qwen3_8b", "falcon3_10b"]
simulated = simulate_labels(study, seed=1, items=100, judges=judges)
scored = score(simulated.judgments, simulated.labels, items=simulated.items).of(condition="none")
figure = differences(scored, metrics=["accuracy"], draws=200).plot(labels=study)
