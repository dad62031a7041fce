"""
Does a judge prefer longer texts beyond their quality?
======================================================

People prefer longer texts, too, since these are better. Beyond people, the judge still adds to its rating with
every doubling of the length.
"""

import numpy as np
import pandas as pd

from conjury.analysis.instrument import preferences_beyond_quality

random = np.random.default_rng(1)
texts = pd.DataFrame({"item_id": np.arange(300), "words": random.integers(20, 300, 300)})
texts["people"] = random.normal(3, 1, 300) + 0.3 * np.log2(texts["words"])
texts["value"] = texts["people"] + 0.2 * np.log2(texts["words"]) + random.normal(0, 0.5, 300)
texts = texts.assign(judge_id="Model", judge_kind="model")
figure = preferences_beyond_quality(texts, "words", "people", log=True).plot()
