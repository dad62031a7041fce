"""
May a model replace a person of the panel?
==========================================

A model passes if it wins over at least half of the people, by agreeing with the others as well as they do up
to a margin of 0.15. Only the more accurate model passes.
"""

import numpy as np
import pandas as pd

from conjury.analysis.raters import alt_test

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
figure = alt_test(pd.concat(parts), epsilon=0.15, draws=200).plot()
