"""
Which kinds of harm do models overlook?
=======================================

Harm that is only implied is detected less often than explicit harm. An overall accuracy does not show which
of the two a model misses.
"""

from conjury.analysis.benchmark import score, scores
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("harm_or_humor")
simulated = simulate_labels(study, seed=1, items=300)
scored = score(simulated.judgments, simulated.labels, covers=study.gold.covers, items=simulated.items)
figure = scores(scored, missing=["wrong"], draws=200).plot(part="recalls", labels=study)
