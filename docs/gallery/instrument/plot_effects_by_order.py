"""
Are effects the same when the order is averaged out?
====================================================

Effects are shown for each position and averaged over positions; in the average a preference for the first
option cancels out. Here the order affects the choices but hardly the effects.
"""

import numpy as np
import pandas as pd

from conjury.analysis.instrument import order_effects

random, n = np.random.default_rng(2), 400
tone, parts = random.integers(0, 3, (n, 2)), []
for order, shown in {"given": [0, 1], "swapped": [1, 0]}.items():
    one = tone[:, shown]
    first = random.random(n) < 1 / (1 + np.exp(-0.8 - 0.7 * (one[:, 0] - one[:, 1])))
    ids = {"pair_id": np.arange(n).repeat(2), "position": ["A", "B"] * n, "option_order": order}
    ids["profile_id"] = (2 * np.arange(n)[:, None] + shown).ravel()
    words = np.array(["blunt", "neutral", "kind"])[one.ravel()]
    parts.append(pd.DataFrame(ids).assign(tone=words, chosen=np.column_stack([first, ~first]).ravel() * 1))
choices = pd.concat(parts).assign(judge_id="Model", judge_kind="model")
figure = order_effects(choices, "chosen ~ tone").plot(part="effects")
