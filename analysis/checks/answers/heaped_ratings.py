"""Ratings that use only a part of their scale."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import listed
from conjury.inference.readers.judgments import scales_of
from conjury.inference.study.models import ItemStudy

from ..judged import NotApplicableError
from ..labelled import answers_of, numeric
from ..registry import Check, Question, check, highest, who

HEAPED_RATINGS = Question(
    "CJ320",
    "heaped_ratings",
    "Heaped ratings",
    "Does every judge use the whole scale?",
    "Ratings on two points carry little information; means and correlations rest on how often one point is "
    "given.",
    "Show the distribution of ratings beside means; describe every point of the scale in the prompt, or ask "
    "for a "
    "comparison of two items in place of a rating.",
    "rule",
)
POINTS = 5  # a scale with fewer points has no unused middle
FEWEST = 50  # ratings of one judge on one dimension
HEAPED = 0.95  # share of the two commonest ratings, where the others use them less
OTHERS = 0.75


@check(HEAPED_RATINGS)
def heaped_ratings(judgments: pd.DataFrame, item_study: ItemStudy | None = None) -> Check:
    """Share of the two commonest ratings of each judge, and that of all others on the same dimension."""
    answers = numeric(answers_of(judgments))
    scales = scales_of(item_study) if item_study is not None else {}
    rows = []
    for task, of_task in answers.groupby("task", sort=False):
        points = len(scales.get(str(task), ())) or int(of_task["number"].nunique())
        if points < POINTS:
            continue
        for (judge, prompt), own in of_task.groupby(["judge", "prompt"], sort=False):
            if len(own) >= FEWEST:
                rest = of_task.loc[of_task["judge"] != judge, "number"]
                rows.append((judge, prompt, task, *_of_judge(own["number"], rest), points))
    if not rows:
        raise NotApplicableError(f"No judge has {FEWEST} ratings on a scale of at least {POINTS} points.")
    columns = ["judge", "prompt", "panel", "of", "estimate", "others", "used", "label", "points"]
    table = pd.DataFrame(rows, columns=columns)
    heaped = table[(table["estimate"] >= HEAPED) & ~(table["others"] > OTHERS)]
    worst = highest(table, table["estimate"])
    compared = (
        ""
        if np.isnan(worst["others"])
        else f", where the others give {100 * worst['others']:.1f}% on their two"
    )
    finding = (
        f"{len(heaped)} of {len(table)} series of ratings are heaped on two points; the most is "
        f"{100 * worst['estimate']:.1f}% of {int(worst['of'])} ratings ({who(worst)}, {worst['panel']}, "
        f"{worst['label']}{compared})."
    )
    return HEAPED_RATINGS.answer(table, "warning" if len(heaped) else "pass", finding)


def _of_judge(own: pd.Series[float], rest: pd.Series[float]) -> tuple[int, float, float, int, str]:
    counts = own.value_counts()
    two = counts.index[:2].tolist()
    of_rest = rest.value_counts(normalize=True)
    others = float(of_rest.iloc[:2].sum()) if len(rest) else np.nan
    label = "on " + listed(f"{value:g}" for value in sorted(two))
    return len(own), float(counts.iloc[:2].sum() / len(own)), others, len(counts), label
