"""
Which checks does a data set pass?
==================================

Each cell is a check of the design, the people or the answers. The warning is about the ten texts of each
topic: these are few for conclusions about other texts.
"""

from conjury.analysis.checks import run_checks, summary
from conjury.inference.readers.collected import CollectedData
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
simulated = simulate(study, 1, respondents=40, pairs=300, judges=["human", "gpt4o"], prompts=["baseline"])
collected = CollectedData(study=study, choices=simulated.choices)
figure = summary(run_checks(collected, checks=["CJ1", "CJ2", "CJ30"])).plot(labels=study)
