"""
Which models label jokes better than a constant answer?
=======================================================

The dashed line is the score of a judge that always gives the most frequent label. Most models are below it,
since answers that contain no label count as wrong.
"""

from conjury.analysis.benchmark import score, scores
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
simulated = simulate_labels(study, seed=1, items=100)
scored = score(simulated.judgments, simulated.labels, items=simulated.items).of(condition="none")
result = scores(scored, metrics=["accuracy", "macro_f1"], missing=["wrong"], draws=200)
figure = result.plot(labels=study)
