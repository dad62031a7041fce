"""
How many items does a replacement test need?
============================================

Lines show the probability that a model passes if it agrees as well as people do, by the number of people in
the panel. With few items even such a model often fails.
"""

from conjury.analysis.raters import alt_test_power

figure = alt_test_power(
    annotators=[3, 5, 10], instances=[30, 50, 100, 200], epsilon=[0.1, 0.2], simulations=200
).plot()
