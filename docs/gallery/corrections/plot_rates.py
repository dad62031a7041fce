"""
How often are comments harmful, when the judge errs?
====================================================

The judge labels one in ten harmless comments harmful. Rates that are corrected with 200 human labels agree
with those of people; the rates of the judge alone do not.
"""

import numpy as np
import pandas as pd

from conjury.analysis.correction import rates

random, n = np.random.default_rng(3), 2000
harmful = random.random(n) < 0.2
judged = np.where(harmful, random.random(n) < 0.8, random.random(n) < 0.1)
comments = pd.DataFrame({"judged": np.where(judged, "harmful", "harmless")})
comments["label"] = np.where(harmful, "harmful", "harmless")
comments.loc[random.permutation(n)[200:], "label"] = None
figure = rates(comments).plot()
