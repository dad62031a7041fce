"""What is written for other programs comes back from their exports as the tables that people answered."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from fakes.studies import change_study
from made_up.exports import (
    PANEL,
    Decide,
    Qualtrics,
    drawn,
    jspsych_trials,
    label_studio_export,
    write_study,
    written_for,
)

from conjury.inference.errors import InputError
from conjury.inference.panel.elsewhere.fielded_answers import FieldedTables
from conjury.inference.panel.elsewhere.fielded_visits import read_elsewhere
from conjury.inference.panel.elsewhere.prolific import Offer
from conjury.inference.panel.elsewhere.study_export import Exported, export_study
from conjury.inference.panel.elsewhere.task_html import AnswerField, AnswerOption, answers_of, codes_of
from conjury.inference.panel.pages.steps import AttentionStep, EndStep, QuestionsStep, TaskStep, TextStep
from conjury.inference.panel.plan import PanelPlan, make_plan
from conjury.inference.panel.visits import Refused, Visits
from conjury.inference.study.panel_section import NOT_COLUMNS

SCREENED = {"question_adult": 0, "consent": 0, "attention_colour": 1, "question_age": 26}


def decide(slot: str, task: int, answer: str, options: int) -> int:
    """What made-up people answer: yes, agree, blue, 44 years; anything to tasks."""
    known = SCREENED.get(answer)
    return drawn(slot, task, answer, among=options) if known is None else known


def text_of(written: Exported, name: str) -> str:
    return (written.folder / name).read_text(encoding="utf-8")


def play_qualtrics(written: Exported, folder: Path, by: Decide = decide, numeric: bool = False) -> Path:
    (file,) = written.files
    survey = Qualtrics(json.loads(file.read_text(encoding="utf-8")), by, numeric)
    for _ in written.plan.slots:
        survey.answer()
    return survey.export(folder / "export.csv")


def play_jspsych(written: Exported, folder: Path, by: Decide = decide) -> Path:
    path = folder / "results.txt"  # as JATOS stores it: one trial per line
    visits = jspsych_trials(json.loads(text_of(written, "study.json")), by)
    path.write_text("".join(f"{json.dumps(trial)}\n" for visit in visits for trial in visit))
    return path


def play_label_studio(written: Exported, folder: Path, by: Decide = decide) -> Path:
    path = folder / "export.json"
    tasks = json.loads(text_of(written, "tasks.json"))
    path.write_text(json.dumps(label_studio_export(tasks, text_of(written, "config.xml"), by)))
    return path


PLAYERS = {"qualtrics": play_qualtrics, "jspsych": play_jspsych, "label-studio": play_label_studio}


def expected(plan: PanelPlan) -> pd.DataFrame:
    """What the made-up people answered, straight from who sees what."""
    rows = []
    for slot in plan.slots:
        seen: dict[str, int] = {}
        for number, task in enumerate(slot.tasks):
            seen[task.name] = seen.get(task.name, 0) + 1
            for answer in answers_of(plan.study, plan.shown.of(task.subjects[0])):
                among = len(answer.options) or answer.maximum - answer.minimum + 1
                place = decide(slot.name, number, answer.id, among)
                value = answer.options[place].value if answer.options else str(answer.minimum + place)
                shared = {"judge_id": slot.name, "task": number + 1, "repeat": task.repeat_of is not None}
                if plan.design is None:
                    row = {"item_id": task.subjects[0], "sample": seen[task.name], "dimension": answer.id}
                    rows.append({**shared, **row, "value": value})
                else:
                    for position, profile in zip("AB", task.subjects, strict=True):
                        row = {"pair_id": task.name, "position": position, "profile_id": int(profile)}
                        row |= {"chosen": int(value == position), "repeat_of": task.repeat_of}
                        rows.append({**shared, **row})
    return pd.DataFrame(rows)


def check_tables(read: FieldedTables, plan: PanelPlan) -> None:
    wanted = expected(plan)
    got = read.answers[list(wanted)].astype(object)
    assert len(got) == len(wanted)
    key = ["judge_id", "task", "position" if "position" in wanted else "dimension"]
    both = [frame.sort_values(key).reset_index(drop=True) for frame in (got, wanted.astype(object))]
    for name in wanted:
        cells = [frame[name].map(lambda cell: "" if pd.isna(cell) else str(cell)).tolist() for frame in both]
        assert cells[0] == cells[1], name
    assert set(read.answers["judge_kind"]) == {"human"}
    assert set(read.answers["status"]) == {"ok"}


@pytest.mark.parametrize(
    ("program", "kind"),
    [("qualtrics", "labels"), ("jspsych", "ratings"), ("label-studio", "hotel"), ("label-studio", "ratings")],
)
def test_answers_come_back_with_positions_and_repeats(tmp_path, program, kind):
    written = written_for(tmp_path, kind, program)
    read = read_elsewhere(PLAYERS[program](written, tmp_path), program, written.plan)
    check_tables(read, written.plan)
    assert read.answers["repeat"].any()
    assert read.respondents["judge_id"].tolist() == [slot.name for slot in written.plan.slots]
    assert set(read.respondents["state"]) == {"finished"}
    assert np.allclose(read.answers["seconds"].astype(float), 2.5)
    if program != "label-studio":
        assert set(read.respondents["age"].astype(str)) == {"44"}
        assert set(read.respondents["adult"]) == {"yes"}
        assert set(read.respondents["attention_passed"]) == {1}
        assert set(read.respondents["seconds"].astype(float)) == {300.0}


@pytest.mark.parametrize("kind", ["hotel", "ratings", "labels"])
def test_numeric_exports_of_qualtrics_come_back_as_those_of_texts(tmp_path, kind):
    written = written_for(tmp_path, kind, "qualtrics")
    check_tables(
        read_elsewhere(play_qualtrics(written, tmp_path, numeric=True), "qualtrics", written.plan),
        written.plan,
    )


def test_choices_carry_the_attributes_of_the_profiles_that_were_seen(tmp_path):
    written = written_for(tmp_path, "hotel", "jspsych")
    choices = read_elsewhere(play_jspsych(written, tmp_path), "jspsych", written.plan).answers
    assert written.plan.design is not None
    assert "sampling_probability" not in choices
    profiles = written.plan.design.profiles.set_index("profile_id")
    for name in ("price", "view", "stars"):
        assert choices[name].tolist() == profiles.loc[choices["profile_id"].astype(int), name].tolist()


@pytest.mark.parametrize("form", ["json", "csv", "folder"])
def test_data_of_jspsych_are_read_from_json_csv_and_a_folder_of_visits(tmp_path, form):
    written = written_for(tmp_path, "ratings", "jspsych")
    visits = list(jspsych_trials(json.loads(text_of(written, "study.json")), decide))
    path = tmp_path / f"data.{form}"
    if form == "json":
        path.write_text(json.dumps([trial for visit in visits for trial in visit], indent=1))
    elif form == "csv":
        path.write_text(_as_csv([trial for visit in visits for trial in visit]))
    else:
        path.mkdir()
        for number, visit in enumerate(visits):
            (path / f"visit_{number}.json").write_text(json.dumps(visit))
    check_tables(read_elsewhere(path, "jspsych", written.plan), written.plan)


def _as_csv(trials: list[dict[str, Any]]) -> str:
    """As jsPsych writes it: every cell in quotes, objects as JSON."""
    names = list(dict.fromkeys(name for trial in trials for name in trial))
    table = io.StringIO()
    rows = csv.writer(table, quoting=csv.QUOTE_ALL)
    rows.writerow(names)
    for trial in trials:
        cells = [trial.get(name, "") for name in names]
        rows.writerow(
            [json.dumps(cell) if isinstance(cell, dict) or cell is None else cell for cell in cells]
        )
    return table.getvalue()


def answer_in_the_panel(plan: PanelPlan) -> Visits:
    """The same people answer the same on the pages of `conjury panel`."""
    visits = Visits.open(plan)
    for _ in plan.slots:
        visit = visits.arrive({}, {}, "en")
        assert isinstance(visit, str)
        step = visits.step(visit)
        while not isinstance(step, EndStep):
            given: dict[str, str] = {}
            if isinstance(step, TextStep) and step.kind == "consent":
                given = {"consent": "yes"}
            elif isinstance(step, QuestionsStep):
                given = {one.id: {"adult": "yes", "age": "44"}[one.id] for one in step.questions}
            elif isinstance(step, AttentionStep):
                given = {"answer": "blue"}
            elif isinstance(step, TaskStep):
                for answer in answers_of(plan.study, step.shown[0]):
                    among = len(answer.options) or answer.maximum - answer.minimum + 1
                    place = drawn(step.task.name, step.index, answer.id, among=among)
                    value = answer.options[place].value if answer.options else str(answer.minimum + place)
                    field = "label" if answer.id == "harm_label" else answer.id
                    given[re.sub(r"^line_(\d+)$", lambda match: f"line_{int(match[1]):04d}", field)] = value
            after = visits.submit(visit, step.number, given)
            assert not isinstance(after, Refused), after
            step = after
    return visits


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "kind"),
    [
        *(("qualtrics", "hotel"), ("qualtrics", "ratings"), ("jspsych", "hotel"), ("jspsych", "labels")),
        *(("jspsych", "lines"), ("label-studio", "labels")),
    ],
)
def test_tables_are_those_of_a_panel_with_the_same_answers(tmp_path, program, kind):
    written = written_for(tmp_path, kind, program)
    slots = {slot.name: slot for slot in written.plan.slots}

    def by_task(slot: str, task: int, answer: str, options: int) -> int:
        if answer in SCREENED or task < 0:
            return SCREENED.get(answer, 0)
        return drawn(slots[slot].tasks[task].name, task + 1, answer, among=options)

    read = read_elsewhere(PLAYERS[program](written, tmp_path, by_task), program, written.plan)
    visits = answer_in_the_panel(written.plan)
    panel = visits.tables()
    visits.close()
    own = panel.choices if panel.choices is not None else panel.judgments
    differ = {"seconds", "focus_lost", "focus_lost_seconds", "request_key", "origin", "rule"}
    names = [name for name in own if name not in differ]
    if program == "label-studio":  # has no attention checks
        names = [name for name in names if name != "attention_passed"]
    assert set(names) <= set(read.answers)
    key = ["judge_id", "task", "position" if kind == "hotel" else "dimension"]
    both = [frame[names].sort_values(key).reset_index(drop=True) for frame in (read.answers, own)]
    pd.testing.assert_frame_equal(*both)
    if program != "label-studio":
        columns = [
            "slot",
            "state",
            "tasks",
            "attention_passed",
            "attention_failed",
            "adult",
            "age",
            "consistent",
        ]
        people = [
            frame[["judge_id", *columns]].sort_values("judge_id")
            for frame in (read.respondents, panel.respondents)
        ]
        pd.testing.assert_frame_equal(*(one.reset_index(drop=True) for one in people), check_dtype=False)


# ---- people who leave, share a slot, or are none ----


def test_a_second_person_of_a_slot_is_another_judge_and_previews_are_left_out(tmp_path):
    written = written_for(tmp_path, "hotel", "qualtrics")
    survey = Qualtrics(json.loads(written.files[0].read_text()), decide)
    for _ in range(5):
        survey.answer()
    survey.answer(Status="Survey Preview")
    survey.answer(Finished="False")
    for name in [name for name in survey.rows[-1] if name.startswith(("2_choice", "3_choice"))]:
        del survey.rows[-1][name]
    read = read_elsewhere(survey.export(tmp_path / "export.csv"), "qualtrics", written.plan)
    names = read.respondents["judge_id"].tolist()
    assert names == ["human_0001", "human_0002", "human_0003", "human_0004", "human_0001_2", "human_0003_2"]
    assert read.respondents["state"].tolist() == ["finished"] * 5 + ["left"]
    assert len(read.answers) == 2 * 5 * 5
    assert read.respondents["tasks"].tolist() == [5] * 5 + [2]
    assert "Responses that are previews, tests or spam (left out): 1." in read.notes


def test_a_person_who_judges_two_slots_in_label_studio_is_one_judge(tmp_path):
    written = written_for(tmp_path, "labels", "label-studio")
    exported = json.loads(play_label_studio(written, tmp_path).read_text())
    for task in exported:
        task["annotations"][0]["completed_by"] = 1
    (tmp_path / "export.json").write_text(json.dumps(exported))
    read = read_elsewhere(tmp_path / "export.json", "label-studio", written.plan)
    assert set(read.answers["judge_id"]) == {written.plan.slots[0].name}
    assert not read.answers.duplicated(["judge_id", "item_id", "dimension", "sample"]).any()


def test_a_person_of_a_platform_who_answers_two_slots_is_one_judge(tmp_path):
    written = written_for(tmp_path, "hotel", "jspsych")
    path = play_jspsych(written, tmp_path)
    path.write_text(path.read_text().replace("person1", "person0"))
    read = read_elsewhere(path, "jspsych", written.plan)
    assert read.respondents["judge_id"].tolist() == ["human_0001", "human_0001", "human_0003", "human_0004"]
    assert "person0" not in read.answers.to_csv() + read.respondents.to_csv()


def test_people_who_are_screened_out_or_decline_have_no_slot_and_no_rows(tmp_path):
    written = written_for(tmp_path, "hotel", "qualtrics")
    content = json.loads(written.files[0].read_text())
    people = [
        Qualtrics(content, lambda *given, name=name: 1 if given[2] == name else decide(*given))
        for name in ("question_adult", "consent")
    ]
    for one in people:
        one.answer()
        assert "slot" not in one.rows[0]
        assert "1_choice" not in one.rows[0]
    full = Qualtrics(content, decide)
    full.answer()
    full.rows += [row for one in people for row in one.rows]
    read = read_elsewhere(full.export(tmp_path / "export.csv"), "qualtrics", written.plan)
    assert read.respondents["judge_id"].tolist() == ["human_0001"]


# ---- options that are called like numbers ----

KIDS = {
    "id": "kids",
    "label": "Children?",
    "options": [
        {"id": name, "label": label}
        for name, label in (("none", "0"), ("one", "1"), ("two", "2"), ("more", "3 or more"))
    ],
}


def changed(study: Path, **panel: Any) -> Path:
    """The study with other entries in its section ``panel``."""
    change_study(study.parent, lambda content: content["panel"].update(panel))
    return study


@pytest.mark.parametrize(
    ("program", "numeric"), [("qualtrics", False), ("qualtrics", True), ("jspsych", False)]
)
def test_options_whose_labels_are_numbers_come_back_as_they_were_chosen(tmp_path, program, numeric):
    study = changed(write_study(tmp_path / "hotel", "hotel"), questions=[KIDS])
    written = export_study(study, program, out=tmp_path / "run")

    def by(slot: str, task: int, name: str, among: int) -> int:
        return int(slot[-1]) - 1 if name == "question_kids" else decide(slot, task, name, among)

    if program == "qualtrics":
        path = play_qualtrics(written, tmp_path, by, numeric)
    else:
        path = play_jspsych(written, tmp_path, by)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for trial in lines:
            if trial["part"] == "questions":
                trial["answers"] = {"kids": KIDS["options"][int(trial["slot"][-1]) - 1]["id"]}
        path.write_text("".join(f"{json.dumps(trial)}\n" for trial in lines))
    read = read_elsewhere(path, program, written.plan)
    assert read.respondents["kids"].astype(str).tolist() == ["none", "one", "two", "more"]


@pytest.mark.parametrize("pairs", cases(__file__, "codes_of_others"))
def test_no_code_is_the_label_of_another_option(pairs):
    options = tuple(AnswerOption(value, label) for value, label in pairs)
    asked = AnswerField("one", "One", options)
    for code, option in zip(codes_of(options), options, strict=True):
        assert asked.read(code, coded=True) == option.value
        assert asked.read(option.label, coded=True) == option.value
        assert asked.read(option.value) == option.value
    assert asked.read("77", coded=True) is None


# ---- attention checks and people who answer twice ----


@pytest.mark.parametrize("limit", [1, 2])
def test_people_who_fail_as_many_checks_as_end_a_visit_are_not_among_the_answers(tmp_path, limit):
    checks = [{**PANEL["attention"][0], "id": f"colour_{n}", "after": n} for n in (1, 2)]
    study = changed(write_study(tmp_path / "hotel", "hotel"), attention=checks, fail_limit=limit)
    written = export_study(study, "qualtrics", out=tmp_path / "run")
    failing = {
        "human_0002": ("attention_colour_1",),
        "human_0003": ("attention_colour_1", "attention_colour_2"),
    }

    def by(slot: str, task: int, answer: str, among: int) -> int:
        return (
            int(answer not in failing.get(slot, ()))
            if "attention" in answer
            else decide(slot, task, answer, among)
        )

    read = read_elsewhere(play_qualtrics(written, tmp_path, by), "qualtrics", written.plan)
    out = {"human_0002", "human_0003"} if limit == 1 else {"human_0003"}
    states = dict(zip(read.respondents["judge_id"], read.respondents["state"], strict=True))
    assert {judge for judge, state in states.items() if state == "failed_checks"} == out
    assert set(read.answers["judge_id"]) == set(states) - out
    assert (
        f"failed too many attention checks (in the table of respondents, not in choices): {len(out)}."
        in str(read.notes)
    )
    failed = read.answers.loc[~read.answers["attention_passed"], "judge_id"]
    assert set(failed) == ({"human_0002"} if limit == 2 else set())


@pytest.mark.parametrize("later_in_file", [True, False])
def test_a_person_who_finishes_a_slot_again_is_counted_once_by_the_first_time(tmp_path, later_in_file):
    written = written_for(tmp_path, "hotel", "jspsych")
    visits = list(jspsych_trials(json.loads(text_of(written, "study.json")), decide))
    again = [{**trial, "visit": "v9", "time": "2026-03-01T11:05:00.000Z"} for trial in visits[0]]
    for trial in again:
        if trial["part"] == "task":
            trial["answers"] = {"choice": "A"}
    path, ordered = tmp_path / "results.txt", [*visits, again] if later_in_file else [again, *visits]
    path.write_text("".join(f"{json.dumps(trial)}\n" for visit in ordered for trial in visit))
    read = read_elsewhere(path, "jspsych", written.plan)
    check_tables(read, written.plan)
    assert sorted(read.respondents["judge_id"]) == [slot.name for slot in written.plan.slots]
    assert "Further answers of people to a slot that they had finished (left out): 1." in read.notes


@pytest.mark.long
def test_every_column_of_respondents_is_refused_as_the_id_of_a_question(tmp_path):
    written = written_for(tmp_path, "hotel", "jspsych")
    read = read_elsewhere(play_jspsych(written, tmp_path), "jspsych", written.plan)
    visits = answer_in_the_panel(written.plan)
    panel = visits.tables()
    visits.close()
    assert {*read.respondents, *panel.respondents} - {"adult", "age"} <= NOT_COLUMNS
    assert {"origin", "tasks", "panel", "excluded"} <= NOT_COLUMNS


def test_a_study_that_is_exported_again_keeps_its_people_and_pictures(tmp_path):
    study = changed(write_study(tmp_path / "hotel", "hotel"), people=3)
    first = export_study(study, "jspsych", out=tmp_path / "run", people=2)
    kept = tmp_path / "run" / "design" / "panel.json"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "images": True}))
    with pytest.raises(InputError, match="picture"):
        export_study(study, "prolific", out=tmp_path / "run", offer=Offer("https://example.org", 5, 1.0))
    assert json.loads(kept.read_text())["images"]
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "images": False}))
    assert len(make_plan(study, out=tmp_path / "run").slots) == len(first.plan.slots) == 2
    check_tables(
        read_elsewhere(play_jspsych(first, tmp_path), "jspsych", make_plan(study, out=tmp_path / "run")),
        first.plan,
    )


# ---- what is refused ----


def test_answers_to_another_plan_are_refused(tmp_path):
    study = write_study(tmp_path / "hotel", "hotel")
    written = export_study(study, "jspsych", out=tmp_path / "run")
    other = export_study(study, "jspsych", out=tmp_path / "other", people=3)
    with pytest.raises(InputError, match="answers another plan"):
        read_elsewhere(play_jspsych(written, tmp_path), "jspsych", other.plan)


def test_an_answer_that_is_no_option_is_refused_with_its_row_and_column(tmp_path):
    written = written_for(tmp_path, "ratings", "qualtrics")
    path = play_qualtrics(written, tmp_path)
    table = pd.read_csv(path, dtype=str)
    table.loc[3, "1_wit"] = "7"
    table.to_csv(path, index=False)
    told = (
        "row 2 of column '1_wit' contains '7', which is no answer to 'wit'; use one of '0: not at all', '1'"
    )
    with pytest.raises(InputError, match=told):
        read_elsewhere(path, "qualtrics", written.plan)


def test_an_export_of_another_survey_is_refused(tmp_path):
    written = written_for(tmp_path, "hotel", "qualtrics")
    path = tmp_path / "export.csv"
    path.write_text("ResponseId,Q1\nR_1,4\n")
    with pytest.raises(InputError, match="column 'slot'"):
        read_elsewhere(path, "qualtrics", written.plan)


def test_a_run_that_was_not_exported_is_refused(tmp_path):
    written = written_for(tmp_path, "hotel", "qualtrics")
    with pytest.raises(InputError, match="has not been exported for jspsych"):
        read_elsewhere(tmp_path / "x.json", "jspsych", written.plan)
