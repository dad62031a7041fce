"""What is drawn of every kind of result: points at estimates, lines over limits, at their labels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
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


PLACES: dict[str, tuple[int, set[float]]] = {  # points that each figure has, and its lines of no difference
    "amce": (9, {0.0}),
    "amce, judges": (21, {0.0}),
    "mm": (9, {0.5}),
    "target": (12, {0.0}),
    "prediction_powered": (21, {0.0}),
    "prediction_powered, groups": (18, {0.0}),
    "bounds": (9, {0.0}),
    "interaction": (12, {0.0}),
    "equivalence": (6, {0.0}),
    "reliability": (2, {50.0, 88.5}),
    "choice_level": (2, {0.5}),
    "choice_level, ties": (12, {0.5}),
    "choice_level, amce": (5, {0.0}),
    "preference_cycles": (4, {0.0}),
    "importance": (3, set()),
    "choice_shares": (3, {0.333}),
    "substitution": (3, {0.0}),
    "design_probabilities": (6, {0.0}),
    "attribute_independence": (3, {1.0}),
    "position_share": (2, {50.0}),
    "profile_order": (6, {0.0}),
    "repeat_agreement": (2, {50.0}),
    "missing_choices": (6, {0.0}),
    "shared_tasks": (2, {0.0}),
    "check": (12, set()),
    "means": (27, set()),
    "bounds, ratings": (27, set()),
    "prediction_powered_items, strata": (48, set()),
    "prediction_powered_items, scores": (6, set()),
    "correlations": (24, {0.0}),
    "biases": (24, {0.0, 1.0}),
    "tier_accuracy": (36, set()),
    "agreement": (12, set()),
    "alt_test": (16, {0.5}),
    "alt_test, annotators": (7, {0.0, 0.1}),
    "both_answers": (16, {0.5}),
    "rater_model": (12, {0.5}),
    "rater_model, judges": (20, {0.0}),
    "rater_model, check": (24, set()),
    "label_model, check": (12, set()),
    "choice_model": (6, {0.0}),
    "scores": (24, {0.08, 0.4}),
    "scores, policies": (72, set()),
    "scores, recalls": (48, set()),
    "bounds, scores": (12, {0.1}),
    "robustness": (24, {0.0}),
    "differences": (6, {0.0}),
    "annotators": (4, set()),
    "mixed": (6, {0.0}),
    "rates": (20, set()),
    "order_effects": (18, {0.5}),
    "order_effects, effects": (10, {0.0}),
    "variance_components": (16, set()),
    "flips": (28, {0.0}),
    "drift": (3, {0.0}),
    "beyond_quality": (5, {0.0}),
    "judging": (25, set()),
    "run_comparison": (10, {0.0}),
}


@pytest.mark.parametrize("name", PLACES)
def test_points_lines_and_labels_are_those_of_one_row_of_the_table(name: str) -> None:
    """Each point is at an estimate, the line through it ends at its limits, and its words are of that row."""
    shown = example(name)
    figure = figures.draw(shown.result, labels=LABELS, **shown.options)
    n_points, lines = PLACES[name]
    points, rows = drawn_points(figure), list(candidates(shown.result))
    numbers = np.array([row for row, _ in rows])
    assert vertical_lines(figure) == lines
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
