"""
Is a judge as sure as it should be?
===================================

Labels that the model calls 95% probable are correct in about 70% of cases: its probabilities are too extreme.
The band shows where the curve of a calibrated judge would be.
"""

import numpy as np
import pandas as pd

from conjury.analysis.benchmark import calibration, score

random, items = np.random.default_rng(1), [f"item_{k}" for k in range(600)]
stated = random.uniform(0.5, 1, 600)
correct = random.uniform(size=600) < 0.5 + 0.6 * (stated - 0.5)
gold = random.choice(["safe", "harmful"], 600)
given = np.where(correct, gold, np.where(gold == "safe", "harmful", "safe"))
judged = pd.DataFrame({"judge_id": "Model", "judge_kind": "model", "item_id": items, "dimension": "harm"})
judged = judged.assign(value=given, probability=stated)
labels = pd.DataFrame({"item_id": items, "label_set": "harm", "label": gold})
figure = calibration(score(judged, labels), draws=200).plot()
