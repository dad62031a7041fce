"""
How much cheaper would a model have to be to replace a person?
==============================================================

Epsilon is the disadvantage that is accepted because a model costs less. Each line shows over how many people
a model wins; the points mark the smallest epsilon with which it passes.
"""

import numpy as np
import pandas as pd

from conjury.analysis.raters import alt_test, epsilon_curve

random, n = np.random.default_rng(1), 200
truth = random.choice(["fine", "toxic"], n)
right = {"Ann": 0.95, "Ben": 0.9, "Eva": 0.85, "Max": 0.8, "Model A": 0.9, "Model B": 0.7}
parts = []
for judge, share in right.items():
    kind = "model" if judge.startswith("Model") else "human"
    labels = np.where(random.random(n) < share, truth, random.permutation(truth))
    parts.append(
        pd.DataFrame({"item_id": np.arange(n), "judge_id": judge, "judge_kind": kind, "value": labels})
    )
figure = epsilon_curve(alt_test(pd.concat(parts), draws=50)).plot()
