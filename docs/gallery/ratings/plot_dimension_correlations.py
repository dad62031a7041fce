"""
Which scale is most correlated with funniness?
==============================================

The outlined scale has the highest correlation with funniness: empathy for the people, and novelty for the two
models. People and models may find different things funny.
"""

from conjury.analysis.raters import dimension_correlations
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
result = dimension_correlations(simulated.judgments, simulated.items, main="funniness", draws=100)
figure = result.plot(labels=study)
