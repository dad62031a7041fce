"""p values adjusted for several tests: Holm, Benjamini-Hochberg, Benjamini-Yekutieli."""

from __future__ import annotations

from typing import Literal

import numpy as np

Step = Literal["holm", "bh", "by"]


def adjusted(p: np.ndarray, method: Step) -> np.ndarray:
    """Adjust p values for the m tests of the last axis; NaN stays NaN and is not counted.

    "holm" bounds the family-wise error rate, "bh" (Benjamini and Hochberg 1995) the false discovery rate of
    independent tests, "by" (Benjamini and Yekutieli 2001) that of tests with any dependence.
    """
    order = np.argsort(p, axis=-1, kind="stable")
    rising = np.take_along_axis(p, order, axis=-1)
    m = np.isfinite(p).sum(axis=-1, keepdims=True)
    rank = np.arange(1, p.shape[-1] + 1)
    if method == "holm":
        stepped = np.maximum.accumulate(np.nan_to_num(rising * (m - rank + 1), nan=0.0), axis=-1)
    else:
        harmonic = np.concatenate([[0.0], np.cumsum(1 / rank)])
        factor = m * (harmonic[m] if method == "by" else 1.0)
        scaled = np.nan_to_num(rising * factor / rank, nan=np.inf)
        stepped = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    made = np.empty_like(p)
    np.put_along_axis(made, order, np.minimum(stepped, 1.0), axis=-1)
    return np.where(np.isfinite(p), made, np.nan)
