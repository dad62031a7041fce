"""Coverage of corrected rates: one population, and label shift between labelled and unlabelled units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.correction import rates

pytestmark = pytest.mark.long

SIMULATIONS = 300
JUDGED = {  # the judge's labels of a unit of each class
    2: np.array([[0.8, 0.2], [0.2, 0.8]]),
    3: np.array([[0.8, 0.15, 0.05], [0.1, 0.75, 0.15], [0.1, 0.1, 0.8]]),
}
TRUE = {2: np.array([0.7, 0.3]), 3: np.array([0.5, 0.3, 0.2])}


def simulate(rng, k, calibration, labelled=150, unlabelled=600):
    """Units of k classes; the labelled ones have class frequencies of their own."""
    names = np.array(list("abc")[:k])
    label = np.r_[rng.choice(k, labelled, p=calibration), rng.choice(k, unlabelled, p=TRUE[k])]
    judged = (rng.random(len(label))[:, None] > JUDGED[k].cumsum(axis=1)[label]).sum(axis=1)
    gold = pd.Series(names[label]).mask(np.arange(len(label)) >= labelled)
    return pd.DataFrame({"label": gold, "judged": names[np.minimum(judged, k - 1)]})


def coverage(k, calibration):
    """Share of intervals that contain the true rate, and mean width, by method."""
    rng = np.random.default_rng(5)
    parts = []
    for _ in range(SIMULATIONS):
        frame = rates(simulate(rng, k, calibration)).frame
        true = frame["class"].map(dict(zip("abc", TRUE[k], strict=False)))
        hit = frame["lower"].le(true) & frame["upper"].ge(true)
        parts.append(frame.assign(hit=hit, width=frame["upper"] - frame["lower"]))
    return pd.concat(parts).groupby("method")[["hit", "width"]].mean()


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_under_label_shift_rogan_gladen_covers_and_the_others_do_not(k):
    found = coverage(k, np.full(k, 1 / k))
    assert abs(found.loc["rogan_gladen", "hit"] - 0.95) < 3 * np.sqrt(0.05 * 0.95 / SIMULATIONS)
    for method in ("naive", "human", "efficient", "mle"):
        assert found.loc[method, "hit"] < 0.8, method
