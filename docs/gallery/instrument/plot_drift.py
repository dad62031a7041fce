"""
Has the judge changed since June?
=================================

The same items were rated again in July, as anchors. The change of the mean rating on anchors is the change of
the judge; the rest of the difference is due to other items.
"""

import numpy as np
import pandas as pd

from conjury.analysis.instrument import drift

random, parts = np.random.default_rng(1), []
quality = random.normal(3, 1, 200)
for occasion, items, shift in (("June", range(120), 0.0), ("July", range(60, 200), 0.4)):
    value = (quality[list(items)] + shift + random.normal(0, 0.6, len(items))).round().clip(1, 5)
    parts.append(pd.DataFrame({"item_id": list(items), "occasion": occasion, "value": value}))
ratings = pd.concat(parts).assign(judge_id="Model", judge_kind="model")
figure = drift(ratings).plot()
