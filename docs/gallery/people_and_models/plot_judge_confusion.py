"""
Which labels does a judge confuse?
==================================

Each row is a label by the majority of three people, and the cells are shares of the model's answers to such
comments. The model often labels comments that are unclear to people as toxic.
"""

import numpy as np
import pandas as pd

import conjury

random, labels = np.random.default_rng(5), ["fine", "unclear", "toxic"]
truth = random.choice(labels, 300, p=[0.5, 0.2, 0.3])
people = {name: np.where(random.random(300) < 0.9, truth, "unclear") for name in ("ann", "ben", "eva")}
leaning = np.where(truth == "unclear", "toxic", random.choice(labels, 300))
model = np.where(random.random(300) < 0.7, truth, leaning)
comments = pd.DataFrame({"model": model, **people})
figure = conjury.judge(comments, "model", ["ann", "ben", "eva"], levels=labels).plot(part="confusion")
