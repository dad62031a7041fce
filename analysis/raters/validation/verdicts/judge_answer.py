"""Is the judge good enough? One answer with its reason, by a limit that is stated, or beside people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import listed

from ....frames.kinds import limit_reason
from ....numerics.intervals.bounded import POWER
from ..validation_rows import row_of
from .judge_sentences import in_words, interval, labels_needed, number

MARGIN = 0.1  # of the main coefficient: how far below people a judge may be who agrees as well as they do
BEGINNINGS = {"yes": "Yes", "no": "No", "undecided": "Not enough labels", "unknown": "No answer"}

REMEDIES = {  # of limits of the labels that take the answer away
    "self_selected_only": "draw rows at random, and label these",
    "as_if_seen": "label rows that it cannot have seen",
    "not_blind": "let people label without it",
}


@dataclass(frozen=True)
class JudgeAnswer:
    """Whether a judge is good enough: yes, no, undecided with these labels, or unknown without a limit."""

    state: str
    reason: str
    limit: str = ""  # what is good enough, in words; empty where nothing says it

    def __str__(self) -> str:
        limit = f" ({self.limit})" if self.limit else ""
        return f"Is the judge good enough{limit}? {BEGINNINGS[self.state]}: {self.reason}"


def answer_of(
    frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> JudgeAnswer | None:
    """Answer by the threshold where one is stated, else beside people; None without a main coefficient."""
    answer, main = _answer(frame, extra, settings), settings.get("main")
    if answer is None or main is None:
        return None
    if settings.get("threshold") is not None:
        limit = f"{in_words(main)} above {number(settings['threshold'], main)}"
    else:
        contrast = row_of(frame, f"{main}_difference")
        is_beside = contrast is not None and np.isfinite(contrast["lower"])
        limit = (
            f"{in_words(main)} at most {number(MARGIN, f'{main}_difference')} below people"
            if is_beside
            else ""
        )
    return replace(answer, limit=limit)


def _answer(
    frame: pd.DataFrame, extra: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> JudgeAnswer | None:
    main = settings.get("main")
    coefficient = row_of(frame, main) if main else None
    if main is None or coefficient is None:
        return None
    limits = settings.get("provenance", {}).get("limits", {})
    for limit, remedy in REMEDIES.items():
        if limit in limits:
            return JudgeAnswer("unknown", f"{limit_reason(limit, **limits[limit])}; {remedy}.")
    if settings.get("versions"):
        return JudgeAnswer(
            "unknown",
            f"several versions of it answered ({listed(map(repr, settings['versions']))}), and agreement is "
            "that of none of them; choose one with --where.",
        )
    name = in_words(main)
    if not np.isfinite(coefficient["estimate"]):
        return JudgeAnswer("unknown", f"{name} has no value where all labels are equal.")
    if not np.isfinite(coefficient["lower"]):
        value = number(coefficient["estimate"], main)
        reason = "its items are too few, or vary too little"
        return JudgeAnswer("undecided", f"{name} is {value} without an interval: {reason}.")
    text = f"{name} is {number(coefficient['estimate'], main)} ({interval(coefficient, main)})"
    if coefficient["upper"] < 0:
        return JudgeAnswer("no", f"{text}, worse than chance.")
    if coefficient["lower"] <= 0:
        return JudgeAnswer("undecided", f"{text}, which is not clearly better than chance.")
    if settings.get("threshold") is not None:
        return _by_threshold(text, coefficient, extra["precision"], settings)
    return _beside_people(text, frame, main)


def _by_threshold(
    text: str, coefficient: Any, precision: pd.DataFrame, settings: Mapping[str, Any]
) -> JudgeAnswer:
    main, threshold = settings["main"], settings["threshold"]
    limit = number(threshold, main)
    if coefficient["lower"] > threshold:
        return JudgeAnswer("yes", f"{text}, above {limit} with confidence.")
    if coefficient["upper"] < threshold:
        return JudgeAnswer("no", f"{text}, below {limit} with confidence.")
    needed = precision.loc[precision["measure"] == main, "n_for_threshold"]
    n = float(needed.iloc[0]) if len(needed) else np.nan
    needed_rows = labels_needed(n, coefficient["n"], settings) if np.isfinite(n) else ""
    decide = f"about {needed_rows} would decide (power {POWER:.0%})"
    about = f"; if {in_words(main)} stays as it is, {decide}" if needed_rows else ""
    return JudgeAnswer("undecided", f"{text}, and may be above {limit} or below{about}.")


def _beside_people(text: str, frame: pd.DataFrame, main: str) -> JudgeAnswer:
    people, contrast = row_of(frame, f"people_{main}"), row_of(frame, f"{main}_difference")
    if people is None or not np.isfinite(people["estimate"]):
        return JudgeAnswer(
            "unknown",
            f"{text}, but how well people agree among themselves is not known; state the limit that matters "
            "by --threshold, or let two people or more label the same rows.",
        )
    among = f"{text}, among people {number(people['estimate'], main)}"
    if contrast is None or not np.isfinite(contrast["lower"]):
        why = "and the difference has no interval"
        if contrast is None:
            why = "which is of single ratings, while the judge's is with the mean of people"
        return JudgeAnswer("unknown", f"{among}, {why}; state the limit that matters by --threshold.")
    beside = f"{among}; the difference is {interval(contrast, f'{main}_difference')}"
    margin = number(MARGIN, f"{main}_difference")
    if contrast["lower"] > -MARGIN:
        return JudgeAnswer("yes", f"{beside}, at most {margin} below people.")
    if contrast["upper"] < 0:
        return JudgeAnswer("no", f"{beside}, below people.")
    return JudgeAnswer("undecided", f"{beside}, and may be more than {margin} below people.")
