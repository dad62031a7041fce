"""The scale of ratings: the values allowed, and signs that raters did not share one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import where

from ..numerics.types import Codes, Floats

SOURCE = "judgments"
FEW = 10  # ratings below which a value that stands alone, or a narrow range, is no surprise
WIDER = 3.0  # how many times as wide a range is on another scale
STEPS = 3  # values of which a scale has more than a rater who hardly varies gives
ADVICE = "they may have used different scales; bring all to one, or state the scale"


def in_table(row: Codes, bad: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Flag the rows of the table where ``bad`` is true; ``row`` holds their numbers."""
    flagged = np.zeros(int(row.max()) + 1, dtype=bool)
    flagged[row[bad]] = True
    return flagged


def scale_of(frame: pd.DataFrame, scale: Sequence[float] | None, row: Codes) -> tuple[float, ...]:
    """The ratings of the scale, rising; where none is stated, those that occur."""
    values = frame["value"].to_numpy(dtype=float)
    if scale is None:
        other = other_scale(frame)
        if other is not None:
            raise InputError(f"{SOURCE}: {other}; bring all to one scale, or state the scale.")
        return tuple(float(value) for value in np.unique(values))
    allowed = _allowed(scale)
    outside = ~np.isin(values, allowed)
    if outside.any():
        at = int(outside.argmax())
        raise InputError(
            f"{SOURCE}: {where('value', in_table(row, outside))} contains {values[at]:g}, which is not on "
            "the "
            f"scale ({listed(f'{value:g}' for value in allowed)}); correct it."
        )
    return tuple(float(value) for value in allowed)


def _allowed(scale: Sequence[float]) -> Floats:
    """The ratings of a scale, rising; InputError for what is no list of numbers."""
    try:
        allowed: Floats = np.unique(np.array(list(scale), dtype=np.float64))
    except (TypeError, ValueError):
        allowed = np.zeros(0)
    if not len(allowed) or not np.isfinite(allowed).all():
        raise InputError(f"scale is {scale!r}; give the ratings that are allowed, such as range(5).")
    return allowed


def scale_hints(frame: pd.DataFrame) -> list[str]:
    """Say which raters' ranges do not meet, and which value lies far from all others."""
    return [*_apart(frame), *_stray(frame["value"].to_numpy(dtype=float))]


def other_scale(frame: pd.DataFrame) -> str | None:
    """Say who rated the same items as others on a scale of another width; None where nobody is known to."""
    # Ranges say little where there are few ratings: both sides need ten or more of the same items, the narrow
    # side three values or more, and three quarters of the wide side's ratings must lie farther from its range
    # than it is wide. So no table on a scale of up to seven whole numbers is refused.
    value = frame["value"].to_numpy(dtype=float)
    judge, names = pd.factorize(frame["judge"])
    item, items = pd.factorize(frame["item"])
    for number, name in enumerate(names):
        mine = judge == number
        others = ~mine & _flags(item[mine], len(items))[item]
        shared = mine & _flags(item[others], len(items))[item]
        if min(shared.sum(), others.sum()) < FEW:
            continue
        own, theirs = value[shared], value[others]
        if _on_other_scales(own, theirs) or _on_other_scales(theirs, own):
            return (
                f"'{name}' rates from {own.min():g} to {own.max():g}, others the same items from "
                f"{theirs.min():g} to {theirs.max():g}"
            )
    return None


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
        ranges = [f"{name} rates from {one['min']:g} to {one['max']:g}" for name, one in ends.iterrows()]
        return [f"Of two raters, {' and '.join(ranges)}: {ADVICE}."]
    usual, low, high = width.median(), ends["min"].median(), ends["max"].median()
    far = ends[(ends["max"] > high + WIDER * usual) | (ends["min"] < low - WIDER * usual)]
    if len(ends) > 2 and usual > 0 and len(far):
        name, one = far.index[0], far.iloc[0]
        return [
            f"{name} rates from {one['min']:g} to {one['max']:g}, others mostly from {low:g} to {high:g}: "
            f"{ADVICE}."
        ]
    return []


def _flags(codes: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which of so many items are among the codes."""
    flags = np.zeros(size, dtype=bool)
    flags[codes] = True
    return flags


def _on_other_scales(narrow: Floats, wide: Floats) -> bool:
    """Whether one range is several times the other, and three in four of its ratings lie beyond that one."""
    if len(np.unique(narrow)) < STEPS or np.ptp(wide) <= WIDER * np.ptp(narrow):
        return False
    low, high = np.quantile(wide, [0.25, 0.75])
    width = np.ptp(narrow)
    return bool(low > narrow.max() + width or high < narrow.min() - width)


def _stray(values: Floats) -> list[str]:
    """Say which lowest or highest value occurs once and lies farther out than others lie apart."""
    found, times = np.unique(values, return_counts=True)
    if len(values) < FEW or len(found) < 4:
        return []
    notes = []
    for at, others in ((0, found[1:]), (-1, found[:-1])):
        gap = abs(found[at] - others[at])
        if times[at] == 1 and gap > np.diff(others).max() and gap > np.ptp(others) / 4:
            notes.append(
                f"Value {found[at]:g} occurs once, outside {others[0]:g} to {others[-1]:g}: state the scale "
                "to refuse it."
            )
    return notes
