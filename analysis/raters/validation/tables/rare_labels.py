"""Labels that are given a few times: too few for errors by class, or another label with words behind it."""

from __future__ import annotations

import re

import numpy as np

from conjury.inference.errors import as_argument, counted, listed, quoted
from conjury.inference.tables.reading.cell_rules import key_of, number_of

from ..coding import CodedRows, counts_of

FEW_LABELS = 10  # by people of one class; with fewer, its recall rests on single labels
STRAY = 2  # labels by one rater alone that may be a slip


def few_labels(data: CodedRows, answered: np.ndarray) -> list[str]:
    """State which classes have so few labels by people that the intervals that rest on them are wide."""
    if data.scale == "interval" or data.q < 2:
        return []
    stray = stray_labels(data)
    n = counts_of(data.people[:, answered], data.q).sum(axis=0).astype(int)
    rare = [
        f"'{name}' ({count})"
        for name, count in zip(data.classes, n, strict=True)
        if count < FEW_LABELS and name not in stray
    ]
    if not rare:
        return []
    which = "a class" if len(rare) == 1 else "classes"
    return [
        f"Fewer than {FEW_LABELS} labels by people of {which}: {listed(rare, 6)}. Recall, kappa and alpha "
        "rest on these few labels, so their intervals are wide; label more rows of the kind."
    ]


def stray_labels(data: CodedRows) -> dict[str, str]:
    """Sentences on labels that one of several raters gives once or twice, by label."""
    names = [*("The judge" for _ in data.judges), *(f"'{name}'" for name in data.people_names)]
    codes = np.vstack([data.judges, data.people])
    sentences = {}
    for place, name in enumerate(data.classes):
        each = (codes == place).sum(axis=1)
        users = np.flatnonzero(each)
        if len(users) != 1 or each.sum() > STRAY or number_of(name) is not None:
            continue
        start = next((label for label in data.classes if _begins_with(name, label)), None)
        if start is None and (users[0] < len(data.judges) or len(data.people) < 2):
            continue
        meaning = quoted(start) if start else "another label"
        option = as_argument(f"{name}={start or 'LABEL'}")
        sentences[name] = (
            f"{names[users[0]]} alone gives {quoted(name)}, in {counted(int(each.sum()), 'row')}; if it "
            f"means {meaning}, state --relabel {option}."
        )
    return sentences


def _begins_with(text: str, label: str) -> bool:
    """Whether a label is another one with something behind it that is no further letter."""
    return re.match(rf"{re.escape(key_of(label))}[^\w]", key_of(text)) is not None
