"""
Which of two topics is reviewed first?
======================================

Every cell is the share of tasks in which the topic of the row is chosen over that of the column. Politics is
chosen over each other topic in more than half of the tasks that show both.
"""

from conjury.analysis.conjoint import afcp
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=8000, judges=["gpt4o"], prompts=["baseline"]).choices
figure = afcp(choices, "chosen ~ topic", id="pair_id").plot(labels=study)
