"""Labels that are given a few times: too few for errors by class, or another label with words behind it."""

from __future__ import annotations

import re

import numpy as np

from conjury.inference.errors import as_argument, counted, listed, quoted
from conjury.inference.tables.reading.cell_rules import key_of, number_of

from ....frames.notes import doubting
from ..coding import CodedRows, counts_of

FEW_LABELS = 10  # by people of one class; with fewer, its recall rests on single labels
STRAY = 2  # labels by one rater alone that may be a slip


def few_labels(data: CodedRows, answered: np.ndarray) -> list[str]:
    """State which classes have so few labels by people that the intervals that rest on them are wide."""
    if data.scale == "interval" or data.q < 2:
        return []
    stray = stray_labels(data)
    n = counts_of(data.people[:, answered], data.q).sum(axis=0).astype(int)
    by_judge = counts_of(data.judges[:, answered], data.q).sum(axis=0).astype(int)
    scarce = [
        counts
        for counts in zip(data.classes, n.tolist(), by_judge.tolist(), strict=True)
        if counts[1] < FEW_LABELS and counts[0] not in stray
    ]
    foreign = [(name, answers) for name, count, answers in scarce if answers and not count]
    rare = [f"{quoted(name)} ({count})" for name, count, answers in scarce if count or not answers]
    sentences: list[str] = []
    if foreign:
        answers_by_label = listed([f"{quoted(name)} ({counted(n, 'row')})" for name, n in foreign], 6)
        option = as_argument(f"{foreign[0][0]}=LABEL")
        sentences.append(
            doubting(
                "The judge gives what people never do: {labels_alone}. Each of these answers counts as an "
                "error; if one means a label of people, state --relabel {option}.",
                labels_alone=answers_by_label,
                option=option,
            )
        )
    if rare:
        which = "a class" if len(rare) == 1 else "classes"
        sentences.append(
            f"Fewer than {FEW_LABELS} labels by people of {which}: {listed(rare, 6)}. Recall, kappa and "
            "alpha rest on these few labels, so their intervals are wide; label more rows of the kind."
        )
    return sentences


def stray_labels(data: CodedRows) -> dict[str, str]:
    """Sentences on labels that one of several raters gives once or twice, by label."""
    names = [*("The judge" for _ in data.judges), *(f"'{name}'" for name in data.people_names)]
    codes = np.vstack([data.judges, data.people])
    sentences: dict[str, str] = {}
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
        sentences[name] = doubting(
            "{who} alone gives {text}, in {rows}; if it means {meaning}, state --relabel {option}.",
            who=names[users[0]],
            text=quoted(name),
            rows=counted(int(each.sum()), "row"),
            meaning=meaning,
            option=option,
        )
    return sentences


def _begins_with(text: str, label: str) -> bool:
    """Whether a label is another one with something behind it that is no further letter."""
    return re.match(rf"{re.escape(key_of(label))}[^\w]", key_of(text)) is not None
