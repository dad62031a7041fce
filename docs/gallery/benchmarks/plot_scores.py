"""
Which model labels jokes best?
==============================

All models are far above the dashed baseline, which always gives the commonest label. Macro-F1 is lower than
accuracy, since rare kinds of jokes are recognised less often.
"""

from conjury.analysis.benchmark import score, scores
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
simulated = simulate_labels(study, seed=1, items=100)
scored = score(simulated.judgments, simulated.labels, items=simulated.items).of(condition="none")
result = scores(scored, metrics=["accuracy", "macro_f1"], missing=["wrong"], draws=200)
figure = result.plot(labels=study)
