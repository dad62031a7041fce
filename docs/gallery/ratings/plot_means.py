"""
Which responses do models find funnier than people do?
======================================================

Responses that do not fit their topic are rated higher by models than by people. Differences between kinds of
responses are smaller in the ratings of models.
"""

from conjury.analysis.raters import means
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
options = {"by": "response_type", "dimensions": ["novelty", "funniness"], "cluster": "topic_id"}
figure = means(simulated.judgments, simulated.items, **options).plot(labels=study)
