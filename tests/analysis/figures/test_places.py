"""What is drawn of every kind of result: points at estimates, lines over limits, at their labels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from cases import cases
from drawn import drawn_points, vertical_lines
from made_up.figures import example, long_labels

from conjury.analysis import figures
from conjury.analysis.results import Result

NUMBERS = (
    ("estimate", "lower", "upper"),
    ("winning_rate", "winning_rate_lower", "winning_rate_upper"),
    ("advantage_probability", "advantage_probability_lower", "advantage_probability_upper"),
    ("agreement", "lower", "upper"),
    ("expected", "lower", "upper"),
    ("observed",),
    ("ties", "lower", "upper"),
    ("share", "share_lower", "share_upper"),
)
CODES: defaultdict[str, set[str]] = defaultdict(set)  # by identifier


def coded(name: str) -> str:
    """A label of an identifier that no other words contain."""
    CODES[name].add(code := f"Q{sum(map(len, CODES.values()))}Q")
    return code


LABELS = long_labels(coded)
CODES["people"] = CODES["human"]


def candidates(result: Result) -> Iterator[tuple[np.ndarray, set[str]]]:
    """Estimates with limits of all tables of a result, and codes of what each is about."""
    for table in (result.frame, *result.extra.values()):
        for row in table.to_dict("records") if isinstance(table, pd.DataFrame) else ():
            words = {word for value in row.values() for word in re.split(r"\W+", str(value))}
            codes = {code for word in words for code in CODES.get(word, ())}
            for names in NUMBERS:
                if all(isinstance(row.get(name), float) for name in names):
                    yield np.array([*(row[name] for name in names), *[np.nan] * (3 - len(names))]), codes


@pytest.mark.parametrize(("name", "n_points", "lines"), cases(__file__, "places"))
def test_points_lines_and_labels_are_those_of_one_row_of_the_table(
    name: str, n_points: int, lines: list[float]
) -> None:
    """Each point is at an estimate, the line through it ends at its limits, and its words are of that row."""
    shown = example(name)
    figure = figures.draw(shown.result, labels=LABELS, **shown.options)
    points, rows = drawn_points(figure), list(candidates(shown.result))
    numbers = np.array([row for row, _ in rows])
    assert vertical_lines(figure) == set(lines)
    if name == "tier_accuracy":  # rates of chance are behind the estimates of the same row
        points = [point for point in points if "Chance" not in point.words]
        n_points -= len(points)
    assert len(points) == n_points
    assert len({point.place for point in points}) == n_points
    unit = (
        100 if re.search(r"\(%\)|percent", figure.get_supxlabel() + figure.axes[0].get_xlabel(), re.I) else 1
    )
    for point in points:
        drawn = np.array([point.x, *point.limits])
        codes = set(re.findall(r"Q\d+Q", point.words))
        same = np.flatnonzero(np.isclose(unit * numbers, drawn, equal_nan=True).all(axis=1))
        assert any(codes <= rows[k][1] for k in same), point
