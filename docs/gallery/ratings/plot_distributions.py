"""
Which points of a scale does each judge use?
============================================

People use all points of the scale. The models rate nearly everything as clear, and mostly use one point of
the scale of funniness.
"""

from conjury.analysis.raters import distributions
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
ratings = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
result = distributions(ratings.judgments, dimensions=["funniness", "clarity"])
figure = result.plot(labels=study)
