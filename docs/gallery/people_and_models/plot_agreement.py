"""
Do models agree with people as people agree with each other?
============================================================

The people agree with each other more than either model agrees with them. Krippendorff's alpha and Gwet's
coefficient treat chance agreement differently and are therefore shown together.
"""

from conjury.analysis.raters import agreement
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
ratings = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1", "gemini_2_5_pro"])
result = agreement(ratings.judgments, ["krippendorff", "gwet"], dimension="funniness", draws=200)
figure = result.plot(labels=study)
