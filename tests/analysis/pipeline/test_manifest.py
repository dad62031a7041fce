"""Every shape of manifest is read as one list of results."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from conjury.analysis.pipeline.manifest import Recorded, entry_of, results_of, runs_of
from conjury.analysis.pipeline.run import Named
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

ANALYSIS = {"name": "amce", "verb": "amce", "title": "All", "groups": [{"judge": "human"}], "seconds": 0.5}
RESULT = {
    "name": "means", "kind": "means", "title": "Means", "settings": {"draws": 9}, "notes": ["A note."],
    "further": ["main"], "seconds": 1.5, "verdict": ["Fine."], "passed": True,
}  # fmt: skip


def test_analyses_of_conjoints_and_results_of_items_are_one_list() -> None:
    [effects] = results_of({"analyses": [ANALYSIS]})
    assert (effects.kind, effects.groups, effects.part) == ("amce", ({"judge": "human"},), "fit")
    [means] = results_of({"results": [RESULT]})
    settings = {"draws": 9, "verdict": ["Fine."], "passed": True}
    assert means == Recorded(
        "means", "means", "Means", settings, notes=("A note.",), extra=("main",), seconds=1.5
    )


def test_differences_from_people_are_a_kind_of_their_own() -> None:
    [people] = results_of({"analyses": [{**ANALYSIS, "verb": "amce_diffs", "figure": "people"}]})
    assert people.kind == "people"


def test_comparisons_of_engines_and_diagnoses_are_results() -> None:
    diagnosed = {"robustness": ["errors", "power"], "alpha": 0.1, "seed": 3}
    found = results_of({"analyses": [ANALYSIS], "compared": {"title": "Effects"}, "diagnosed": diagnosed})
    assert [(made.name, made.kind, made.part) for made in found] == [
        ("amce", "amce", "fit"),
        ("engines", "engines", "compared"),
        ("diagnosis", "diagnosis", "diagnosed"),
        ("errors", "standard_errors", "diagnosed"),
        ("power", "detectable", "diagnosed"),
    ]


def test_later_runs_follow_in_order_of_time_and_replace_results_of_the_same_name() -> None:
    def run(hour: int, **given: Any) -> dict[str, Any]:
        return {"created": f"2026-01-01T0{hour}:00:00", "results": [{**RESULT, **given}]}

    manifest = {**run(1), "late": run(3, title="Last"), "early": run(2, name="alt_test", kind="alt_test")}
    assert list(runs_of(manifest)) == ["fit", "early", "late"]
    found = {made.name: (made.title, made.part) for made in results_of(manifest)}
    assert found == {"means": ("Last", "late"), "alt_test": ("Means", "early")}


def test_a_result_is_listed_and_read_as_it_was() -> None:
    groups = [{"judge": "human", "n_rows": 4}]
    result = Result(pd.DataFrame({"estimate": [1.0]}), "amce", ("A note.",), {"alpha": 0.1, "groups": groups})
    listed = json.loads(
        json.dumps({"format": 2, "results": [entry_of(Named("main", "Effects", result, 0.5))]})
    )
    (recorded,) = results_of(listed)
    assert (recorded.name, recorded.kind, recorded.title, recorded.seconds) == (
        "main",
        "amce",
        "Effects",
        0.5,
    )
    assert (recorded.settings, recorded.groups) == (result.settings, tuple(groups))
    assert (recorded.notes, recorded.part) == (("A note.",), "fit")


def test_the_format_of_a_later_version_is_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match=r"format 3.*update conjury, or run `conjury fit` again"):
        results_of({"format": 3, "results": []})
