"""
How much would effects change with other users and texts?
=========================================================

Users and texts have random effects here, so the intervals are about all users and texts like these. Where
their variance is estimated as zero, the intervals are those of a model without them.
"""

import warnings

from conjury.analysis.conjoint import mixed
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

warnings.simplefilter("ignore")  # of a variance that is estimated as zero
study = load_study("moderation")
choices = simulate(study, seed=1, pairs=3000, judges=["gpt4o"], prompts=["baseline"]).choices
figure = mixed(choices, "chosen ~ topic + reply + curse", random=["text", "user"]).plot(labels=study)
