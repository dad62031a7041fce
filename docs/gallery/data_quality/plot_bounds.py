"""
What could the missing answers have changed?
============================================

One pair in fifty is refused. The bars show all values that an effect could have, whatever the refused answers
would have been, and the dashed lines add sampling error.
"""

from conjury.analysis.conjoint import amce, bounds
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
refused = choices["pair_id"].isin(choices["pair_id"].unique()[::50])
choices["chosen"] = choices["chosen"].mask(refused)
figure = bounds(amce, choices, "chosen ~ slur + reply", id="pair_id").plot(labels=study)
