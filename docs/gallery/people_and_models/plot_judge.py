"""
How good is a judge compared with three people?
===============================================

The comments and labels are made up: a model and three people label each comment toxic or fine. Agreement is
shown next to that among people, with base rates, errors by class and subgroups.
"""

import numpy as np
import pandas as pd

import conjury

random = np.random.default_rng(5)
truth = random.choice(["fine", "toxic"], 200, p=[0.7, 0.3])
other = np.where(truth == "fine", "toxic", "fine")
right = {"model": 0.85, "ann": 0.9, "ben": 0.85, "eva": 0.95}
comments = pd.DataFrame({name: np.where(random.random(200) < p, truth, other) for name, p in right.items()})
comments["language"] = random.choice(["English", "German"], 200)
figure = conjury.judge(comments, "model", ["ann", "ben", "eva"], by="language").plot()
