"""
When is an effect known precisely enough to stop collecting?
============================================================

The band is valid at every look at the data, so collection may stop as soon as it is narrow enough. The dashed
limits are valid at one look only, which has to be chosen in advance.
"""

from conjury.analysis.conjoint import amce, sequential
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
simulated = simulate(study, 1, pairs=3000, judges=["gpt4o"], prompts=["baseline"], truth=False)
path = sequential(amce, simulated.choices, "chosen ~ reply + curse", id="pair_id")
figure = path.plot(labels=study)
