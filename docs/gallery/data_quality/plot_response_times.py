"""
Who answers too fast to have read the posts?
============================================

Times are around 25 seconds per task, and a few respondents take less than a second. Examine these respondents
before you exclude any.
"""

import numpy as np

from conjury.analysis.checks import run_checks
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, respondents=200, judges=["human"]).choices
random, person = np.random.default_rng(1), choices["judge_id"].str.removeprefix("human_").astype(int)
usual = np.where(person % 25 == 0, 0.8, random.lognormal(3.2, 0.4, 201)[person])
choices["seconds"] = (usual * random.lognormal(0, 0.3, len(choices))).round(1)
[check] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ203"])
figure = check.plot(labels=study)
