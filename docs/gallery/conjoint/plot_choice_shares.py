"""
Which of four posts would be reviewed first?
============================================

A logit model of all choices predicts how often each of these four posts would be chosen among them. The
shares depend on the competitors: with other posts in the set they change.
"""

from conjury.analysis.conjoint import choice_shares
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
posts = {
    "Racist slur, everyday life": {"slur": "racism", "topic": "everyday"},
    "Racist slur, politics": {"slur": "racism", "topic": "politics"},
    "Sexist slur, politics": {"slur": "sexism", "topic": "politics"},
    "No insult, sport": {"slur": "none", "topic": "sport"},
}
figure = choice_shares(choices, "chosen ~ slur + topic", posts, id="pair_id").plot(labels=study)
