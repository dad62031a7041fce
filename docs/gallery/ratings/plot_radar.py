"""
How do mean ratings differ over all scales?
===========================================

Each spoke is a scale. The figure gives an impression of profiles; for comparisons with intervals the dots of
the same result are the better figure.
"""

from conjury.analysis.raters import means
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
result = means(simulated.judgments, simulated.items, by="modality")
figure = result.plot(part="radar", labels=study)
