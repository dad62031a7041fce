"""What `fit` prints at its end: the largest effects, with bars on the right side of zero."""

from __future__ import annotations

import pandas as pd
import pytest

from conjury.analysis.figures.labels import LevelLabels
from conjury.analysis.report.finding import HALF_WIDTH, largest_effects_table
from conjury.analysis.report.sentences import ranking_sentences

EFFECTS = pd.DataFrame(
    {
        "feature": "x",
        "level": [f"l{k}" for k in range(9)],
        "estimate": [0.0, 0.1, -0.5, 0.2, -0.05, 0.3, 0.25, -0.01, float("nan")],
        "std_error": [None, *[0.1] * 8],
        "lower": -1.0,
        "upper": 1.0,
    }
)


def test_the_largest_effects_are_ranked_by_size_and_drawn_on_their_side_of_zero() -> None:
    table = largest_effects_table(EFFECTS, LevelLabels({}))
    assert table is not None
    numbers = [float(row[1].replace("\N{MINUS SIGN}", "-")) for row in table.rows]
    assert numbers == [-0.5, 0.3, 0.25, 0.2, 0.1, -0.05]
    for value, row in zip(numbers, table.rows, strict=True):
        before, _, after = row[-1].partition("\N{BOX DRAWINGS LIGHT VERTICAL}")
        length = max(1, round(abs(value) / 0.5 * HALF_WIDTH))
        assert (before.strip(), after) == (("█" * length, "") if value < 0 else ("", "█" * length))
        assert len(before) == HALF_WIDTH


def test_judges_are_named_where_there_are_several() -> None:
    alone = largest_effects_table(EFFECTS.assign(judge="m"), LevelLabels({}))
    several = largest_effects_table(EFFECTS.assign(judge=list("mmmmnnnnn")), LevelLabels({}))
    assert alone is not None and several is not None  # noqa: PT018
    assert "Judge" not in alone.head
    assert [row[1] for row in several.rows] == ["m", "n", "n", "m", "m", "n"]
    points = largest_effects_table(EFFECTS, LevelLabels({}), in_points=True)
    assert points is not None
    row = [text.replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}", " ") for text in points.rows[0]]
    assert (points.head[1], row[1:3]) == ("Points", ["-50.0", "[-100.0, 100.0]"])
    assert "90% t" in str(largest_effects_table(EFFECTS, LevelLabels({}), "90% t"))
    assert largest_effects_table(EFFECTS.head(1), LevelLabels({})) is None  # nothing is estimated


@pytest.mark.parametrize(
    ("lower", "sentence"),
    [
        (0.81, "the highest score is that of b (0.90), before a and c (0.70)"),
        (0.8, "the scores of b (0.90), a (0.70) and c (0.70) are the highest, and their intervals overlap"),
    ],
)
def test_the_highest_is_ahead_of_those_whose_intervals_end_below_its_own(lower: float, sentence: str) -> None:
    frame = pd.DataFrame({"estimate": [0.7, 0.9, 0.7, 0.5], "lower": [0.6, lower, 0.6, 0.4]})
    frame["upper"] = [0.8, 1.0, 0.8, 0.6]
    differ, cells = ranking_sentences.overlap_of(frame), [f"{value:.2f}" for value in frame["estimate"]]
    leader = ranking_sentences.find_leader(
        ("score", "scores"), list("abcd"), frame["estimate"], cells, differ
    )
    assert leader is not None
    assert ranking_sentences.leader_in_words(leader) == sentence
    assert "is below 0.1;" in ranking_sentences.clear_rule(0.1)
