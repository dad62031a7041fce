"""
How much cheaper would a model have to be to replace a person?
==============================================================

Epsilon is the disadvantage that is accepted because a model costs less. Each line shows over how many people
a model wins; the points mark the smallest epsilon with which it passes.
"""

from conjury.analysis.raters import alt_test, epsilon_curve
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
judgments = simulate_ratings(study, seed=1, topics=60, people=32).judgments
result = alt_test(judgments, dimension="funniness", draws=200)
figure = epsilon_curve(result).plot(labels=study)
