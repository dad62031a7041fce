"""What a comparison of two runs found, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import counted

from ....figures.labels import level_of, p_text
from ..validation_rows import ERRORS, RATES, SUBGROUPS, row_of
from .judge_sentences import in_words, interval, number, tested_in_words
from .notable_rows import Row, TestedDifference, notable


def verdict_of_runs(frame: pd.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Sentences on changes, rates, agreement with people, errors and subgroups."""
    parts = (
        _changes(frame, settings),
        _rates(frame, settings),
        _agreement(frame, settings),
        _families(frame, settings),
    )
    return [sentence for part in parts for sentence in part]


def _changes(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    flips = row_of(frame, "flips")
    assert flips is not None
    limits = (
        f" ({level_of(settings)} interval {interval(flips, 'flips')})" if interval(flips, "flips") else ""
    )
    first, second = settings["names"]
    yield (
        f"{first} and {second} differ in {number(flips['estimate'], 'flips')} of "
        f"{counted(int(flips['n']), 'pair')}{limits}."
    )
    answered = row_of(frame, "answered_difference")
    if answered is not None and answered["n"] > flips["n"]:
        yield _difference(frame, answered, "share of answers", settings)


def _rates(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    rates = frame[(frame["part"] == RATES) & frame["measure"].isin(["rate_difference", "mean_difference"])]
    notable_rows = (
        rates.head(1) if len(settings["classes"]) <= 2 else notable(rates, settings["alpha"]).head(3)
    )
    if notable_rows.empty:
        yield f"No class is clearly more frequent in {settings['names'][1]} than in {settings['names'][0]}."
    for _, row in notable_rows.iterrows():
        what = "mean" if row["measure"] == "mean_difference" else f"rate of {row['class']!r}"
        yield _difference(frame, row, what, settings)


def _agreement(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    for measure in ("accuracy", settings["main"], "absolute_error"):
        row = row_of(frame, f"{measure}_difference")
        if row is not None:
            what = "mean absolute difference from people"
            if measure != "absolute_error":
                what = f"{in_words(measure).removeprefix('the ')} with people"
            yield _difference(frame, row, what, settings)


def _difference(frame: pd.DataFrame, row: Row, what: str, settings: Mapping[str, Any]) -> str:
    """One sentence on a difference: both values, whether it is clear, and whether it is small enough."""
    measure = str(row["measure"]).removesuffix("_difference")
    suffix = str(row["name"]).removeprefix(str(row["measure"]))
    sides = [row_of(frame, f"{measure}_{which}{suffix}") for which in "ab"]
    has_value = [side is not None and bool(np.isfinite(side["estimate"])) for side in sides]
    if not all(has_value):
        where = [name for name, has in zip(settings["names"], has_value, strict=True) if not has]
        return f"The {what} has no value in {' and '.join(where)}."
    values = [number(side["estimate"], f"{measure}_a") for side in sides if side is not None]
    text = f"The {what} is {values[0]} in {settings['names'][0]} and {values[1]} in {settings['names'][1]}"
    if not np.isfinite(row["lower"]):
        return f"{text}."
    difference = TestedDifference.of(row, settings["alpha"])
    p = difference.p
    text += f" (difference {interval(row, str(row['measure']))}, p {p_text(p)})"
    margin = number(row["margin"], str(row["measure"]))
    small, clear = row["p_equivalence"] < settings["alpha"], difference.clear
    if clear and small:
        return f"{text}: different, by less than the margin of {margin}."
    if clear:
        return f"{text}: different."
    if small:
        return f"{text}: equivalent within {margin}."
    return f"{text}: undecided, neither different nor equivalent within {margin}."


def _families(frame: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[str]:
    tested = frame[frame["measure"].str.endswith("_difference") & frame["part"].isin([ERRORS, SUBGROUPS])]
    clear = notable(tested, settings["alpha"])
    for _, row in clear.head(5).iterrows():
        where = (
            f"items that people call {row['class']!r}"
            if row["part"] == ERRORS
            else f"{row['by']} {row['level']!r}"
        )
        what = {"recall_difference": "is right", "accuracy_difference": "agrees with people"}.get(
            row["measure"], "answers"
        )
        size = number(abs(row["estimate"]), row["measure"])
        more = "more" if row["estimate"] > 0 else "less"
        if what == "answers":
            yield (
                f"For {where} the {'mean' if row['measure'] == 'mean_difference' else 'rate'} is {size} "
                f"{'higher' if row['estimate'] > 0 else 'lower'} in {settings['names'][1]}"
                f"{tested_in_words(row)}."
            )
        else:
            yield (
                f"For {where} {settings['names'][1]} {what} {size} {more} often than {settings['names'][0]}"
                f"{tested_in_words(row)}."
            )
    if clear.empty and not tested.empty:
        yield "No class or subgroup clearly differs between the runs after Holm's adjustment."
