"""Questions about the instructions, a second question per task, and withdrawal in other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_up.exports import Qualtrics, drawn, write_study

from conjury.inference.panel.elsewhere.fielded_visits import read_elsewhere
from conjury.inference.panel.elsewhere.study_export import Exported, export_study
from conjury.inference.panel.elsewhere.task_html import AnswerField, AnswerOption

YES_NO = [{"id": "yes", "label": "Yes, of course"}, {"id": "no", "label": "No"}]
FURTHER = {
    "title": "Two hotels",
    "policy": "policy.md",
    "comprehension": {"questions": [{"id": "real", "text": "Real?", "options": YES_NO, "right": "no"}]},
    "task_questions": [{"id": "dear", "label": "Dearer", "text": "Which costs more?"}],
    "debriefing": "debriefing.md",
    "withdrawal": True,
    "smallest_screen": {"width": 800, "height": 600},
}


def exported(folder: Path, to: str, kind: str = "hotel", **changes: Any) -> Exported:
    path = write_study(folder / kind, kind)
    for name in ("policy", "debriefing"):
        (path.parent / f"{name}.md").write_text(f"The {name}.\n")
    content = yaml.safe_load(path.read_text())
    several = {"id": "sort", "label": "Sort", "form": "several", "options": YES_NO}
    first = {**content["panel"]["attention"][0], "id": "before", "after": 0}
    content["panel"] |= {**FURTHER, **changes}
    content["panel"]["questions"] = [*content["panel"]["questions"], several]
    content["panel"]["attention"] = [first, *content["panel"]["attention"]]
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return export_study(path, to, out=folder / "run")


def decide(slot: str, task: int, answer: str, options: int) -> int:
    """Agree, pass checks, err about the instructions once, choose the first of several answers."""
    known = {"question_adult": 0, "consent": 0, "attention_colour": 1, "attention_before": 1}
    known |= {"comprehension_real_1": 0, "comprehension_real_2": 1, "question_sort": 0, "withdrawal": 0}
    return known.get(answer, 26 if answer == "question_age" else drawn(slot, task, answer, among=options))


@pytest.mark.long
@pytest.mark.parametrize("numeric", [False, True])
def test_a_survey_of_qualtrics_brings_back_both_answers_and_attempts(tmp_path, numeric):
    written = exported(tmp_path, "qualtrics")
    survey = Qualtrics(json.loads(written.files[0].read_text()), decide, numeric)
    for _ in written.plan.slots:
        survey.answer()
    pages = "".join(survey.pages)
    assert "<details><summary>Policy</summary>" in pages
    assert "The debriefing." in pages
    assert "Which costs more?" in pages
    assert survey.survey["SurveyEntry"]["SurveyName"] == "Two hotels"
    read = read_elsewhere(survey.export(tmp_path / "export.csv"), "qualtrics", written.plan)
    assert set(read.respondents["comprehension_attempts"]) == {2}
    assert set(read.respondents["attention_passed"]) == {2}
    assert read.respondents["sort_yes"].all()
    assert not read.respondents["sort_no"].any()
    for slot in written.plan.slots:
        rows = read.answers[read.answers["judge_id"] == slot.name].sort_values("task")
        for outcome, answer in (("chosen", "choice"), ("dear", "dear")):
            places = rows.loc[rows[outcome] == 1, "position"].map({"A": 0, "B": 1}).tolist()
            numbers = range(len(slot.tasks))
            assert places == [drawn(slot.name, number, answer, among=2) for number in numbers]


@pytest.mark.long
def test_who_errs_in_each_attempt_and_who_withdraws_is_left_out(tmp_path):
    written = exported(tmp_path, "qualtrics")
    text = json.loads(written.files[0].read_text())
    survey = Qualtrics(text, decide)
    survey.answer()
    survey.decide = lambda *asked: 0 if asked[2].startswith("comprehension") else decide(*asked)
    survey.answer()
    survey.decide = lambda *asked: 1 if asked[2] == "withdrawal" else decide(*asked)
    survey.answer()
    read = read_elsewhere(survey.export(tmp_path / "export.csv"), "qualtrics", written.plan)
    assert sorted(read.respondents["state"].astype(str)) == ["finished", "withdrawn"]
    withdrawn = read.respondents[read.respondents["state"] == "withdrawn"]
    assert withdrawn["sort_yes"].isna().all()
    assert read.answers["judge_id"].nunique() == 1
    assert any("withdrew" in note for note in read.notes)


def test_the_experiment_has_the_policy_the_questions_and_the_smallest_screen(tmp_path):
    written = exported(tmp_path, "jspsych")
    content = json.loads((written.folder / "study.json").read_text())
    assert content["smallest"] == {"width": 800, "height": 600}
    assert content["comprehension"]["attempts"] == 2
    assert [answer["id"] for answer in content["answers"]] == ["choice", "dear"]
    assert "The policy." in content["at_hand"]["html"]
    assert "<title>Two hotels</title>" in (written.folder / "index.html").read_text()


def test_label_studio_asks_both_questions_about_a_pair(tmp_path):
    written = exported(tmp_path, "label-studio")
    config = (written.folder / "config.xml").read_text()
    assert 'name="choice"' in config
    assert 'name="dear"' in config


def test_several_answers_are_read_though_labels_contain_commas():
    options = (AnswerOption("yes", "Yes, of course"), AnswerOption("no", "No"), AnswerOption("x", "Yes"))
    field = AnswerField("sort", "Sort", options)
    assert field.read_several("No,Yes, of course") == "yes;no"
    assert field.read_several("Yes") == "x"
    assert field.read_several("No,perhaps") is None
