"""
What can 10,000 planned pairs show?
===================================

The left panel shows the smallest detectable effects, the right panel the power for an effect of two
percentage points. The vertical line is the plan; the curves show the gain from more pairs.
"""

from conjury.analysis.conjoint import power
from conjury.inference.study import load_study

study = load_study("moderation")
planned = power(study, pairs=10000, power=0.8, features=["slur", "identity", "reply", "curse"])
figure = planned.plot(part="plan", effect=0.02, plan=10000, labels=study)
