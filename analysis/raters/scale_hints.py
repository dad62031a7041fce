"""Signs in ratings without a stated scale that raters did not share one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.columns import listed

FEW = 10  # ratings below which a value that stands alone is no surprise
WIDER = 3.0  # of two raters, how many times as wide a range is on another scale
ADVICE = "they may have used different scales; bring all to one, or state the scale"


def scale_hints(frame: pd.DataFrame) -> list[str]:
    """Say which raters' ranges do not meet, and which value lies far from all others.

    Parameters
    ----------
    frame : DataFrame
        ``judge`` and ``value`` (numbers) of each rating.

    Examples
    --------
    >>> scale_hints(pd.DataFrame({"judge": list("aaabbb"), "value": [0, 2, 4, 10, 40, 30]}))[0][:57]
    'Ratings do not overlap at all: a (0 to 4); b (10 to 40): '
    """
    return [*_apart(frame), *_stray(frame["value"].to_numpy(dtype=float))]


def _apart(frame: pd.DataFrame) -> list[str]:
    """Say whose ranges do not overlap with those of any other rater, or which of two is far wider."""
    ends = frame.groupby("judge", sort=False)["value"].agg(["min", "max", "size"])
    ends = ends[ends["size"] > 1].sort_values("min", kind="stable")
    part = (ends["min"] > ends["max"].cummax().shift()).cumsum()
    parts = [
        f"{listed(one.index, 6)} ({one['min'].min():g} to {one['max'].max():g})"
        for _, one in ends.groupby(part)
    ]
    if len(parts) > 1:
        return [f"Ratings do not overlap at all: {'; '.join(parts)}: {ADVICE}."]
    width = ends["max"] - ends["min"]
    if len(ends) == 2 and width.max() > WIDER * width.min() > 0:
        told = [f"{name} rates from {one['min']:g} to {one['max']:g}" for name, one in ends.iterrows()]
        return [f"Of two raters, {' and '.join(told)}: {ADVICE}."]
    return []


def _stray(values: NDArray[np.float64]) -> list[str]:
    """Say which lowest or highest value occurs once and lies farther out than others lie apart."""
    found, times = np.unique(values, return_counts=True)
    if len(values) < FEW or len(found) < 4:
        return []
    told = []
    for at, others in ((0, found[1:]), (-1, found[:-1])):
        gap = abs(found[at] - others[at])
        if times[at] == 1 and gap > np.diff(others).max() and gap > np.ptp(others) / 4:
            told.append(
                f"Value {found[at]:g} occurs once, outside {others[0]:g} to {others[-1]:g}: state the scale "
                "to refuse it."
            )
    return told
