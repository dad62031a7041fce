"""
How far would effects move with other texts of the same topics?
===============================================================

Texts and authors are random factors here, so the intervals of topics are wide: ten texts stand for a topic.
Effects of replies, which vary within each text, stay precise.
"""

from conjury.analysis.conjoint import mixed
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=3000, judges=["gpt4o"], prompts=["baseline"]).choices
figure = mixed(choices, "chosen ~ topic + reply + curse", random=["text", "user"]).plot(labels=study)
