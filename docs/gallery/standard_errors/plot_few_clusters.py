"""
How wide are intervals from five raters?
========================================

Five raters are few clusters. Intervals with the bias-reduced CR2 and Student's t are far wider than those
that treat all ratings as independent, since raters differ in the effect.
"""

import warnings

import numpy as np
import pandas as pd

from conjury.analysis.conjoint import amce
from conjury.analysis.raters import Result

warnings.simplefilter("ignore")  # of few clusters, which are the subject here
random, n = np.random.default_rng(1), 400
texts = pd.DataFrame({"rater": random.integers(0, 5, n), "tone": random.choice(["kind", "rude"], n)})
leaning = random.normal(0.3, 0.4, 5)[texts["rater"]]
texts["rating"] = leaning * (texts["tone"] == "rude") + random.normal(3, 1, n)
given = {"Ratings as independent": {}, "Five raters (CR2)": {"id": "rater", "vcov": "CR2"}}
fits = [amce(texts, "rating ~ tone", **options).frame.assign(variant=name) for name, options in given.items()]
figure = Result(pd.concat(fits), "amce").plot(bounds="95% intervals")
