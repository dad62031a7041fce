"""
What would people rate if they had rated everything?
====================================================

People rated a fifth of the responses, and the model all of them. Means of the model alone are strongly
biased, the corrected means are not. The gains at the right are near 1: this model hardly helps.
"""

from conjury.analysis.raters import means
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
simulated = simulate_ratings(study, 1, topics=40, people=32, judges=["human", "gpt_4_1"])
rated = simulated.items["item_id"].sample(frac=0.2, random_state=1)
kept = simulated.judgments["judge_kind"].eq("model") | simulated.judgments["item_id"].isin(rated)
options = {"correct": "ppi", "model": "gpt_4_1", "dimensions": ["funniness", "clarity"], "by": "modality"}
figure = means(simulated.judgments[kept], simulated.items, **options).plot(labels=study)
