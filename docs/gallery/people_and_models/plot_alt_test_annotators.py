"""
Over which people does a model win?
===================================

Each row is one person and shows how much better the model agrees with the other people than this person does.
The model wins over a person with careless labels by a wide margin.
"""

import numpy as np
import pandas as pd

from conjury.analysis.raters import alt_test

random, items = np.random.default_rng(1), [f"item_{k}" for k in range(120)]
truth = random.choice(["fine", "toxic"], 120)
other = np.where(truth == "fine", "toxic", "fine")
right = {"Ann": 0.95, "Ben": 0.9, "Eva": 0.85, "Max": 0.8, "Zoe": 0.7, "Model": 0.85}
parts = []
for judge, share in right.items():
    labels = np.where(random.random(120) < share, truth, other)
    kind = "model" if judge == "Model" else "human"
    parts.append(pd.DataFrame({"item_id": items, "judge_id": judge, "judge_kind": kind, "value": labels}))
result = alt_test(pd.concat(parts), "Model", epsilon=0.1, draws=200)
figure = result.plot(show="annotators", model="Model")
