"""People who understand the instructions, answer several questions about a task, and may withdraw."""

from __future__ import annotations

import re
from typing import Any

import pytest
from cases import cases
from made_up.panels import (
    ADULT,
    CHECK,
    TIMING,
    YES_NO,
    arrive,
    client_of,
    go_to_end,
    is_task,
    start,
    take_part,
    write_jokes,
    write_towns,
)

from conjury.inference.errors import InputError
from conjury.inference.panel.pages.steps import AttentionStep, ComprehensionStep, EndStep, TextStep
from conjury.inference.panel.plan import make_plan
from conjury.inference.panel.storage.database_state import read_stored
from conjury.inference.panel.visits import Visits
from conjury.inference.study import load_any_study

ASKED = {
    "questions": [
        {"id": "real", "text": "Are towns real?", "options": YES_NO, "right": "no"},
        {"id": "two", "text": "Are there two?", "options": YES_NO, "right": "yes"},
    ]
}
BIGGER = {"id": "bigger", "label": "Larger", "text": "Which town is larger?"}


def panel(**further: Any) -> dict[str, Any]:
    return {"comprehension": ASKED, **further}


def test_who_errs_once_reads_the_instructions_again_and_goes_on(opened):
    visits = opened(**panel())
    visit = arrive(visits)
    step = take_part(visits, visit, until=lambda one: isinstance(one, ComprehensionStep))
    again = visits.submit(visit, step.number, {"real": "yes", "two": "yes"}, TIMING)
    assert isinstance(again, TextStep)
    assert (again.kind, again.repeated) == ("instructions", True)
    assert take_part(visits, visit).ended == "finished"
    assert visits.tables().respondents["comprehension_attempts"].tolist() == [2]


@pytest.mark.long
def test_who_errs_in_the_last_attempt_is_sent_away_and_the_place_is_free(opened):
    visits = opened(people=1, **panel(failed={"code": "SORRY"}))
    visit = arrive(visits)
    end = take_part(visits, visit, real="yes")
    assert isinstance(end, EndStep)
    assert (end.ended, end.code) == ("failed_comprehension", "SORRY")
    assert visits.figures().ended == {"failed_comprehension": 1}
    assert take_part(visits, arrive(visits)).ended == "finished"


def test_who_is_right_at_once_skips_the_second_attempt(opened):
    visits, seen = opened(**panel()), []
    take_part(visits, arrive(visits), until=lambda one: bool(seen.append(one)))
    assert sum(isinstance(step, ComprehensionStep) for step in seen) == 1


def test_a_check_after_no_task_comes_before_the_first(opened):
    visits, seen = opened(attention=[{**CHECK, "after": 0}, {**CHECK, "id": "last", "after": 99}]), []
    take_part(visits, arrive(visits), until=lambda one: bool(seen.append(one)))
    assert [(one.number, one.of) for one in seen] == [(n, len(seen) + 1) for n in range(1, len(seen) + 1)]
    kinds = ["check" if isinstance(one, AttentionStep) else "task" if is_task(one) else "" for one in seen]
    assert [kind for kind in kinds if kind] == ["check", "task", "task", "task", "check"]


SEVERAL = {"id": "race", "label": "Race", "form": "several", "options": YES_NO, "first": True}


@pytest.mark.long
def test_who_withdraws_leaves_no_answer_device_or_identifier(opened):
    visits = opened(
        people=1, debriefing="consent.md", withdrawal=True, questions=[SEVERAL], withdrawn={"code": "W"}
    )
    visit = arrive(visits, "person-77", device="phone", width="400")
    end = take_part(visits, visit, withdraw="yes")
    assert (end.ended, end.code) == ("withdrawn", "W")
    stored = read_stored(visits._database)
    assert (len(stored.answers), len(stored.quotas)) == (0, 0)
    assert stored.visits["device"].isna().all()
    assert visits.tables().respondents["state"].tolist() == ["withdrawn"]
    assert visits.forget("person-77") == 0
    assert take_part(visits, arrive(visits)).ended == "finished"


def test_what_was_withdrawn_is_in_no_file_of_the_database(alone, tmp_path):
    remarks = {"id": "remarks", "label": "Remarks", "form": "text"}
    visits = alone(1, {"debriefing": "consent.md", "withdrawal": True, "questions": [remarks]})
    take_part(visits, arrive(visits), remarks="zebra-4711", withdraw="yes")
    content = b"".join(path.read_bytes() for path in (tmp_path / "run").glob("panel.sqlite*"))
    assert b"zebra-4711" not in content


def test_answers_of_a_named_person_are_deleted_and_the_place_is_given_again(opened):
    visits = opened(people=1, questions=[ADULT])
    take_part(visits, arrive(visits, "person-1"))
    assert visits.forget("person-1", answers=True) == 1
    assert len(read_stored(visits._database).answers) == 0
    assert visits.unfilled() == 1
    assert take_part(visits, arrive(visits, "person-2")).ended == "finished"


@pytest.mark.long
def test_a_quota_of_two_answers_counts_people_who_give_both(opened):
    quota = {"answers": {"race": "yes", "adult": "yes"}, "people": 1}
    adult = {**ADULT, "screen_out": []}
    visits = opened(people=3, questions=[SEVERAL, adult], quotas=[quota])
    assert take_part(visits, arrive(visits), race="yes;no", adult="yes").ended == "finished"
    assert take_part(visits, arrive(visits), race="yes", adult="yes").ended == "full"
    assert take_part(visits, arrive(visits), race="yes", adult="no").ended == "finished"
    assert take_part(visits, arrive(visits), race="no", adult="yes").ended == "finished"
    (figure,) = visits.figures().quotas
    assert (dict(figure.answers), figure.people, figure.limit) == (quota["answers"], 1, 1)
    table = visits.tables().respondents.query("state == 'finished'")
    assert "race" not in table
    assert table["race_yes"].tolist() == [True, True, False]
    assert table["race_no"].tolist() == [True, False, True]


@pytest.mark.parametrize(("device", "arrives"), cases(__file__, "screens"))
def test_people_with_small_or_unknown_screens_are_sent_away(opened, device, arrives):
    visits = opened(smallest_screen={"width": 1280, "height": 720}, small_screen={"code": "BACK"})
    visit = visits.arrive({"PROLIFIC_PID": "p"}, device, "en")
    assert isinstance(visit, str) == arrives
    assert arrives or (visit.ended, visit.code) == ("small_screen", "BACK")
    assert len(read_stored(visits._database).visits) == arrives


def test_a_second_question_about_a_pair_is_a_column_of_choices_and_a_dimension(opened):
    visits = opened(task_questions=[BIGGER])
    visit = arrive(visits)
    study = visits.plan.study
    while not isinstance(step := take_part(visits, visit, until=is_task, study=study), EndStep):
        visits.submit(visit, step.number, {"choice": "A", "bigger": "B"}, TIMING)
    tables = visits.tables()
    choices = tables.choices
    assert choices is not None
    assert choices.loc[choices["position"] == "A", ["chosen", "bigger"]].to_numpy().tolist() == [[1, 0]] * 3
    assert choices.loc[choices["position"] == "B", ["chosen", "bigger"]].to_numpy().tolist() == [[0, 1]] * 3
    assert tables.judgments["dimension"].value_counts().to_dict() == {"choice": 3, "bigger": 3}
    assert visits.submit(visit, 99, {}) == visits.step(visit)


def test_a_second_question_about_an_item_is_a_dimension(tmp_path):
    label = {"form": "label", "labels": [{"id": "good", "label": "Good"}, {"id": "bad", "label": "Bad"}]}
    kind = {"id": "sort", "label": "Sort", "text": "Of what kind?", "options": YES_NO}
    study = write_jokes(tmp_path, label, {"people": 1, "task_questions": [kind]}, n=2)
    visits = Visits.open(make_plan(study, out=tmp_path / "run"))
    pages = go_to_end(client := client_of(visits), start(client))
    assert "Of what kind?" in pages[0]
    judgments = visits.tables().judgments
    assert judgments["dimension"].tolist() == ["label", "sort"] * 2
    assert judgments["value"].tolist() == ["bad", "no"] * 2
    visits.close()


def test_a_further_question_about_a_rated_item_is_refused_since_it_is_a_scale(tmp_path):
    ratings = {"form": "ratings", "scales": [{"id": "fun", "label": "Fun", "minimum": 1, "maximum": 5}]}
    kind = {"id": "sort", "label": "Sort", "text": "Of what kind?", "options": YES_NO}
    with pytest.raises(InputError, match=r"a question about a rated item is a scale"):
        load_any_study(write_jokes(tmp_path, ratings, {"people": 1, "task_questions": [kind]}, n=2))


def test_pages_name_the_policy_and_nothing_internal(tmp_path):
    study = write_towns(
        tmp_path, {"policy": "consent.md", "task_questions": [BIGGER]}, title="People and models"
    )
    visits = Visits.open(make_plan(study, out=tmp_path / "run", people=1))
    client = client_of(visits)
    welcome = client.get("/").text
    assert "People and models" not in welcome
    assert "Which town?" in welcome
    pages = go_to_end(client, start(client))
    tasks = [page for page in pages if 'name="a.choice"' in page]
    assert all(re.search(r'<dialog id="at-hand"[^>]*aria-label="Policy"', page) for page in tasks)
    assert all('name="a.bigger" value="A"' in page for page in tasks)
    assert not any("People and models" in page for page in pages)
    visits.close()


def test_one_quota_has_one_answer_or_several_and_questions_have_free_names(tmp_path):
    refused = {
        "one answer": {"quotas": [{"question": "adult", "people": 1}], "questions": [ADULT]},
        "no question with this option": {
            "quotas": [{"answers": {"adult": "perhaps"}, "people": 1}],
            "questions": [ADULT],
        },
        "a column of answers already": {"task_questions": [{**BIGGER, "id": "chosen"}]},
        "the two profiles are the answers": {"task_questions": [{**BIGGER, "options": YES_NO}]},
        "none of its options": {"comprehension": {"questions": [{**ASKED["questions"][0], "right": "x"}]}},
        "both have the column": {"questions": [SEVERAL, {**ADULT, "id": "race_yes"}]},
        "there is none": {"withdrawal": True},
    }
    for number, (sentence, section) in enumerate(refused.items()):
        with pytest.raises(InputError, match=sentence):
            load_any_study(write_towns(tmp_path / str(number), section))


def test_plans_without_these_parts_keep_the_hash_of_their_database(tmp_path):
    section = {"attention": [CHECK], "questions": [ADULT]}
    before = make_plan(write_towns(tmp_path / "a", section), out=tmp_path / "r", people=2).sha256()
    after = {**section, "policy": "consent.md", "debriefing": "consent.md", "title": "Towns"}
    assert make_plan(write_towns(tmp_path / "b", after), out=tmp_path / "r", people=2).sha256() == before
    asked = make_plan(
        write_towns(tmp_path / "c", {**section, "task_questions": [BIGGER]}), out=tmp_path / "r", people=2
    )
    assert asked.sha256() != before
