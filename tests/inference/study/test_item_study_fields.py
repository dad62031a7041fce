"""Strata, tiers, assignment and anchors of a study of items, and how wrong ones are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.studies import RATINGS, change_study, items, write_study

from conjury.inference.errors import InputError
from conjury.inference.study import ItemStudy, load_any_study

STRATA = [
    {
        "id": "tier",
        "label": "Votes",
        "levels": [
            {"id": "high", "label": "Most"},
            {"id": "low", "label": "Fewest"},
            {"id": "odd", "label": "?"},
        ],
    }
]
FIELDS: dict[str, Any] = {
    "strata": STRATA,
    "cluster": "topic_id",
    "generator": "writer",
    "main": "hate",
    "tiers": {"column": "tier", "levels": ["high", "low"]},
    "unrelated": {"column": "tier", "level": "odd"},
    "assignment": {"within": "topic_id", "across": "tier", "raters": 4, "repeats": 1},
}


def study_file(folder: Path) -> Path:
    return write_study(folder / "posts", items(RATINGS) | FIELDS)


def load(path: Path) -> ItemStudy:
    return load_any_study(path)


def test_strata_and_scales_are_told_in_words(tmp_path):
    study = load(study_file(tmp_path))
    assert study.scale_labels == {"threat": "Threat", "hate": "Hate"}
    assert study.feature_labels == {"tier": "Votes"}
    assert study.level_labels["tier"]["low"] == "Fewest"
    assert study.levels("tier") == ["high", "low", "odd"]
    assert (study.assignment.raters, study.assignment.repeats) == (4, 1.0)


def test_a_study_of_labels_has_no_scales(tmp_path):
    study = load(write_study(tmp_path / "posts", items({"form": "text"}, answer="free")))
    assert study.scales == []
    assert study.scale_labels == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda c: c.update(main="love"),
            r"study\.yaml:\d+: main: 'love' is unknown here; use one of threat, hate",
        ),
        (lambda c: c.update(response={"form": "text"}), "main: answers of form 'text' have no scales"),
        (lambda c: c["strata"].append(STRATA[0]), "stratum 'tier' is given twice"),
        (
            lambda c: c["strata"][0]["levels"].append({"id": "low", "label": "x"}),
            "tier: level 'low' is given",
        ),
        (lambda c: c["tiers"].update(column="tiers"), "tiers: 'tiers' is unknown here; did you mean 'tier'"),
        (
            lambda c: c["tiers"].update(levels=["high", "lo"]),
            "tiers: 'lo' is unknown here; did you mean 'low'",
        ),
        (lambda c: c["tiers"].update(levels=["low", "low"]), "tiers: 'low' is given twice"),
        (lambda c: c["unrelated"].update(level="od"), "unrelated: 'od' is unknown here; did you mean 'odd'"),
        (lambda c: c["assignment"].update(across="teir"), "assignment: 'teir' is unknown here; did you mean"),
        (lambda c: c["assignment"].update(within="tier"), "'within' and 'across' are both 'tier'"),
        (lambda c: c["assignment"].update(raters=0), "assignment.raters: a number of more than 0"),
        (lambda c: c["assignment"].update(repeats=1.5), "assignment.repeats: a number of at most 1"),
        (lambda c: c.pop("strata"), "the file has no strata; add 'tier'"),
        (
            lambda c: c["response"]["scales"][0].update(anchors=[{"value": 9, "text": "x"}]),
            r"threat: the anchor 9 lies outside the scale from 0 to 4",
        ),
    ],
)
def test_wrong_fields_are_told_by_line(tmp_path, change, told):
    path = study_file(tmp_path)
    change_study(path, change)
    with pytest.raises(InputError, match=told):
        load_any_study(path)
