"""
How many answers could be parsed as a label?
============================================

The other answers are refused, empty, cut off at the token limit, or contain no label of the study. Models
differ in these shares, so a score of the answered items alone would compare different items.
"""

from conjury.analysis.benchmark import readings
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("multiturn")
figure = readings(simulate_labels(study, seed=1, items=60).judgments).plot(labels=study)
