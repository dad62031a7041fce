"""The replacement test beside the Bayesian model: two answers to one question, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..drawable import Drawable
from ..labels import LabelKey
from .forest import Forest, draw_forest
from .naming import Names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANSWERS = {
    "winning_rate": "Test: winning rate",
    "advantage_probability": "Test: advantage probability",
    "closer_than_human": "Model: P(closer on an item)",
    "better_than_human": "Model: P(follows more closely)",
    "accuracy_difference": "Model: accuracy less a person's",
}
BASELINES = {"winning_rate": 0.5, "closer_than_human": 0.5, "better_than_human": 0.5,
             "accuracy_difference": 0.0}  # fmt: skip


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw both answers: a panel a quantity, a row a model (and dimension)."""
    names, frame = Names(labels), result.frame
    rows = row_names(frame, names)
    table = pd.DataFrame(
        {
            "panel": frame["quantity"].map(ANSWERS),
            "row": rows,
            "series": "",
            **{name: frame[name] for name in ("estimate", "lower", "upper")},
        }
    )
    there = [name for name in ANSWERS if name in set(frame["quantity"])]
    forest = Forest(
        table, [ANSWERS[name] for name in there], list(dict.fromkeys(rows)), [""], [0],
        "Estimate with interval: bootstrap of the test, posterior of the model",
        baseline={ANSWERS[name]: BASELINES[name] for name in there if name in BASELINES},
        share_x=False, across=2 if len(there) == 4 else 3,
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Read the numbers of each model out."""
    names, frame = Names(labels), result.frame
    told = []
    for row, part in frame.assign(row=row_names(frame, names)).groupby("row", sort=False):
        numbers = [
            f"{ANSWERS[str(one['quantity'])].split(': ')[1]} {one['estimate']:.2f}"
            + (f" [{one['lower']:.2f}, {one['upper']:.2f}]" if one["lower"] == one["lower"] else "")
            for one in part.to_dict("records")
        ]
        told.append(f"{row}: {', '.join(numbers)}.")
    return " ".join(["The replacement test and the Bayesian model side by side.", *told])


def row_names(frame: pd.DataFrame, names: Names) -> list[str]:
    """Model, behind its dimension where there are several."""
    several = frame["dimension"].nunique() > 1
    return [
        f"{names.of('dimension', dimension)}, {names.of('judge', model)}"
        if several
        else names.of("judge", model)
        for dimension, model in zip(frame["dimension"], frame["model"], strict=True)
    ]
