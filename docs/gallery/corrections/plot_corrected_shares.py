"""
What share of comments would people call toxic?
===============================================

Three people labelled 150 of 1,500 comments, and a model all of them. The model calls too many comments toxic;
the corrected share is that of people, with a shorter interval.
"""

import numpy as np
import pandas as pd

from conjury.analysis.raters import prediction_powered

random, n, parts = np.random.default_rng(1), 1500, []
truth = random.choice(["fine", "toxic"], n, p=[0.7, 0.3])
other = np.where(truth == "fine", "toxic", "fine")
for judge, labelled, right in (("Ann", 150, 0.95), ("Ben", 150, 0.9), ("Eva", 150, 0.9), ("Model", n, 0.85)):
    labels = np.where(random.random(n) < right, truth, other)[:labelled]
    table = pd.DataFrame({"item_id": np.arange(labelled), "judge_id": judge, "value": labels})
    parts.append(table.assign(judge_kind="model" if judge == "Model" else "human", dimension="tone"))
figure = prediction_powered(pd.concat(parts), statistic="share").plot()
