"""
What do several answers per joke add?
=====================================

With five answers at least one is right more often, and all are right less often, than with one. The majority
of five is hardly better than a single answer here.
"""

from conjury.analysis.benchmark import passes, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study, judges = load_any_study("multiturn"), ["qwen3_32b", "olmo3_1_32b", "qwen3_8b"]
simulated = simulate_labels(study, seed=1, items=80, judges=judges)
scored = score(simulated.judgments, simulated.labels, items=simulated.items).of(condition="none")
figure = passes(scored, metrics=["pass_at_k", "pass_all_k"], draws=200).plot(labels=study)
