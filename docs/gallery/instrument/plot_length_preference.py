"""
Does a judge prefer longer texts beyond their quality?
======================================================

People prefer longer texts, too, since these are better. The judge prefers them more strongly than people do,
and also at equal quality.
"""

import numpy as np
import pandas as pd

from conjury.analysis.instrument import preferences_beyond_quality

random = np.random.default_rng(1)
texts = pd.DataFrame({"item_id": np.arange(300), "words": random.integers(20, 300, 300)})
texts["people"] = (random.normal(1, 1, 300) + 0.4 * np.log2(texts["words"])).round().clip(1, 7)
texts["value"] = texts["people"] + 0.3 * np.log2(texts["words"]) + random.normal(-2, 0.5, 300)
texts = texts.assign(judge_id="Model", judge_kind="model")
figure = preferences_beyond_quality(texts, "words", "people", log=True).plot()
