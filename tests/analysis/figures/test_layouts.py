"""Every kind of figure on extremes: what is drawn lies inside, overlaps nothing and hides no point."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.figures import ALIKE, EXAMPLES, example, long_labels
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from conjury.analysis import figures
from conjury.analysis.figures.journal import _visible_texts
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

NUMBERS = ["estimate", "lower", "upper"]
REFUSALS = "nothing to draw|no numbers|not fit|more than once|no estimate for|three|one group|a page has"
TOGETHER = re.compile("calibration|reliability|dimension_model|choice_model|prediction_powered_items|specif")
HEBREW = "מידת ההתאמה של התשובה לשאלה"


def thirty_judges(frame: pd.DataFrame) -> pd.DataFrame:
    if "judge" not in frame:
        return frame
    rows = frame[frame["judge"] == frame["judge"].iloc[0]]
    return pd.concat([rows.assign(judge=f"judge_{k:02d}") for k in range(30)], ignore_index=True)


def hundredfold_interval(frame: pd.DataFrame) -> pd.DataFrame:
    if not set(NUMBERS) <= set(frame) or frame["lower"].isna().all():
        return frame
    wide = (frame["upper"] - frame["lower"]).astype(float)
    by = wide.where(wide.index == wide.first_valid_index(), 0.0) * 50
    return frame.assign(lower=frame["lower"] - by, upper=frame["upper"] + by)


def in_eighty_letters(name: str) -> str:
    return f"{name.replace('_', ' ')} of a kind that nobody would write on one line of any figure at all"[:80]


LABELS = {
    "eighty": long_labels(in_eighty_letters),
    "hebrew": long_labels(lambda name: f"{HEBREW} {name[:2]}{len(name)}"),
}
EXTREMES: dict[str, tuple[Any, str, str | None]] = {
    "one row, 85 mm": (lambda frame: frame.head(1), "", "single"),
    "thirty judges": (thirty_judges, "", None),
    "one wide interval, 180 mm": (hundredfold_interval, "", "double"),
    "nothing estimated": (
        lambda frame: frame.assign(**dict.fromkeys({*NUMBERS} & {*frame}, np.nan)),
        "",
        None,
    ),
    "eighty letters": (None, "eighty", None),
    "right to left, 85 mm": (None, "hebrew", "single"),
}


def crossing(one: Bbox, other: Bbox, dot: float) -> bool:
    """Whether letters of two texts meet: boxes are higher than letters, and may touch."""
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return wide > dot and high > 0.4 * min(one.height, other.height)


def faults_of(figure: Figure) -> list[str]:
    """What a reader of a figure would miss or could not read, from the boxes of what is drawn."""
    dot = figure.dpi / 72
    boxes = [
        (text.get_text(), box)
        for text in _visible_texts(figure)
        if (box := text.get_window_extent()).width > 0
    ]
    page = figure.bbox.padded(3)
    faults = [f"outside: {text}" for text, box in boxes if not page.contains(box.x0, box.y0)]
    faults += [f"outside: {text}" for text, box in boxes if not page.contains(box.x1, box.y1)]
    faults += [
        f"overlap: {text}, {other}"
        for (text, one), (other, two) in combinations(boxes, 2)
        if crossing(one, two, dot)
    ]
    panels = [axes for axes in figure.axes if axes.get_visible()]
    for axes in panels:
        for legend in figure.legends:
            if legend.get_window_extent().overlaps(axes.get_window_extent().padded(-2)):
                faults.append("a legend covers a panel")
        for line in axes.lines:
            if line.get_marker() in ("", "None", None) or len(line.get_xdata()) > 60:  # type: ignore[arg-type]
                continue
            places = line.get_transform().transform(np.column_stack([line.get_xdata(), line.get_ydata()]))
            for x, y in places[np.isfinite(places).all(axis=1)]:
                if not axes.bbox.padded(3).contains(x, y):
                    faults.append(f"a point is cut at {x:.0f}, {y:.0f}")
                faults += [f"covers a point: {text}" for text, box in boxes if box.padded(-1).contains(x, y)]
    return faults


@pytest.mark.slow
@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ALIKE])
def test_on_extremes_all_is_inside_the_page_and_readable_or_refused_with_a_reason(name, extreme) -> None:
    change, labels, size = EXTREMES[extreme]
    result, options = example(name).result, example(name).options
    if change is not None:
        if type(result) is not Result or TOGETHER.match(name):
            return
        result = replace(result, frame=change(result.frame))
        if result.frame is example(name).result.frame:
            return
    theme = "dark" if labels == "eighty" else "light"
    options = {**options, "labels": LABELS.get(labels), "theme": theme, "size": size, "title": "A heading"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure = figures.draw(result, **options)
            figure.draw_without_rendering()
    except InputError as error:
        if re.search(REFUSALS, str(error)):
            return
        raise
    assert faults_of(figure) == []
    texts = [text.get_text() for text in figure.findobj(Text) if text.get_visible()]
    assert labels or not [text for text in texts if "_" in text]
    assert figure.get_label().endswith(".")
