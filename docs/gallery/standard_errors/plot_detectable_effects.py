"""
Which effects can a planned number of pairs detect?
===================================================

Lines show the smallest effects that are detected with a power of 80%. An effect below the line may exist and
still not be significant.
"""

from conjury.analysis.conjoint import power
from conjury.inference.study import load_study

study = load_study("moderation")
features = ["slur", "identity", "reply", "curse"]
planned = power(study, pairs=[3000, 10000, 30000], power=0.8, features=features)
figure = planned.plot(labels=study)
