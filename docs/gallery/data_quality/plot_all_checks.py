"""
Which checks does a data set pass?
==================================

Each cell is a check of the design, the people or the answers. The warning is about the ten texts of each
topic: they are few if conclusions are to hold for other texts.
"""

from conjury.analysis.checks import diagnose, summary
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
simulated = simulate(study, 1, respondents=100, pairs=600, judges=["human", "gpt4o"], prompts=["baseline"])
figure = summary(diagnose(study, simulated.choices)).plot(labels=study)
