"""
After how many items is agreement known precisely enough?
=========================================================

Items are labelled one after the other. The band is valid at every look, so labelling may stop as soon as it
excludes an agreement that would be too low.
"""

from conjury.analysis.raters import agreement, sequential
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
judgments = simulate_ratings(study, seed=1, topics=50, people=32, judges=["human", "gpt_4_1"]).judgments
options = {"coefficients": "gwet", "weights": "ordinal", "dimension": "funniness"}
path = sequential(agreement, judgments, looks=range(100, 400, 25), **options)
figure = path.plot(labels=study)
