"""Exports of Label Studio, whole and minimal. The fixtures are made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Layout, read_label_studio

HUMANS = Path(__file__).resolve().parents[2] / "fixtures" / "humans"
WHOLE = HUMANS / "label_studio.json"
MINIMAL = HUMANS / "label_studio_min.json"


def changed(tmp_path: Path, source: Path, change: Callable[[Any], None]) -> Path:
    content = json.loads(source.read_text(encoding="utf-8"))
    change(content)
    path = tmp_path / "export.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def only_words(tasks: Any) -> None:
    for task in tasks:
        task.pop("wit", None)
        task["harm"] = "safe"


def with_text(tasks: Any) -> None:
    result = {"from_name": "why", "type": "textarea", "value": {"text": ["it is"]}}
    tasks[0]["annotations"][0]["result"].append(result)


def with_regions(tasks: Any) -> None:
    tasks[0]["annotations"][0]["result"] += tasks[0]["annotations"][0]["result"][:1]


def test_minimal_exports_state_ratings_and_need_names_for_words(tmp_path: Path) -> None:
    made = read_label_studio(MINIMAL, Layout(dimensions={"wit": "wit"})).judgments
    assert made["judge_id"].tolist() == ["1", "2", "2"]
    assert made["value"].fillna(-1).tolist() == [4, 2, -1]
    assert made["status"].tolist() == ["ok", "ok", "missing"]
    words = changed(tmp_path, MINIMAL, only_words)
    with pytest.raises(InputError, match=r"name them with --dimensions \(there are: joke_id, text, harm\)"):
        read_label_studio(words)
    made = read_label_studio(words, Layout(dimensions={"harm": "harm"})).judgments
    assert made["value"].tolist() == ["safe"] * 3


def test_several_choices_text_and_regions_are_refused_unless_another_control_is_chosen(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="annotation 102: 'harm' contains 2 choices"):
        read_label_studio(MINIMAL, Layout(dimensions={"harm": "harm"}))
    with pytest.raises(InputError, match="'harm' has several results"):
        read_label_studio(changed(tmp_path, WHOLE, with_regions))
    path = changed(tmp_path, WHOLE, with_text)
    with pytest.raises(InputError, match="annotation 101: 'why' contains free text"):
        read_label_studio(path)
    assert len(read_label_studio(path, Layout(dimensions={"wit": "wit"})).judgments) == 4


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "this is no JSON"),
        ("{}", "this is no list of tasks"),
        ('[{"id": 1, "text": "a"}]', "task 1 has neither 'annotations' nor 'annotator'"),
        ('[{"id": 1, "annotations": []}]', "no task has an annotation"),
        ('[{"id": 1, "annotations": [{"id": 2, "result": []}]}]', "does not state its annotator"),
        (
            '[{"id": 1, "annotations": [{"id": 2, "completed_by": 1, "result": []}]}]',
            "no annotation contains",
        ),
    ],
)
def test_json_that_is_no_export_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "export.json"
    file.write_text(content)
    with pytest.raises(InputError, match=problem):
        read_label_studio(file)


def test_absent_fields_are_refused() -> None:
    with pytest.raises(InputError, match=r"task 1 has no 'joke' among its data \(did you mean 'joke_id'\?\)"):
        read_label_studio(WHOLE, Layout(item="joke"))
    with pytest.raises(InputError, match="has only the id of its annotator"):
        read_label_studio(MINIMAL, Layout(judge="email"))
