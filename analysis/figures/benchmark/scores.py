"""Scores with intervals by judge, task and stratum, beside what trivial judges reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from ...vocabulary import MAJORITY, MAJORITY_BY_STRATUM
from ..drawable import Drawable
from ..labels import LabelKey
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names, chosen
from .curves import level_of
from .panels import BASELINE, intervals_of, placed
from .terms import BASELINES, MISSING, metric_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = ("accuracy", "macro_f1")
OTHERS = ("auc",)
MOST_ACROSS = 6


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    metrics: Sequence[str] | None = None,
    missing: str | None = None,
) -> Figure:
    """Draw `scores`: a panel for each metric, task and stratum, a row for each judge.

    Lines are baselines; where the most frequent label of each stratum is one, that of all is not drawn.
    """
    names = Names(labels)
    frame, kinds = shown_scores(result, metrics)
    policy = policy_of(frame, missing)
    frame = frame[frame["missing"].astype(str) == policy]
    frame, places = placed(frame, result.settings, names)
    frame = frame.assign(_metric=[metric_in_words(name) for name in frame["metric"]])
    real, trivial = frame[frame["judge_kind"] != BASELINE], frame[frame["judge_kind"] == BASELINE]
    told = pd.DataFrame(
        {
            "panel": _panel(real),
            "row": real["_who"],
            "series": "",
            **intervals_of(real),
        }
    )
    panels = [_joined(metric_in_words(kind), place) for kind in kinds for place in places]
    panels = [name for name in panels if name in set(told["panel"])]
    trivial = trivial.assign(_panel=_panel(trivial)).dropna(subset="estimate")
    if (trivial["judge"] == MAJORITY_BY_STRATUM).any():
        trivial = trivial[trivial["judge"] != MAJORITY]
    lines = {
        str(panel): {BASELINES.get(str(row["judge"]), str(row["judge"])): float(row["estimate"])
                     for row in part.to_dict("records")}
        for panel, part in trivial.groupby("_panel", sort=False)
    }  # fmt: skip
    subject = metric_in_words(kinds[0]) if len(kinds) == 1 else "Score"
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), [""], [0],
        f"{subject} ({level_of(result.settings)} intervals; {MISSING.get(policy, policy)})",
        lines=lines, across=_across(len(places)),
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def shown_scores(result: Drawable, metrics: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    """Rows of the metrics that are drawn, and their names."""
    there = chosen(result.frame["metric"], metrics, "metric")
    usual = [kind for kind in USUAL if kind in there] or [kind for kind in OTHERS if kind in there]
    kinds = there if metrics else usual or there[:1]
    frame = result.frame[result.frame["metric"].isin(kinds)]
    if frame["estimate"].notna().sum() == 0:
        raise InputError("There is nothing to draw: no score has a value.")
    return frame, kinds


def policy_of(frame: pd.DataFrame, asked: str | None) -> str:
    """What no answer counts as in a figure: what is asked for, else as wrong."""
    there = chosen(frame["missing"], [asked] if asked else None, "rule for missing answers")
    return asked or next((name for name in ("wrong", "study") if name in there), there[0])


def _across(places: int) -> int:
    """Panels in a row: all places of a metric, or as equal parts of them as can be."""
    return -(-places // -(-max(places, 1) // MOST_ACROSS)) or 1


def _panel(frame: pd.DataFrame) -> list[str]:
    return [_joined(*pair) for pair in zip(frame["_metric"], frame["_where"], strict=True)]


def _joined(metric: str, place: str) -> str:
    return f"{metric}: {place}" if place else metric


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the score of each judge by task and stratum, and what trivial judges reach."""
    names = Names(labels)
    frame, kinds = shown_scores(result, None)
    policy = policy_of(frame, None)
    frame = frame[(frame["missing"].astype(str) == policy) & (frame["metric"] == kinds[0])]
    frame, places = placed(frame, result.settings, names)
    told = []
    for place in places:
        each = [
            f"{row['_who']} {row['estimate']:.2f}"
            + (f" [{row['lower']:.2f}, {row['upper']:.2f}]" if row["judge_kind"] != BASELINE else "")
            for row in frame[frame["_where"] == place].to_dict("records")
        ]
        told.append(f"{place}: {'; '.join(each)}." if place else f"{'; '.join(each)}.")
    head = f"{metric_in_words(kinds[0])}, {MISSING.get(policy, policy)}"
    return f"{head}: {' '.join(told)}" if told else f"{head}."
