"""
Which of three posts would be reviewed first?
=============================================

A logit model of all choices predicts how often each of these posts would be chosen among the three. The
shares depend on the competitors: with other posts in the set they change.
"""

from conjury.analysis.conjoint import choice_shares
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

study = load_study("moderation")
choices = simulate(study, seed=1, pairs=4000, judges=["gpt4o"], prompts=["baseline"]).choices
posts = {
    "Reclaimed slur, politics": {"slur": "reclaimed", "topic": "politics"},
    "Homophobic slur, sport": {"slur": "homophobia", "topic": "sport"},
    "Slur against white people, work": {"slur": "reverse_racism", "topic": "work"},
}
figure = choice_shares(choices, "chosen ~ slur + topic", posts, id="pair_id").plot(labels=study)
