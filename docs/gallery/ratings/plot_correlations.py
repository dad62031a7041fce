"""
On which scales do models rate as people do?
============================================

Correlations with the mean rating of people are higher on some scales than on others. Topics are resampled,
since responses to one topic are not independent.
"""

from conjury.analysis.raters import correlations
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
options = {"coefficients": ["spearman"], "cluster": "topic_id", "draws": 200}
figure = correlations(simulated.judgments, simulated.items, **options).plot(labels=study)
