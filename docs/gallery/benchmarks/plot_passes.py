"""
What do several answers per joke add?
=====================================

At least one of five answers is right more often than a single answer, and all five are right less often. Both
curves are needed: the first shows what a model can do, the second how reliable it is.
"""

from conjury.analysis.benchmark import passes, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study, judges = load_any_study("multiturn"), ["qwen3_32b", "olmo3_1_32b", "qwen3_8b"]
simulated = simulate_labels(study, seed=1, items=80, judges=judges)
scored = score(simulated.judgments, simulated.labels, items=simulated.items).of(condition="none")
figure = passes(scored, metrics=["pass_at_k", "pass_all_k"], draws=200).plot(labels=study)
