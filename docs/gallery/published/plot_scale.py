"""
How does precision increase with the number of pairs?
=====================================================

The effects of topics are estimated from 1,000, 10,000 and 30,000 pairs of the same model. Intervals become
shorter with the square root: with ten times the pairs they are a third as wide.
"""

import pandas as pd

from conjury.analysis.conjoint import amce
from conjury.analysis.raters import Result
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, judges=["gpt4o"], prompts=["baseline"]).choices
fits = []
for pairs in (1_000, 10_000, 30_000):
    fit = amce(choices.head(2 * pairs), "chosen ~ topic + reply", id="pair_id")
    fits.append(fit.frame.assign(variant=f"{pairs:,} pairs"))
figure = Result(pd.concat(fits), "amce", real_judges=()).plot(labels=study, bounds="95% intervals")
