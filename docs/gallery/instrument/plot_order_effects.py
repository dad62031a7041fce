"""
Does the judge follow the order of the options?
===============================================

Every pair was shown in both orders. The judge chooses the first option in more than half of the tasks, and in
some pairs it chooses the first option in both orders.
"""

import numpy as np
import pandas as pd

from conjury.analysis.instrument import order_effects

random, n = np.random.default_rng(1), 300
kind, parts = random.integers(0, 2, (n, 2)), []
for order, shown in {"given": [0, 1], "swapped": [1, 0]}.items():
    one = kind[:, shown]
    first = random.random(n) < 1 / (1 + np.exp(-0.8 - 1.5 * (one[:, 0] - one[:, 1])))
    ids = {"pair_id": np.arange(n).repeat(2), "position": ["A", "B"] * n, "option_order": order}
    ids["profile_id"] = (2 * np.arange(n)[:, None] + shown).ravel()
    chosen = np.column_stack([first, ~first]).ravel().astype(int)
    parts.append(pd.DataFrame(ids).assign(kind=np.where(one.ravel(), "yes", "no"), chosen=chosen))
choices = pd.concat(parts).assign(judge_id="Model", judge_kind="model")
figure = order_effects(choices, "chosen ~ kind").plot()
