"""
Does it matter how missing answers count?
=========================================

Some models give no valid answer to many jokes. If these answers count as wrong, their accuracy is far below
that on the answers given, and the order of models changes.
"""

from conjury.analysis.benchmark import score, scores
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
simulated = simulate_labels(study, seed=1, items=100)
judgments = simulated.judgments.query("dimension == 'joke_type'")
scored = score(judgments, simulated.labels, items=simulated.items).of(condition="none")
result = scores(scored, metrics=["accuracy"], missing=["wrong", "missing"], draws=200)
figure = result.plot(part="policies", labels=study)
