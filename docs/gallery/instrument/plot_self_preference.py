"""
Does a judge rate its own texts higher than people do?
======================================================

Texts by the judge may simply be better. Compared with people on the same texts, this judge rates its own
texts about 0.4 points higher.
"""

import numpy as np
import pandas as pd

from conjury.analysis.instrument import self_preference

random = np.random.default_rng(1)
texts = pd.DataFrame({"item_id": np.arange(400), "author": random.choice(["Model", "Other"], 400)})
texts["people"] = (random.normal(3, 1, 400) + 0.3 * (texts["author"] == "Model")).round().clip(1, 5)
texts["value"] = texts["people"] + 0.4 * (texts["author"] == "Model") + random.normal(0, 0.5, 400)
texts = texts.assign(judge_id="Model", judge_kind="model")
figure = self_preference(texts, "author", "people").plot()
