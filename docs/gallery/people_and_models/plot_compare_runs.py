"""
Does a new prompt make a judge better?
======================================

Both prompts were put to the same 300 comments. Points are the second prompt minus the first: agreement with a
person, rates, and recalls of classes, with intervals for paired data.
"""

import numpy as np
import pandas as pd

import conjury

random = np.random.default_rng(6)
truth = random.choice(["fine", "toxic"], 300, p=[0.7, 0.3])
person = np.where(random.random(300) < 0.95, truth, "fine")
old = pd.DataFrame({"model": np.where(random.random(300) < 0.75, truth, "toxic"), "ann": person})
new = old.assign(model=np.where(random.random(300) < 0.85, truth, "toxic"))
figure = conjury.compare_runs(old, new, "model", "ann", names=("Old prompt", "New prompt")).plot()
