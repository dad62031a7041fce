"""
Which scale goes along with funniness?
======================================

Outlined is the scale that correlates most with funniness: for the people it is empathy, and for the two
models novelty. They may find other things funny.
"""

from conjury.analysis.raters import dimension_correlations
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
result = dimension_correlations(simulated.judgments, simulated.items, main="funniness", draws=100)
figure = result.plot(labels=study)
