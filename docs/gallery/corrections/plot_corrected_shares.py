"""
What share of texts would people call harmful?
==============================================

People labelled a fifth of the items. The answers of two models to all items shorten the interval of the share
among people, and do not shift it toward their own.
"""

from conjury.analysis.raters import prediction_powered
from conjury.inference.simulation import simulate_labels
from conjury.inference.study import load_any_study

study = load_any_study("harm_or_humor")
judges = ["human", "gpt_4o", "gemini_3_pro"]
judgments = simulate_labels(study, seed=1, items=300, judges=judges).judgments
labelled = judgments["item_id"].drop_duplicates().sample(frac=0.2, random_state=1)
few = judgments[judgments["judge_kind"].eq("model") | judgments["item_id"].isin(labelled)]
figure = prediction_powered(few, statistic="share").plot(labels=study)
