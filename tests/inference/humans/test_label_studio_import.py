"""Exports of Label Studio, whole and minimal. The fixtures are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Layout, Rules, read_label_studio
from conjury.inference.humans.scales import read_scale

HUMANS = Path(__file__).resolve().parents[2] / "fixtures" / "humans"
WHOLE = HUMANS / "label_studio.json"
MINIMAL = HUMANS / "label_studio_min.json"


def changed(tmp_path: Path, source: Path, change: Any) -> Path:
    content = json.loads(source.read_text(encoding="utf-8"))
    change(content)
    path = tmp_path / "export.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_annotations_become_one_row_a_control() -> None:
    made = read_label_studio(WHOLE, Layout(item="joke_id", judge="email")).judgments
    ann = made[(made["judge_id"] == "ann@example.org") & (made["item_id"] == "j1")]
    assert ann[["dimension", "value"]].to_numpy().tolist() == [
        ["harm", "safe"],
        ["wit", "4"],
        ["seconds", "2.5"],
    ]
    assert ann["duration"].tolist() == [21.5] * 3
    assert str(ann["ended"].iloc[0]) == "2026-03-01 10:01:00+00:00"


def test_cancelled_and_empty_answers_are_missing_rows() -> None:
    made = read_label_studio(WHOLE).judgments
    assert made[made["item_id"] == "12"]["status"].tolist() == ["missing"] * 3
    bob = made[made["judge_id"] == "2"]
    assert bob["status"].tolist() == ["ok", "missing", "missing"]
    assert bob["ground_truth"].all()


def test_predictions_are_judgments_of_models_on_what_they_predict() -> None:
    made = read_label_studio(WHOLE).judgments
    model = made[made["judge_kind"] == "model"]
    assert model[["judge_id", "item_id", "dimension", "value"]].to_numpy().tolist() == [
        ["small-1", "11", "harm", "safe"]
    ]


def test_controls_can_be_chosen_renamed_and_scored() -> None:
    layout = Layout(dimensions={"harm": "harmful"}, items={"11": "a", "12": "b"}, covariates=["language"])
    rules = Rules(scale=read_scale("safe=0,implicit=1,explicit=2"))
    made = read_label_studio(WHOLE, layout, rules).judgments
    assert made["value"].fillna(-1).tolist() == [0, 1, 0, -1]
    assert set(made["dimension"]) == {"harmful"}
    assert made["item_id"].tolist() == ["a", "a", "a", "b"]
    assert made["language"].tolist() == ["en", "en", "en", "ja"]


def test_minimal_exports_tell_ratings_and_need_names_for_choices(tmp_path: Path) -> None:
    made = read_label_studio(MINIMAL, Layout(dimensions={"wit": "wit"})).judgments
    assert made["judge_id"].tolist() == ["1", "2", "2"]
    assert made["value"].fillna(-1).tolist() == [4, 2, -1]
    assert made["status"].tolist() == ["ok", "ok", "missing"]

    def no_results(content: Any) -> None:
        for task in content:
            task.pop("wit", None)
            task["harm"] = "safe"

    plain = changed(tmp_path, MINIMAL, no_results)
    with pytest.raises(InputError, match=r"name them with --dimensions \(there are: joke_id, text, harm\)"):
        read_label_studio(plain)
    assert (
        read_label_studio(plain, Layout(dimensions={"harm": "harm"})).judgments["value"].tolist()
        == ["safe"] * 3
    )


def test_several_choices_text_and_regions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="annotation 102: 'harm' holds 2 choices"):
        read_label_studio(MINIMAL, Layout(dimensions={"harm": "harm"}))

    def text(content: Any) -> None:
        result = {"from_name": "why", "type": "textarea", "value": {"text": ["it is"]}}
        content[0]["annotations"][0]["result"].append(result)

    written = changed(tmp_path, WHOLE, text)
    with pytest.raises(InputError, match="annotation 101: 'why' holds free text"):
        read_label_studio(written)
    assert len(read_label_studio(written, Layout(dimensions={"wit": "wit"})).judgments) == 4

    def regions(content: Any) -> None:
        content[0]["annotations"][0]["result"].append(content[0]["annotations"][0]["result"][0])

    with pytest.raises(InputError, match="'harm' has several results"):
        read_label_studio(changed(tmp_path, WHOLE, regions))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "this is no JSON"),
        ("{}", "this is no list of tasks"),
        ('[{"id": 1, "text": "a"}]', "task 1 has neither 'annotations' nor 'annotator'"),
        ('[{"id": 1, "annotations": []}]', "no task has an annotation"),
        ('[{"id": 1, "annotations": [{"id": 2, "result": []}]}]', "does not tell who made it"),
        (
            '[{"id": 1, "annotations": [{"id": 2, "completed_by": 1, "result": []}]}]',
            "holds a choice, a rating",
        ),
    ],
)
def test_json_that_is_no_export_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "export.json"
    file.write_text(content)
    with pytest.raises(InputError, match=sentence):
        read_label_studio(file)


def test_fields_that_are_not_there_are_told() -> None:
    with pytest.raises(InputError, match=r"task 1 has no 'joke' among its data \(did you mean 'joke_id'\?\)"):
        read_label_studio(WHOLE, Layout(item="joke"))
    with pytest.raises(InputError, match="tells only the id of its annotator"):
        read_label_studio(MINIMAL, Layout(judge="email"))
