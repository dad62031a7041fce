"""
How much does a model help a small survey?
==========================================

Sixty people judged ten pairs each, and a model judged these and many others. The corrected effects are about
people. They are more precise than those from people alone, and free of the bias of the model.
"""

import numpy as np
import pandas as pd

from conjury.analysis.conjoint import amce

random, n, tones = np.random.default_rng(1), 4000, np.array(["kind", "neutral", "rude"])
tone, length, text = random.integers(0, 3, (n, 2)), random.integers(0, 2, (n, 2)), random.normal(0, 1, n)
parts = []
for kind, asked, weight in (("human", 600, 0.5), ("model", n, 1.2)):
    appeal = weight * tone[:asked] + 0.3 * length[:asked]
    first = appeal[:, 0] - appeal[:, 1] + text[:asked] + random.normal(0, 0.5, asked) > 0
    rows = {"pair_id": np.arange(asked).repeat(2), "position": ["A", "B"] * asked, "judge_kind": kind}
    rows |= {"tone": tones[tone[:asked].ravel()], "length": np.where(length[:asked].ravel(), "short", "long")}
    parts.append(pd.DataFrame(rows).assign(chosen=np.column_stack([first, ~first]).ravel().astype(int)))
parts[0]["judge_id"], parts[1]["judge_id"] = "person " + (parts[0]["pair_id"] // 10).astype(str), "Model"
figure = amce(pd.concat(parts), "chosen ~ tone + length", id="judge_id", correct="ppi").plot()
