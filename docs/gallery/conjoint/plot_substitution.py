"""
How much rent makes up for a flat without a lift?
=================================================

The simulated judge accepts a higher rent for a balcony and requires a lower rent if there is no lift.
Intervals are Fieller's, since the rate is a ratio of two effects.
"""

import numpy as np
import pandas as pd

from conjury.analysis.conjoint import amce, substitution

random, rents = np.random.default_rng(1), np.array([600, 700, 800, 900])
rent, lift, balcony = (random.integers(0, n, (1500, 2)) for n in (4, 2, 2))
appeal = -0.8 * rent + 0.7 * lift + 0.5 * balcony
first = random.random(1500) < 1 / (1 + np.exp(appeal[:, 1] - appeal[:, 0]))
flats = pd.DataFrame({"pair_id": np.arange(1500).repeat(2), "rent": rents[rent].ravel().astype(str)})
flats["lift"], flats["balcony"] = (np.where(x, "yes", "no").ravel() for x in (lift, balcony))
flats["chosen"] = np.column_stack([first, ~first]).ravel().astype(int)
fit = amce(flats, "chosen ~ rent + lift + balcony", id="pair_id", reference={"lift": "yes"})
figure = substitution(fit, "rent", {str(rent): rent for rent in rents}).plot()
