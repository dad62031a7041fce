"""Ratings that use only a part of their scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import listed
from conjury.inference.readers.judgments import scales_of
from conjury.inference.study.models import ItemStudy

from ...frames.notes import Note
from ...frames.rounding import percentage
from ..judged import NotApplicableError
from ..labelled import answers_of, numeric
from ..registry import Check, Question, check, highest, who

HEAPED_RATINGS = Question(
    code="CJ320",
    name="heaped_ratings",
    title="Heaped ratings",
    text="Does every judge use all scale points that lie between its frequent ratings?",
    consequence="Heaped ratings use fewer points than the scale, so means are not comparable with those of "
    "the full scale.",
    remedy="Report the distribution of ratings with means; describe every point of the scale in the prompt, "
    "and check whether the parser or the form skips points.",
    alarms="rule",
)
POINTS = 5  # a scale with fewer points has no gaps
FEWEST = 50  # ratings of one judge on one dimension
HEAPED = 0.25  # share of ratings that would fill the gaps
OTHERS = 0.5  # of this, at most so much in the ratings of the others


@check(HEAPED_RATINGS)
def heaped_ratings(judgments: pd.DataFrame, item_study: ItemStudy | None = None) -> Check:
    """Ratings that would fill the gaps of each judge's distribution, compared with those of all others."""
    answers = numeric(answers_of(judgments))
    scales = scales_of(item_study) if item_study is not None else {}
    rows = []
    for task, of_task in answers.groupby("task", sort=False):
        number = of_task["number"]
        scale = scales.get(str(task)) or range(int(number.min()), int(number.max()) + 1)
        if len(scale) < POINTS or (number % 1 != 0).any():
            continue
        for (judge, prompt), ratings in of_task.groupby(["judge", "prompt"], sort=False):
            if len(ratings) >= FEWEST:
                reference = of_task.loc[of_task["judge"] != judge, "number"]
                points = sorted(ratings["number"].unique())
                label = "on " + listed(f"{value:g}" for value in points)
                parts = gaps(ratings["number"].to_numpy(), scale), gaps(reference.to_numpy(), scale)
                rows.append((judge, prompt, task, label, len(ratings), *parts))
    if not rows:
        raise NotApplicableError(
            Note.of(
                "No judge has {fewest} whole ratings on a scale of {points} points or more.",
                fewest=FEWEST,
                points=POINTS,
            )
        )
    columns = ["judge", "prompt", "panel", "label", "of", "estimate", "others"]
    table = pd.DataFrame(rows, columns=columns)
    heaped = table[(table["estimate"] > HEAPED) & (table["others"] < OTHERS * table["estimate"])]
    worst = highest(table, table["estimate"])
    finding = Note.of(
        "{heaped} of {n_series} series of ratings have gaps that those of other judges lack; in the "
        "largest, {share} of {of} ratings would fill them ({who}, {dimension}, {points}), and "
        "{share_of_others} in the ratings of the others.",
        heaped=len(heaped),
        n_series=len(table),
        share=percentage(worst["estimate"], 1),
        of=int(worst["of"]),
        who=who(worst),
        dimension=worst["panel"],
        points=worst["label"],
        share_of_others=percentage(worst["others"], 1),
    )
    return HEAPED_RATINGS.answer(table, "warning" if len(heaped) else "pass", finding)


def gaps(ratings: np.ndarray, scale: Sequence[int]) -> float:
    """Ratings that are lacking at points between two commoner ones, as a share of all ratings."""
    if not len(ratings):
        return 0.0
    share = np.array([(ratings == point).mean() for point in scale])
    left_peak, right_peak = np.maximum.accumulate(share), np.maximum.accumulate(share[::-1])[::-1]
    return float(np.maximum(np.minimum(left_peak, right_peak) - share, 0).sum())
