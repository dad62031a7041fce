"""How often each label is given, by how often it is right: labels used too often and too rarely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...vocabulary import FEWEST_GOLD
from ..drawable import Drawable
from ..labels import LabelKey
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names
from .confusion import label_in_words
from .curves import level_of
from .panels import judges_in_words, of_judges, of_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FARTHEST = 4.0  # in powers of two; ratios beyond are drawn there
TICKS = {-4: "1/16", -2: "1/4", 0: "1", 2: "4", 4: "16"}


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    judges: Sequence[str] | None = None,
    task: str | None = None,
) -> Figure:
    """Draw the ratios of `by_label` for one task: a panel for each judge, a row for each label."""
    names = Names(labels)
    frame, name = shown_labels(result, task)
    frame = _enough(frame)
    frame = of_judges(frame, judges)
    told = pd.DataFrame(
        {
            "panel": judges_in_words(frame, names),
            "row": [label_in_words(name, str(label), names) for label in frame["label"]],
            "series": "",
            "estimate": _powers(frame["ratio"]),
            "lower": _powers(frame["ratio_lower"]),
            "upper": _powers(frame["ratio_upper"]),
        }
    )
    panels = list(dict.fromkeys(told["panel"]))
    level = level_of(result.settings)
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), [""], [0],
        f"Times a label is given for every time it is gold ({level} intervals, not adjusted; 1/16 also "
        f"stands for less, 16 for more); labels that are gold in at least {FEWEST_GOLD} units",
        dict.fromkeys(panels, 0.0), across=4,
    )  # fmt: skip
    figure = draw_forest(forest, theme=theme, title=title)
    for axes in figure.axes:
        axes.set_xlim(-FARTHEST - 0.4, FARTHEST + 0.4)
        axes.set_xticks(list(TICKS), list(TICKS.values()))
    return figure


def shown_labels(result: Drawable, task: str | None) -> tuple[pd.DataFrame, str]:
    """Rows of one task, by default the first, and its name."""
    frame, name = of_task(result.frame, task)
    return frame[frame["ratio"].notna()], name


def _enough(frame: pd.DataFrame) -> pd.DataFrame:
    """Labels that are gold in enough units; all where none is."""
    often = frame[frame["n_gold"] >= FEWEST_GOLD]
    return often if len(often) else frame


def _powers(ratio: pd.Series[float]) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.clip(np.log2(ratio.to_numpy(float)), -FARTHEST, FARTHEST)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say for each judge which labels are given most and least often, by how often they are gold."""
    names = Names(labels)
    frame, task = shown_labels(result, None)
    frame = _enough(frame)
    frame = frame.assign(_who=judges_in_words(frame, names))
    told = ["How often labels are given, for every time they are gold."]
    for who, own in frame.groupby("_who", sort=False):
        ends = own.sort_values("ratio", ascending=False, kind="stable").iloc[[0, -1]]
        each = [f"{label_in_words(task, str(row['label']), names)} {row['ratio']:.1f} times"
                for row in ends.to_dict("records")]  # fmt: skip
        told.append(f"{who}: {' to '.join(each)}.")
    return " ".join(told)
