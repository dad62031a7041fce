"""
Which kinds of jokes are confused with each other?
==================================================

Rows are gold labels, and cells are percentages of the answers to such jokes. Large values off the diagonal
are systematic confusions: whatever the joke, this model often labels it observational.
"""

from conjury.analysis.benchmark import confusion, score
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
simulated = simulate_labels(study, seed=1, items=200, judges=["qwen3_32b"])
scored = score(simulated.judgments, simulated.labels, items=simulated.items).of(condition="none")
figure = confusion(scored).plot(task="joke_type", labels=study)
