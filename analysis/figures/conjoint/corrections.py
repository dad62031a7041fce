"""Corrected estimates compared with their sources: for unreliable answers, and with the help of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from ..dots import Levels
from ..fitting import Drawable
from ..labels import Labels, Names, display_order, level_of
from ..registry import Style, figure
from ..theme import distinct
from .effects import HALF, SERIES, axis_label, of_levels, series_in_words, stacked

PEOPLE, CORRECTED = "People only", "Corrected"
GAIN = "how many times as many people would be as precise without models"
CORRECTED_PLACE = 48  # the neutral colour, and a marker that no model near the top of a study has


def _groups_of(result: Drawable) -> list[str]:
    """Columns of groups, of estimates that are compared between groups."""
    return [str(name) for name in result.settings.get("by") or () if name in result.frame]


def _baseline(frame: pd.DataFrame) -> float:
    return HALF if (frame["statistic"] == "mm").all() else 0.0


def _bounds(result: Drawable, kind: str = "") -> str:
    return " ".join(filter(None, [level_of(result.settings), kind, "intervals"]))


@figure("corrected")
def corrected(result: Drawable, style: Style, **options: Any) -> Levels:
    """Observed estimates and those corrected for unreliable answers (column ``source``) side by side."""
    frame = result.frame
    series = frame["source"].map({"observed": "As observed", "corrected": "Corrected"})
    if groups := _groups_of(result):
        series = series + ", " + pd.Series(series_in_words(frame, groups, style.words), index=frame.index)
    return of_levels(
        frame.assign(**{SERIES: series}),
        style,
        group=SERIES,
        baseline=_baseline(frame),
        bounds=_bounds(result),
        **options,
    )


def sources(result: Drawable, names: Names) -> dict[str, pd.DataFrame]:
    """Estimates of people alone, corrected, and of each model alone, by their name in a legend."""
    models = result.extra["models"]
    alone = {f"{names.of('judge', name)} only": own for name, own in models.groupby("judge", sort=False)}
    return {PEOPLE: result.extra["human"], CORRECTED: result.frame, **alone}


def typical_gain(gains: pd.DataFrame) -> str:
    """The median gain, and how many are at most 1, as a sentence without its full stop."""
    known = gains["gain"].dropna()
    if known.empty:
        return "No gain could be computed"
    none = int((known <= 1).sum())
    less = f", {none} of them at most 1" if none else ""
    return f"The median of {len(known)} gains is {known.median():.2f} ({GAIN}){less}"


@figure("prediction_powered")
def prediction_powered(result: Drawable, style: Style, **options: Any) -> Levels:
    """People alone, corrected and models alone, with the gain of each row at the right.

    Needs the tables ``human``, ``models`` and ``gains`` of the result. Differences between groups are those
    of the first feature, with a panel for each group.
    """
    frame, gains, words = stacked(sources(result, style.names), SERIES), result.extra["gains"], style.words
    label, columns = axis_label(frame), ("feature", "level")
    if groups := _groups_of(result):
        feature = str(result.settings.get("feature") or frame["feature"].iloc[0])
        label, columns = f"{label}: {words.feature(feature).lower()}", ("group", "level")
        frame, gains = (
            table[table["feature"].astype("string") == feature].assign(
                group=lambda own: series_in_words(own, groups, words)
            )
            for table in (frame, gains)
        )
        words = Labels(
            {
                (group, level): style.words.level(feature, level)
                for group, level in zip(frame["group"], frame["level"].astype(str), strict=True)
            }
        )
    lines = f"lines: {_bounds(result)}"
    made = of_levels(
        frame,
        style,
        group=SERIES,
        label=f"{label} ({lines})\nRight: gain ({GAIN})",
        baseline=_baseline(frame),
        share_x=bool(groups),
        what=f"{label}, among people. {typical_gain(gains)}",
        words=words,
        columns=columns,
        **options,
    )
    judges = display_order(result.extra["models"]["judge"])
    places = distinct([0, CORRECTED_PLACE, *(style.names.place(judge, judges) for judge in judges)])
    return replace(made, places=places, aside=_gains_of(gains, columns[0], words))


def _gains_of(gains: pd.DataFrame, panel: str, words: Labels) -> dict[tuple[str, str], str]:
    """The gain of each row of a figure as a factor."""
    found = {}
    for row in gains[gains["gain"].notna()].astype({panel: str, "level": str}).to_dict("records"):
        owner = row[panel]
        head = words.feature(owner) if panel == "feature" else words.level(owner, owner)
        found[head, words.level(owner, row["level"])] = f"\N{MULTIPLICATION SIGN}{row['gain']:.2f}"
    return found
