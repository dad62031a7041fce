"""
How many pairs are needed to detect an effect of two percentage points?
=======================================================================

The more levels an attribute has, the fewer pairs compare any two of them. A binary attribute reaches 80%
power with fewer than half of the pairs that seven levels need.
"""

from conjury.analysis.conjoint import power
from conjury.inference.study import load_study

study = load_study("moderation")
features = ["slur", "identity", "reply", "curse"]
planned = power(study, amce=0.02, pairs=[3000, 10000, 30000], features=features)
figure = planned.plot(labels=study)
