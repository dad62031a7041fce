"""What is written for other programs: its form, its texts, its pictures, and what is refused."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from fakes.studies import change_study
from made_up.exports import HOSTILE, Qualtrics, write_study, written_for

from conjury.inference.errors import InputError
from conjury.inference.panel.elsewhere.fielded_visits import read_elsewhere
from conjury.inference.panel.elsewhere.prolific import Offer, address_with
from conjury.inference.panel.elsewhere.study_export import Exported, export_study
from conjury.inference.panel.elsewhere.task_html import AnswerField, AnswerOption
from conjury.inference.panel.elsewhere.task_segments import segments

FIELDS = yaml.safe_load(Path(__file__).with_name("qualtrics_fields.yaml").read_text(encoding="utf-8"))
OFFER = Offer("https://example.org/study?a=1", 12, 2.5)


def survey_of(written: Exported) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(written.files[0].read_text(encoding="utf-8"))
    return content


def parts_of(element: dict[str, Any]) -> list[dict[str, Any]]:
    return [element, *(part for one in element.get("Flow", []) for part in parts_of(one))]


# ---- Qualtrics ----


def test_a_survey_file_has_the_form_of_those_that_qualtrics_exports(tmp_path):
    survey = survey_of(written_for(tmp_path, "hotel", "qualtrics"))
    assert set(survey["SurveyEntry"]) == set(FIELDS["entry"])
    elements = survey["SurveyElements"]
    assert {one["Element"] for one in elements} >= set(FIELDS["elements"])
    fields = {"SurveyID", "Element", "PrimaryAttribute", "SecondaryAttribute", "TertiaryAttribute", "Payload"}
    assert all(set(one) == fields for one in elements)
    (responses,) = (one for one in elements if one["Element"] == "RS")
    assert responses["PrimaryAttribute"].startswith("RS_")
    questions = {one["PrimaryAttribute"]: one["Payload"] for one in elements if one["Element"] == "SQ"}
    assert all(set(one) >= set(FIELDS["question"]) for one in questions.values())
    assert all(one["QuestionID"] == name for name, one in questions.items())
    (blocks,) = (one["Payload"] for one in elements if one["Element"] == "BL")
    asked = [part["QuestionID"] for block in blocks.values() for part in block["BlockElements"]]
    assert sorted(asked) == sorted(questions)
    (flow,) = (one["Payload"] for one in elements if one["Element"] == "FL")
    parts = parts_of(flow)[1:]
    assert all(set(part) == {"Type", *FIELDS["flow"][part["Type"]]} for part in parts)
    ids = [part["FlowID"] for part in parts_of(flow)]
    assert len(set(ids)) == len(ids) == flow["Properties"]["Count"]
    shown = [part["ID"] for part in parts if part["Type"] == "Standard"]
    assert sorted(shown) == sorted(one["ID"] for one in blocks.values() if one["Type"] != "Trash")
    assert (blocks["0"]["Type"], [one["Type"] for one in blocks.values()].count("Trash")) == ("Default", 1)


def test_each_slot_is_one_element_of_an_even_randomizer_that_sets_its_tasks(tmp_path):
    written = written_for(tmp_path, "hotel", "qualtrics")
    (flow,) = (one["Payload"] for one in survey_of(written)["SurveyElements"] if one["Element"] == "FL")
    (randomizer,) = (one for one in parts_of(flow) if one["Type"] == "BlockRandomizer")
    plan = written.plan
    assert len(randomizer["Flow"]) == len(plan.slots)
    for slot, element in zip(plan.slots, randomizer["Flow"], strict=True):
        values = {one["Field"]: html.unescape(one["Value"]) for one in element["EmbeddedData"]}
        assert values["slot"] == slot.name
        for number, task in enumerate(slot.tasks, start=1):
            for position, subject in enumerate(task.subjects, start=1):
                shown = [values[f"K-{number}-{position}-{place}"] for place in (1, 2, 3)]
                assert shown == [value for _, value in plan.shown.of(subject).fields]


def test_texts_neither_become_html_nor_are_filled_in_by_qualtrics(tmp_path):
    survey = Qualtrics(survey_of(written_for(tmp_path, "ratings", "qualtrics")), lambda *given: 0)
    for _ in range(4):
        survey.answer()
    pages = "\n".join(survey.pages)
    assert "<script" not in pages
    assert "<b>no" not in pages
    assert "${" not in pages
    as_text = html.unescape(re.sub(r"<br>", "\n", pages))
    assert HOSTILE in as_text
    assert "<b>no HTML</b> ${e://Field/x}" in as_text


@pytest.mark.long
def test_a_conjoint_can_be_read_from_qualtrics_without_the_study(tmp_path):
    from conjury.inference.humans import read_qualtrics

    path = write_study(tmp_path / "plain", "hotel")
    plain = {"repeat_first": False}
    change_study(path.parent, lambda study: (study["panel"].pop("attention"), study["design"].update(plain)))
    written = export_study(path, "qualtrics", out=tmp_path / "run")
    survey = Qualtrics(
        survey_of(written), lambda slot, task, answer, among: (task + 1) % among if task >= 0 else 0
    )
    for _ in written.plan.slots:
        survey.answer()
    file = survey.export(tmp_path / "export.csv")
    outcomes = [f"{task}_choice" for task in range(1, 5)]
    read = read_qualtrics(file, outcomes=outcomes, covariates=[]).choices
    own = read_elsewhere(file, "qualtrics", written.plan).answers
    assert read["chosen"].tolist() == own.sort_values(["judge_id", "task", "position"])["chosen"].tolist()
    assert len(set(read["chosen"])) == 2


def test_people_with_fewer_tasks_skip_the_last_ones(tmp_path):
    written = written_for(tmp_path, "labels", "qualtrics", people=5)
    counts = [len(slot.tasks) for slot in written.plan.slots]
    assert len(set(counts)) == 2
    assert [one.optional for one in segments(written.plan)].count(True) == max(counts) - min(counts)
    survey = Qualtrics(
        survey_of(written), lambda slot, task, answer, among: int(answer == "attention_colour")
    )
    for _ in counts:
        survey.answer()
    read = read_elsewhere(survey.export(tmp_path / "export.csv"), "qualtrics", written.plan)
    assert read.respondents["tasks"].tolist() == counts


def test_a_check_after_more_tasks_than_there_are_comes_after_the_last(tmp_path):
    path = write_study(tmp_path / "hotel", "hotel")
    change_study(path.parent, lambda study: study["panel"]["attention"][0].update(after=99))
    plan = export_study(path, "qualtrics", out=tmp_path / "run").plan
    assert [[check.id for check in one.checks] for one in segments(plan)] == [["colour"]]


def test_the_end_of_a_survey_leads_on_and_those_screened_out_see_their_code(tmp_path):
    survey = survey_of(written_for(tmp_path, "hotel", "qualtrics"))
    (options,) = (one["Payload"] for one in survey["SurveyElements"] if one["Element"] == "SO")
    assert options["SurveyTermination"] == "Redirect"
    assert options["EOSRedirectURL"] == "https://example.org/complete?cc=DONE42"
    out = Qualtrics(survey, lambda slot, task, answer, among: int(answer == "question_adult"))
    out.answer()
    assert "OUT7" in out.pages[-1]


# ---- jsPsych, Label Studio, Prolific ----


def test_the_experiment_names_exact_versions_and_loads_nothing_from_other_sites(tmp_path):
    written = written_for(tmp_path, "hotel", "jspsych")
    package = json.loads((written.folder / "package.json").read_text())
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["dependencies"].values())
    page = (written.folder / "index.html").read_text()
    assert "Which of the two do you choose?" in page
    assert "//" not in page.replace("<!DOCTYPE", "")
    for source in re.findall(r'(?:src|href)="(node_modules/[^"]+)"', page):
        assert any(source.startswith(f"node_modules/{name}/") for name in package["dependencies"])


def test_a_title_with_braces_or_html_is_text_in_every_file(tmp_path):
    path = write_study(tmp_path / "hotel", "hotel")
    text = "{slots} </title><script>alert(1)</script>"
    change_study(path.parent, lambda study: study.update(title=text, question=text))
    written = export_study(path, "jspsych", out=tmp_path / "run")
    assert "<script>alert" not in (written.folder / "index.html").read_text()
    assert (written.folder / "README.md").read_text().startswith("# {slots} ")


def test_label_studio_shows_html_and_dollars_of_the_study_as_text(tmp_path):
    written = written_for(tmp_path, "labels", "label-studio")
    tasks = json.loads((written.folder / "tasks.json").read_text())
    shown = [task["data"]["A"] for task in tasks if task["data"]["item_id"] == "cat_pun"]
    assert shown
    assert all("<script" not in one for one in shown)
    assert any(HOSTILE in html.unescape(one.replace("<br>", "\n")) for one in shown)
    view = ElementTree.fromstring((written.folder / "config.xml").read_text())
    known = {name for task in tasks for name in task["data"]}
    values = [one.attrib.get("value", "") for one in view.iter()]
    named = [value for value in values if re.search(r"\$\w", value)]
    assert named
    assert {value.removeprefix("$") for value in named} <= known
    assert [choice.attrib["alias"] for choice in view.iter("Choice")] == ["safe", "harm"]


def test_prolific_gets_the_three_parameters_and_one_place_per_slot(tmp_path):
    written = written_for(tmp_path, "hotel", "prolific", offer=OFFER)
    one = json.loads((written.folder / "study.json").read_text())
    three = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    assert one["external_study_url"] == f"https://example.org/study?a=1&{three}"
    assert (one["total_available_places"], one["estimated_completion_time"], one["reward"]) == (4, 12, 250)
    assert [code["code"] for code in one["completion_codes"]] == ["DONE42", "OUT7"]
    each = json.loads((written.folder / "study_by_slot.json").read_text())
    assert "external_study_url" not in each
    assert sum(part["total_allocation"] for part in each["access_details"]) == one["total_available_places"]
    rows = list(csv.DictReader(io.StringIO((written.folder / "slots.csv").read_text())))
    assert [row["slot"] for row in rows] == [slot.name for slot in written.plan.slots]
    assert [row["address"] for row in rows] == [part["external_url"] for part in each["access_details"]]
    assert all(row["address"].endswith(f"slot={row['slot']}") for row in rows)


def test_pictures_are_copied_and_named_by_their_address(tmp_path):
    written = export_study("oogiri", "jspsych", out=tmp_path / "run")
    content = json.loads((written.folder / "study.json").read_text())
    pictures = {one["media"] for one in content["shown"].values() if "media" in one}
    assert pictures == {file.name for file in (written.folder / "media").iterdir()}
    other = export_study("oogiri", "label-studio", out=tmp_path / "run", media_url="https://example.org/m/")
    tasks = (other.folder / "tasks.json").read_text()
    assert all(f"https://example.org/m/{name}" in tasks for name in pictures)


# ---- refused ----


@pytest.mark.parametrize(
    ("kind", "to", "options", "sentence"),
    [
        ("hotel", "qualtric", {}, "did you mean 'qualtrics'"),
        ("lines", "qualtrics", {}, "a label per line, which Qualtrics cannot ask"),
        ("lines", "label-studio", {}, "a label per line, which Label Studio cannot ask"),
        ("hotel", "qualtrics", {"media_url": "here"}, "--media-url here: this is no address"),
        ("hotel", "prolific", {}, "--to prolific needs the address"),
        ("hotel", "prolific", {"offer": Offer("study", 1, 1)}, "--url study: this is no address"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_nothing_is_written(tmp_path, kind, to, options, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        written_for(tmp_path, kind, to, **options)
    assert not (tmp_path / "run").exists()


def test_a_study_without_a_completion_code_is_refused_for_prolific(tmp_path):
    path = write_study(tmp_path / "hotel", "hotel")
    change_study(path.parent, lambda study: study["panel"].pop("completion"))
    with pytest.raises(InputError, match="has no completion code"):
        export_study(path, "prolific", out=tmp_path / "run", offer=OFFER)
    assert not (tmp_path / "run").exists()


def test_pictures_without_an_address_are_refused(tmp_path):
    with pytest.raises(InputError, match="name the folder with --media-url"):
        export_study("oogiri", "qualtrics", out=tmp_path / "run")
    assert not (tmp_path / "run" / "elsewhere").exists()


def test_an_answer_is_read_by_its_value_then_its_label():
    asked = AnswerField(
        "x", "X", (AnswerOption("one", "2"), AnswerOption("two", "A &amp; B <b>"), AnswerOption("3", "1"))
    )
    assert [asked.read(text) for text in ("one", "2", "1", "3")] == ["one", "one", "3", "3"]
    assert asked.read("two") == "two"
    assert asked.read("4") is None
    coded = [asked.read(text, coded=True) for text in ("2", "1", "1001", "1003", "one", "4")]
    assert coded == ["one", "3", "one", "3", None, None]
    number = AnswerField("n", "N", (), -5, 5)
    assert [number.read(text) for text in ("-5", "05", "4.0", "6", "1.5", "")] == [
        *("-5", "5", "4"),
        *(None, None, None),
    ]


def test_placeholders_and_other_parameters_of_an_address_stay():
    assert address_with("https://x.org/p#end", {"slot": "a b"}) == "https://x.org/p?slot=a+b"
    for wrong in ("ftp://x.org", "https://x.org/a b", "https:///p"):
        with pytest.raises(InputError):
            address_with(wrong, {})


@pytest.mark.parametrize("kind", ["hotel", "ratings"])
def test_each_task_shows_what_the_plan_shows_in_its_positions(tmp_path, kind):
    path = write_study(tmp_path / kind, kind)
    annotated = export_study(path, "label-studio", out=tmp_path / "run")
    plan = annotated.plan
    rows = [task["data"] for task in json.loads((annotated.folder / "tasks.json").read_text())]
    content = json.loads(
        (export_study(path, "jspsych", out=tmp_path / "run").folder / "study.json").read_text()
    )
    planned = [(slot, number, task) for slot in plan.slots for number, task in enumerate(slot.tasks, start=1)]
    assert len(rows) == len(planned)
    trials = [(slot["name"], task) for slot in content["slots"] for task in slot["tasks"]]
    for data, trial, (slot, number, task) in zip(rows, trials, planned, strict=True):
        name = data["pair_id" if kind == "hotel" else "item_id"]
        assert (data["slot"], data["task"], name) == (slot.name, number, task.name)
        assert trial == (
            slot.name,
            {"name": task.name, "subjects": [*task.subjects], "repeat_of": task.repeat_of},
        )
        for position, subject in zip("AB", task.subjects, strict=False):
            fields = plan.shown.of(subject).fields
            assert content["shown"][subject]["fields"] == [list(one) for one in fields]
            text = html.unescape(data[position].replace("<br>", "\n"))
            assert all(value in text for _, value in fields)
