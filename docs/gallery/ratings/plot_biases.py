"""
Do models favour their own responses?
=====================================

Given the general level of ratings, models are compared on responses that they wrote themselves, with people
as the standard of quality. A remaining advantage is self-preference.
"""

from conjury.analysis.raters import biases
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
options = {"generator": "generator", "dimensions": "funniness", "cluster": "topic_id", "draws": 200}
figure = biases(simulated.judgments, simulated.items, **options).plot(labels=study)
