"""Ratings, labels and scores among people that models make more precise, with the gain of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ...frames.vocabulary import CORRECTED_BY_MODELS, ONLY, PEOPLE_ONLY
from ..benchmark.benchmark_labels import label_rows, metric_in_words, policy_in_words
from ..benchmark.score_figures import USUAL, policy_of, rows_of_policy
from ..figure_layout import Drawable, require_estimates
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
from ..interval_dots import LevelPanels, levels, table_of
from ..labels import ColumnNames, overall_rows, select_identifiers, usual_identifiers, words

UNIT = "labelled items"
PANEL, ROW = "panel", "row"
ALL_ITEMS = "All items"
MOST_ROWS = 24  # of strata, beyond which a figure of all dimensions shows all items together
MEDIAN = "0.5"


@figure("prediction_powered_items")
def prediction_powered_items(
    result: Drawable,
    style: FigureStyle,
    *,
    dimensions: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
) -> LevelPanels:
    """People alone, corrected and models alone, with the gain of each row at the right."""
    # Of many strata, means of all items are drawn, unless `dimensions` are named. Of scores, accuracy and
    # macro-F1 are drawn, unless `metrics` are named.
    frame = label_estimates(result, style.names)
    if "metric" in frame:
        kinds = usual_identifiers(frame["metric"], metrics, USUAL, "metric")
        frame = frame[frame["metric"].astype(str).isin(kinds)]
    else:
        frame = frame[
            frame["dimension"].isin(select_identifiers(frame["dimension"], dimensions, "dimension"))
        ]
        frame = frame if dimensions else _without_many_strata(frame, result)
    require_estimates(frame)
    label, corrected_rows = quantity(result), frame[frame["source"] == CORRECTED_BY_MODELS]
    return levels(
        table_of(frame, frame[PANEL], frame[ROW], frame[SOURCE]),
        xlabel=label_with_gain(label, bounds_of(result.settings), UNIT),
        what=f"{label}, among people. {typical_gain(corrected_rows['gain'], UNIT)}",
        places=places_of(_models(frame), style.names),
        baseline=None,
        aside={
            (row[PANEL], row[ROW]): gain_text(row["gain"])
            for row in corrected_rows.dropna(subset="gain").to_dict("records")
        },
    )


def label_estimates(result: Drawable, names: ColumnNames) -> pd.DataFrame:
    """The table with panel, row and source of each number in words; of scores, under one policy."""
    frame, by = result.frame, [str(name) for name in result.settings.get("by") or ()]
    frame = _label_scores(frame, result, names) if "metric" in frame else _label_ratings(frame, by, names)
    sources = {PEOPLE_ONLY: PEOPLE, CORRECTED_BY_MODELS: CORRECTED}
    sources |= {f"{name}{ONLY}": text for name, text in alone_in_words(_models(frame), names).items()}
    return frame.assign(**{SOURCE: frame["source"].astype(str).map(sources)})


def quantity(result: Drawable) -> str:
    """What is estimated, as the label of an axis."""
    frame = result.frame
    if "metric" in frame:
        policy = policy_in_words(policy_of(frame, None))
        return f"Score ({policy[:1].lower()}{policy[1:]})"
    statistic, values = str(frame["statistic"].iloc[0]), frame["level"].astype(str).unique()
    if statistic == "mean":
        return "Mean rating"
    if statistic == "share":
        return "Share of labels"
    level = str(values[0]) if len(values) == 1 else ""
    if statistic == "proportion":
        return f"Share of ratings of at least {level}" if level else "Share of ratings"
    return (
        "Median rating"
        if level == MEDIAN
        else f"Quantile {level} of ratings"
        if level
        else "Quantile of ratings"
    )


def _models(frame: pd.DataFrame) -> list[str]:
    """Models that have estimates alone, in order of appearance."""
    sources = [str(name) for name in dict.fromkeys(frame["source"])]
    return [name.removesuffix(ONLY) for name in sources if name not in (PEOPLE_ONLY, CORRECTED_BY_MODELS)]


def _label_scores(frame: pd.DataFrame, result: Drawable, names: ColumnNames) -> pd.DataFrame:
    """A panel for each metric, task and stratum, a row for each judge."""
    frame = rows_of_policy(frame)
    frame, places = label_rows(frame, result.settings, names)
    metric = frame["metric"].astype(str).map(metric_in_words)
    panel = metric.where(frame["_where"] == "", metric + ": " + frame["_where"])
    order = [
        f"{metric_name}: {place}" if place else metric_name
        for metric_name in dict.fromkeys(metric)
        for place in places
    ]
    rank = {name: number for number, name in enumerate(order)}
    frame = frame.assign(**{PANEL: panel, ROW: frame["_who"]})
    return frame.sort_values(PANEL, key=lambda column: column.map(rank), kind="stable", ignore_index=True)


def _label_ratings(frame: pd.DataFrame, by: Sequence[str], names: ColumnNames) -> pd.DataFrame:
    """A panel for each dimension, a row for each stratum or level; dimensions are rows where these lack."""
    dimension = frame["dimension"].astype(str).map(lambda name: dimension_in_words(name, names))
    if frame["level"].nunique() > 1 or (frame["statistic"] == "share").all():
        panel, row = _join_texts(dimension, names.joined(frame, by)), _levels_in_words(frame, names)
    elif by:
        panel = _join_texts(dimension, names.joined(frame, by[:-1]))
        row = pd.Series(names.joined(frame, by[-1:]), index=frame.index)
    elif dimension.nunique() > 1:
        panel, row = pd.Series(ALL_ITEMS, index=frame.index), dimension
    else:
        panel, row = dimension, pd.Series(ALL_ITEMS, index=frame.index)
    return frame.assign(**{PANEL: panel, ROW: row})


def dimension_in_words(name: str, names: ColumnNames) -> str:
    """A dimension of ratings, or what is labelled, in words."""
    label = names.of("dimension", name)
    return (names.of("task", name) if label in (name, words(name)) else label) or "Rating"


def _join_texts(first: pd.Series[Any], second: Sequence[str]) -> pd.Series[Any]:
    texts = [", ".join(filter(None, pair)) for pair in zip(first, second, strict=True)]
    return pd.Series(texts, index=first.index)


def _levels_in_words(frame: pd.DataFrame, names: ColumnNames) -> pd.Series[Any]:
    """Labels, thresholds or orders of quantiles of each row."""
    statistic = str(frame["statistic"].iloc[0])
    if statistic == "share":
        pairs = zip(frame["dimension"].astype(str), frame["level"].astype(str), strict=True)
        return pd.Series([names.of(dimension, level) for dimension, level in pairs], index=frame.index)
    start = "At least" if statistic == "proportion" else "Quantile"
    return frame["level"].astype(str).map(lambda level: f"{start} {level}")


def _without_many_strata(frame: pd.DataFrame, result: Drawable) -> pd.DataFrame:
    """Rows of all items where there are too many strata to read, if there are rows of all items."""
    by = [str(name) for name in result.settings.get("by") or ()]
    if not by or len(frame[[PANEL, ROW]].drop_duplicates()) <= MOST_ROWS:
        return frame
    overall = overall_rows(frame, by)
    if overall.empty or frame["level"].nunique() > 1:
        return frame
    row = overall[PANEL].str.removesuffix(f", {ALL_ITEMS}")
    return overall.assign(**{PANEL: pd.Series(ALL_ITEMS, index=overall.index), ROW: row})
