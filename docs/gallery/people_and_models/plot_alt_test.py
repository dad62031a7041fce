"""
May a model replace a person of the panel?
==========================================

A model passes if it agrees with the others at least as well as at least half of the people do, up to a
margin of 0.1. The share of people over whom it wins is shown with its interval.
"""

from conjury.analysis.raters import alt_test
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
judgments = simulate_ratings(study, seed=1, topics=60, people=32).judgments
result = alt_test(judgments, dimension=["funniness", "clarity"], epsilon=0.1, draws=200)
figure = result.plot(labels=study)
