"""Scores by length: groups within strata, and what is said of the longest and the shortest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.benchmark import Scored, score
from conjury.analysis.benchmark.cards import length_effects


def in_two_languages() -> tuple[Scored, pd.DataFrame]:
    """Short items in one language, all right, and long ones in another, all but one wrong."""
    n = 80
    language = np.repeat(["en", "es"], n // 2)
    text = ["x" * (k + 1) for k in range(n)]
    items = pd.DataFrame({"item_id": [f"j{k:02d}" for k in range(n)], "text": text, "language": language})
    given = np.where((language == "en") ^ (np.arange(n) % 10 == 0), "safe", "harmful")
    judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": items["item_id"],
                           "dimension": "harm", "value": given})  # fmt: skip
    gold = pd.DataFrame({"item_id": items["item_id"], "label_set": "harm", "label": "safe"})
    return score(judged, gold, items=items), items


def test_what_languages_differ_in_is_no_effect_of_length() -> None:
    made, items = in_two_languages()
    across = length_effects(made, items, metrics=["accuracy"], draws=200).extra["ends"]
    assert across["estimate"].item() < -0.7
    found = length_effects(made, items, within=["language"], metrics=["accuracy"], draws=200)
    ends = found.extra["ends"].set_index("language")
    assert ends["estimate"].abs().max() < 0.15
    assert found.frame.groupby("language")["longest"].max().to_dict() == {"en": 40, "es": 80}
    assert found.settings["by"] == ["language"]
    assert "Lengths are grouped and compared within each value of language." in found.notes


def test_longest_minus_shortest_has_a_p_adjusted_within_a_task_and_metric() -> None:
    made, items = in_two_languages()
    ends = length_effects(made, items, within=["language"], draws=200).extra["ends"]
    right = ends[ends["metric"] == "accuracy"]
    known = right["p"].notna()
    assert right["p_adjusted"][known].min() == pytest.approx(min(1, right["p"].min() * known.sum()))


def test_strata_whose_texts_are_alike_are_left_out_and_counted() -> None:
    made, items = in_two_languages()
    alike = items.assign(text=items["text"].where(items["language"] == "en", "same"))
    found = length_effects(made, alike, within=["language"], draws=0)
    assert set(found.frame["language"]) == {"en"}
    assert any(note.startswith("40 items are excluded") for note in found.notes)
    assert not any("no text" in note for note in found.notes)
