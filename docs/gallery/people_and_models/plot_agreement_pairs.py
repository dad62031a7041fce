"""
Who agrees with whom?
=====================

Every cell is Cohen's kappa of two judges on the items that both rated. The second model agrees with the first
rather than with the people, which an average over all pairs would not show.
"""

import numpy as np
import pandas as pd

from conjury.analysis.raters import agreement

random, items = np.random.default_rng(1), [f"item_{k}" for k in range(80)]
quality, style = random.normal(3, 1, 80), random.normal(3, 1, 80)
parts = []
for judge, weight in {"Ann": 1.0, "Ben": 0.9, "Eva": 0.9, "Model A": 0.6, "Model B": 0.2}.items():
    rated = weight * quality + (1 - weight) * style + random.normal(0, 0.5, 80)
    kind = "model" if judge.startswith("Model") else "human"
    table = {"item_id": items, "judge_id": judge, "judge_kind": kind, "value": rated.round().clip(1, 5)}
    parts.append(pd.DataFrame(table))
figure = agreement(pd.concat(parts), "cohen", draws=50).plot(part="pairs")
