"""
Which of many systems is best?
==============================

A judge compared pairs of answers of four assistants in both orders. Ranks have limits that hold for all
systems together; systems whose ranks overlap cannot be told apart.
"""

import numpy as np
import pandas as pd

import conjury

random = np.random.default_rng(4)
names = np.array(["small", "base", "tuned", "large"])
first, second = np.array([random.choice(4, 2, replace=False) for _ in range(300)]).T
a, b = np.concatenate([first, second]), np.concatenate([second, first])
chance = 1 / (1 + np.exp(0.45 * (b - a) - 0.3))  # the first position is preferred
winner = np.where(random.random(600) < chance, names[a], names[b])
table = {"prompt_id": np.tile(np.arange(300), 2), "model_a": names[a], "model_b": names[b], "winner": winner}
figure = conjury.compare_pairs(pd.DataFrame(table)).plot()
