"""
Do judges put good, middling and bad responses in order?
========================================================

The mean rating of people orders most tiers correctly, and single ratings fewer. The two models order the
tiers of a topic no better than chance does.
"""

from conjury.analysis.raters import tier_accuracy
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
tiers = {"levels": ["high", "mid", "low"], "column": "response_type", "within": "topic_id", "draws": 200}
result = tier_accuracy(simulated.judgments, simulated.items, dimension="funniness", **tiers)
figure = result.plot(labels=study)
