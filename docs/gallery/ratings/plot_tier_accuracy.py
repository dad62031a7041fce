"""
Do judges put good, middling and bad responses in order?
========================================================

Single ratings order the three tiers of a topic only somewhat more often than chance does. The mean of several
ratings would do better, and so should a model be compared with both.
"""

from conjury.analysis.raters import tier_accuracy
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
tiers = {"levels": ["high", "mid", "low"], "column": "response_type", "within": "topic_id", "draws": 200}
result = tier_accuracy(simulated.judgments, simulated.items, dimension="funniness", **tiers)
figure = result.plot(labels=study)
