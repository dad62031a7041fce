"""
How many answers could be read as a label?
==========================================

The rest of the answers is refused, empty, cut at the token limit, or names no label of the study. Models
differ in this, and so a score of the answered items alone would compare different items.
"""

from conjury.analysis.benchmark import readings
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
figure = readings(simulate_labels(study, seed=1, items=60).judgments).plot(labels=study)
