"""
How much could unanswered items change a mean?
==============================================

One rating in seven is refused. The bars show all means that are possible with those ratings, and the dashed
lines add sampling error; the dots are the means of the ratings given.
"""

from conjury.analysis.raters import bounds
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

study = load_any_study("oogiri")
ratings = simulate_ratings(study, 1, topics=40, people=32, judges=["gpt_4_1", "gemini_2_5_pro"])
judgments, refused = ratings.judgments, ratings.judgments.index % 7 == 0
judgments = judgments.assign(
    value=judgments["value"].mask(refused), status=judgments["status"].mask(refused, "refused")
)
result = bounds(judgments, dimensions=["funniness", "clarity"], scale=range(5), draws=200)
figure = result.plot(labels=study)
