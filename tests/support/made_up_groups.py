"""Ratings of one group on several dimensions, as the model of dimensions takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from conjury.analysis.raters.models.dimensions.data import GroupRatings


def group_ratings(
    item: np.ndarray,
    judge: np.ndarray,
    dimensions: tuple[str, ...],
    n_cuts: int = 3,
    name: str = "human",
    **changes: Any,
) -> GroupRatings:
    """Ratings 0, 1, 2, ... in turn of these items by these judges."""
    n_items, n_judges = int(item.max()) + 1, int(judge.max()) + 1
    known: dict[str, Any] = {
        "group": name,
        "human": name == "human",
        "dimensions": dimensions,
        "y": np.tile(np.arange(len(item)) % (n_cuts + 1), (len(dimensions), 1)),
        "values": (tuple(float(k) for k in range(n_cuts + 1)),) * len(dimensions),
        "item": item.astype(np.int64),
        "judge": judge.astype(np.int64),
        "x": np.zeros((n_items, 0)),
        "terms": (),
        "items": tuple(f"item {k}" for k in range(n_items)),
        "judges": tuple(f"judge {k}" for k in range(n_judges)),
        "n_repeated": int((np.bincount(item) > 1).sum()),
    }
    return GroupRatings(**(known | changes))
