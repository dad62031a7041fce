"""What a run found, as a terminal shows it: sentences of the report, and the largest effects with bars."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..figures.labels import LevelLabels
from ..frames.word_table import WordTable
from .exhibits.conjoint_exhibits import estimates
from .method_sentences import bounds_name, unmarked
from .results_report import Report
from .table_format import interval, number

MOST_EFFECTS = 6  # effects of the main analysis
HALF_WIDTH = 10  # characters of a bar on each side of zero


def finding_blocks(report: Report) -> list[str | WordTable]:
    """The sentences with which the report opens, and the largest effects of a conjoint's main analysis."""
    sentences: list[str | WordTable] = [unmarked(text) for text in report.headlines()]
    main = next(iter(report.of_kind("amce")), None)
    if main is None:
        return sentences
    frame = estimates(report, main)
    table = largest_effects_table(frame, LevelLabels(report.labels), bounds_name(main.settings, frame=frame))
    return sentences if table is None else [*sentences, table]


def largest_effects_table(frame: pd.DataFrame, labels: LevelLabels, bounds: str = "") -> WordTable | None:
    """Lay the largest effects out with intervals and bars; None where none is estimated."""
    estimated = frame[frame["std_error"].notna() & frame["estimate"].notna()]
    if estimated.empty:
        return None
    ranked = estimated.sort_values("estimate", key=np.abs, ascending=False, kind="stable").head(MOST_EFFECTS)
    most = float(ranked["estimate"].abs().max()) or 1.0
    has_judges = "judge" in frame and frame["judge"].nunique() > 1
    rows = [
        (
            labels.both(row["feature"], row["level"]),
            *([str(row["judge"])] if has_judges else []),
            number(row["estimate"]),
            interval(row["lower"], row["upper"]),
            bar_of(float(row["estimate"]) / most),
        )
        for row in ranked.to_dict("records")
    ]
    head = ("Largest effects", *(["Judge"] if has_judges else []), "Estimate", bounds or "interval", "")
    return WordTable("", head, rows, words=(0, 1, len(head) - 1) if has_judges else (0, len(head) - 1))


def bar_of(share: float) -> str:
    """A bar to the left or the right of zero; ``share`` is that of the longest one, from -1 to 1."""
    length = "\N{FULL BLOCK}" * max(1, round(abs(share) * HALF_WIDTH))
    before, after = (length, "") if share < 0 else ("", length)
    return f"{before:>{HALF_WIDTH}}\N{BOX DRAWINGS LIGHT VERTICAL}{after}"
