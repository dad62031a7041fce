"""
How low could accuracy be, had all items been answered?
=======================================================

The bars reach from all missing answers wrong to all of them right. A model that answers everything has no
bar; that of a model with many refusals is wide.
"""

from conjury.analysis.benchmark import bounds, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("harm_or_humor")
simulated = simulate_labels(study, seed=1, items=200)
scored = score(simulated.judgments, simulated.labels, items=simulated.items)
figure = bounds(scored, metrics=["accuracy"], draws=200).plot(labels=study)
