"""
Does a new prompt make a judge better?
======================================

Both prompts were used on the same 300 comments. The new one agrees with the person more often, since it
labels fewer harmless comments toxic; differences are paired by comment.
"""

import numpy as np
import pandas as pd

import conjury

random = np.random.default_rng(6)
truth = random.choice(["fine", "toxic"], 300, p=[0.7, 0.3])
person = np.where(random.random(300) < 0.95, truth, "fine")
old = pd.DataFrame({"model": np.where(random.random(300) < 0.7, truth, "toxic"), "ann": person})
new = pd.DataFrame({"model": np.where(random.random(300) < 0.9, truth, "fine"), "ann": person})
figure = conjury.compare_runs(old, new, "model", "ann", names=("old prompt", "new prompt")).plot()
