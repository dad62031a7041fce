"""Corrected estimates compared with their sources: for unreliable answers, and with the help of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..gain_labels import (
    CORRECTED,
    PEOPLE,
    SOURCE,
    alone_in_words,
    bounds_of,
    gain_text,
    label_with_gain,
    places_of,
    typical_gain,
)
from ..interval_dots import LevelPanels
from ..labels import ColumnNames, LevelLabels
from .effect_figures import HALF, SERIES, axis_label, plot_levels, series_in_words, stack_tables

UNIT = "people"


def _groups_of(result: Drawable) -> list[str]:
    """Columns of groups, of estimates that are compared between groups."""
    return [str(name) for name in result.settings.get("by") or () if name in result.frame]


def _baseline(frame: pd.DataFrame) -> float:
    return HALF if (frame["statistic"] == "mm").all() else 0.0


@figure("corrected")
def corrected(result: Drawable, style: FigureStyle, **options: Any) -> LevelPanels:
    """Observed estimates and those corrected for unreliable answers (column ``source``) side by side."""
    frame = result.frame
    series = frame["source"].map({"observed": "As observed", "corrected": "Corrected"})
    if groups := _groups_of(result):
        series = series + ", " + pd.Series(series_in_words(frame, groups, style.words), index=frame.index)
    return plot_levels(
        frame.assign(**{SERIES: series}),
        style,
        group=SERIES,
        baseline=_baseline(frame),
        bounds=bounds_of(result.settings),
        **options,
    )


def sources(result: Drawable, names: ColumnNames) -> dict[str, pd.DataFrame]:
    """Estimates of people alone, corrected, and of each model alone, by their name in a legend."""
    groups = result.extra["models"].groupby("judge", sort=False, observed=True)
    models = {str(name): rows for name, rows in groups}
    model_names = alone_in_words(list(models), names)
    return {PEOPLE: result.extra["human"], CORRECTED: result.frame} | {
        model_names[name]: rows for name, rows in models.items()
    }


@figure("prediction_powered")
def prediction_powered(result: Drawable, style: FigureStyle, **options: Any) -> LevelPanels:
    """People alone, corrected and models alone, with the gain of each row at the right.

    Needs the tables ``human``, ``models`` and ``gains`` of the result. Differences between groups are those
    of the first feature, with a panel for each group.
    """
    frame, gains, words = (
        stack_tables(sources(result, style.names), SOURCE),
        result.extra["gains"],
        style.words,
    )
    label, columns = axis_label(frame), ("feature", "level")
    if groups := _groups_of(result):
        feature = str(result.settings.get("feature") or frame["feature"].iloc[0])
        label, columns = f"{label}: {words.feature(feature).lower()}", ("group", "level")
        frame, gains = (
            table[table["feature"].astype("string") == feature].assign(
                group=lambda rows: series_in_words(rows, groups, words)
            )
            for table in (frame, gains)
        )
        words = LevelLabels(
            {
                (group, level): style.words.level(feature, level)
                for group, level in zip(frame["group"], frame["level"].astype(str), strict=True)
            }
        )
    plot = plot_levels(
        frame,
        style,
        group=SOURCE,
        label=label_with_gain(label, bounds_of(result.settings), UNIT),
        baseline=_baseline(frame),
        what=f"{label}, among people. {typical_gain(gains['gain'], UNIT)}",
        words=words,
        columns=columns,
        **options,
    )
    judges = [str(name) for name in result.extra["models"]["judge"].unique()]
    places = places_of(judges, style.names)
    return replace(plot, places=places, aside=_gains_of(gains, columns[0], words))


def _gains_of(gains: pd.DataFrame, panel: str, words: LevelLabels) -> dict[tuple[str, str], str]:
    """The gain of each row of a figure as a factor."""
    texts = {}
    for row in gains[gains["gain"].notna()].astype({panel: str, "level": str}).to_dict("records"):
        owner = row[panel]
        head = words.feature(owner) if panel == "feature" else words.level(owner, owner)
        texts[head, words.level(owner, row["level"])] = gain_text(row["gain"])
    return texts
