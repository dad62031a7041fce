"""Visits: what is stored, what changes nothing, and who is given which slot."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_up_people_panel import ADULT, CHECK, TIMING, YES_NO, Clock, arrive, plan_of, take_part
from postgres import new_database
from sqlalchemy import update
from sqlalchemy.exc import DBAPIError

from conjury.inference.errors import InputError
from conjury.inference.panel.plan import PanelPlan, make_plan
from conjury.inference.panel.steps import AttentionStep, EndStep, QuestionsStep, TaskStep, TextStep
from conjury.inference.panel.storage import opening, schema, visiting
from conjury.inference.panel.storage.forgetting import forget_everywhere
from conjury.inference.panel.storage.reading import read_stored
from conjury.inference.panel.visits import Refused, Timing, UnknownVisit, Visits


def task(step: Any) -> bool:
    return isinstance(step, TaskStep) and not step.practice


def answered(visits: Visits) -> list[tuple[int, int]]:
    """Visit and page of every answer that is stored."""
    stored = read_stored(visits._database).answers
    return list(zip(stored["visit"], stored["page"], strict=True))


@pytest.fixture
def opened(tmp_path: Path, database: str, clock: Clock):
    """Open visits of the small study, in a database of either kind."""
    made: list[Visits] = []

    def run(people: int = 3, **panel: Any) -> Visits:
        made.append(Visits.open(plan_of(tmp_path, people, panel), database, now=clock))
        return made[-1]

    yield run
    for visits in made:
        visits.close()


@pytest.mark.long
def test_a_visit_goes_from_consent_to_the_end_with_the_repeat_as_last_task(opened) -> None:
    last = {"id": "age", "label": "Age", "form": "number"}
    visits = opened(questions=[ADULT, last], attention=[CHECK], completion={"code": "C1"})
    visit, seen = arrive(visits), []
    take_part(visits, visit, until=lambda step: bool(seen.append(step)))
    kinds = [type(step) for step in seen]
    assert kinds == [
        *(TextStep, QuestionsStep, TextStep, TaskStep, TaskStep, AttentionStep, TaskStep, TaskStep),
        QuestionsStep,
    ]
    assert [step.number for step in seen] == list(range(1, 10))
    assert {step.of for step in seen} == {10}
    tasks = [step for step in seen if task(step)]
    assert [step.index for step in tasks] == [1, 2, 3]
    assert tasks[-1].task.repeat_of == tasks[0].task.name
    assert tasks[-1].task.subjects == tasks[0].task.subjects[::-1]
    assert visits.step(visit) == EndStep(10, 10, "finished", "C1", None)


def test_a_page_of_another_number_changes_nothing(opened) -> None:
    visits = opened()
    visit = arrive(visits)
    first = take_part(visits, visit, until=task)
    before = answered(visits)
    for stale in (first.number - 1, first.number + 1, 0, -1, 10**9):
        assert visits.submit(visit, stale, {"choice": "A"}, TIMING) == first
    assert answered(visits) == before
    second = visits.submit(visit, first.number, {"choice": "A"}, TIMING)
    assert visits.submit(visit, first.number, {"choice": "B"}, TIMING) == second == visits.step(visit)
    stored = read_stored(visits._database).answers
    assert stored.loc[stored["page"] == first.number, "fields"].tolist() == [{"choice": "A"}]


def test_two_tabs_that_submit_at_once_store_one_answer(opened) -> None:
    visits = opened()
    visit = arrive(visits)
    step = take_part(visits, visit, until=task)
    with ThreadPoolExecutor(8) as threads:
        choices = ["A", "B"] * 8
        replies = list(threads.map(lambda one: visits.submit(visit, step.number, {"choice": one}), choices))
    assert {reply.number for reply in replies} == {step.number + 1}
    assert max(Counter(answered(visits)).values()) == 1


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "missing"),
        ({"choice": " "}, "missing"),
        ({"choice": "C"}, "not_an_option"),
        ({"other": "A"}, "missing"),
    ],
)
def test_an_answer_that_is_none_is_refused_with_its_reason_and_not_stored(
    tmp_path, clock, given, reason
) -> None:
    visits = Visits.open(plan_of(tmp_path), now=clock)
    visit = arrive(visits)
    step = take_part(visits, visit, until=task)
    before = answered(visits)
    assert visits.submit(visit, step.number, given) == Refused({"choice": reason})
    assert answered(visits) == before
    assert visits.step(visit) == step
    visits.close()


def test_questions_accept_numbers_in_range_and_texts_of_some_length_only(tmp_path, clock) -> None:
    questions = [
        {"id": "age", "label": "Age", "form": "number", "minimum": 18, "maximum": 99, "first": True},
        {"id": "note", "label": "Note", "form": "text", "required": False, "first": True},
    ]
    visits = Visits.open(plan_of(tmp_path, panel={"consent": None, "questions": questions}), now=clock)
    visit = arrive(visits)
    for age, reason in (
        ("17", "out_of_range"),
        ("100", "out_of_range"),
        ("old", "not_a_number"),
        ("1e2", "not_a_number"),
    ):
        assert visits.submit(visit, 1, {"age": age}) == Refused({"age": reason})
    assert visits.submit(visit, 1, {"age": "18", "note": "x" * 2001}) == Refused({"note": "too_long"})
    assert visits.submit(visit, 1, {"age": " 18 ", "note": "x" * 2000}).number == 2
    visits.close()


def test_measurements_that_cannot_be_true_are_not_stored(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path, panel={"consent": None, "instructions": None}), now=clock)
    visit = arrive(visits)
    for number, wrong in enumerate((float("nan"), float("inf"), -1.0), start=1):
        visits.submit(visit, number, {"choice": "A"}, Timing(wrong, -3, wrong, wrong))
    stored = read_stored(visits._database).answers
    assert stored["response_ms"].isna().all()
    assert stored["first_input_ms"].isna().all()
    assert (stored[["focus_lost", "focus_lost_ms"]] == 0).all(axis=None)
    visits.close()


def test_an_unknown_visit_is_refused(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path), now=clock)
    for ask in (
        visits.step,
        visits.language,
        visits.slot,
        lambda one: visits.submit(one, 1, {}),
        lambda one: visits.note_device(one, {}),
    ):
        with pytest.raises(UnknownVisit, match="no visit with this id"):
            ask("' OR 1=1 --")
    visits.close()


# ---- slots ----


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("before", [{"questions": [ADULT]}, {}])
def test_the_page_before_the_slot_that_is_sent_often_at_once_gives_one_slot_and_goes_on(
    tmp_path, postgres_server, before
) -> None:
    visits = Visits.open(plan_of(tmp_path, 30, before), new_database(postgres_server))
    ends = []
    with ThreadPoolExecutor(8) as threads:
        for number in range(12):
            visit = arrive(visits, f"p{number}")
            step = take_part(visits, visit, until=lambda step: step.number == len(before) + 1)
            sent = [(visit, step.number, {"consent": "yes", "adult": "yes"})] * 8
            list(threads.map(lambda one: visits.submit(*one), sent))
            ends.append(visits.step(visit).number)
    assert set(ends) == {len(before) + 2}
    assert (visits.figures().started, visits.figures().active) == (12, 12)
    visits.close()


@pytest.mark.postgres
def test_who_arrives_as_the_last_slot_is_filled_late_is_turned_away(
    tmp_path, postgres_server, clock, monkeypatch
) -> None:
    plan = plan_of(tmp_path, 1, {"consent": None, "instructions": None, "minutes": 1})
    visits = Visits.open(plan, new_database(postgres_server), now=clock)
    late = arrive(visits, "late")
    last = take_part(visits, late, until=lambda step: step.number == step.of - 1)
    clock.advance(5)
    finish, filled = visiting.finish_slot, threading.Event()

    def slowly(*given: Any) -> bool:
        done = finish(*given)
        filled.set()
        threading.Event().wait(0.4)  # until the other waits for the row of the slot
        return done

    monkeypatch.setattr(visiting, "finish_slot", slowly)
    with ThreadPoolExecutor(1) as thread:
        end = thread.submit(visits.submit, late, last.number, {"choice": "A"})
        assert filled.wait(10)
        assert visits.arrive({"PROLIFIC_PID": "next"}, {}, "en") == EndStep(0, 0, "full")
        assert end.result().ended == "finished"
    assert visits.figures().started == 1
    visits.close()


@pytest.mark.long
@pytest.mark.parametrize("people", [200])
def test_every_slot_is_filled_exactly_once_with_200_people_at_once(tmp_path, people) -> None:
    visits = Visits.open(plan_of(tmp_path, people))
    with ThreadPoolExecutor(40) as threads:
        ids = list(threads.map(lambda number: arrive(visits, f"p{number}"), range(people + 40)))
        ends = Counter(step.ended for step in threads.map(lambda visit: take_part(visits, visit), ids))
    assert ends == {"finished": people, "full": 40}
    stored = read_stored(visits._database)
    assert stored.slots["done"].all()
    assert stored.slots["visit"].is_unique
    assert len(set(answered(visits))) == len(stored.answers) == 40 + people * 6
    visits.close()


@pytest.mark.long
@pytest.mark.postgres
def test_every_slot_is_filled_exactly_once_from_two_processes_worth_of_connections(
    tmp_path, postgres_server
) -> None:
    plan, url = plan_of(tmp_path, 30), new_database(postgres_server)
    both = [Visits.open(plan, url), Visits.open(plan, url)]
    with ThreadPoolExecutor(20) as threads:
        ids = list(threads.map(lambda n: arrive(both[n % 2], f"p{n}"), range(40)))
        ends = Counter(
            step.ended
            for step in threads.map(lambda pair: take_part(both[pair[0] % 2], pair[1]), enumerate(ids))
        )
    assert ends == {"finished": 30, "full": 10}
    assert read_stored(both[0]._database).slots["visit"].is_unique
    for visits in both:
        visits.close()


def test_the_slot_of_a_person_who_leaves_is_given_out_again_after_the_time_limit(opened, clock) -> None:
    visits = opened(people=1, minutes=30)
    left = arrive(visits, "left")
    page = take_part(visits, left, until=task)
    stayed = visits.submit(left, page.number, {"choice": "A"})
    clock.advance(29)
    assert visits.arrive({"PROLIFIC_PID": "early"}, {}, "en") == EndStep(0, 0, "full")
    clock.advance(2)
    late = arrive(visits, "late")
    assert visits.step(left) == stayed  # nobody has the slot yet
    assert take_part(visits, late).ended == "finished"
    assert visits.step(left).ended == "timed_out"
    before = answered(visits)
    assert visits.submit(left, stayed.number, {"choice": "A"}).ended == "timed_out"
    assert answered(visits) == before  # and what they answered before stays
    assert visits.figures().ended == {"finished": 1, "timed_out": 1}


def test_a_person_who_returns_late_goes_on_where_they_were_unless_the_slot_was_given_away(
    opened, clock
) -> None:
    visits = opened(people=1, minutes=30)
    visit = arrive(visits, "slow")
    page = take_part(visits, visit, until=task)
    clock.advance(600)
    assert arrive(visits, "slow") == visit
    assert visits.step(visit) == page
    assert take_part(visits, visit).ended == "finished"
    assert visits.arrive({}, {}, "en") == EndStep(0, 0, "full")


def test_slots_that_nobody_has_are_given_out_before_those_of_late_people_longest_late_first(
    opened, clock
) -> None:
    visits = opened(people=4, minutes=30)
    late = []
    for person in ("first", "second"):
        clock.advance(5)
        late.append(arrive(visits, person))
        take_part(visits, late[-1], until=task)
    clock.advance(60)
    arrivals = [arrive(visits, f"p{number}") for number in range(4)]
    ends = []
    for visit in arrivals:
        take_part(visits, visit, until=task)
        ends.append([visits.step(one) for one in late])
    lost = [[isinstance(step, EndStep) for step in steps] for steps in ends]
    assert lost == [[False, False], [False, False], [True, False], [True, True]]


# ---- who takes part ----


def test_a_person_of_a_platform_takes_part_once(opened) -> None:
    visits = opened()
    visit = arrive(visits, "p1")
    take_part(visits, visit)
    assert arrive(visits, "p1") == visit
    assert visits.step(visit).ended == "finished"
    assert arrive(visits, "p2") != visit


def test_a_person_who_arrives_many_times_at_once_has_one_visit(opened) -> None:
    visits = opened()
    with ThreadPoolExecutor(10) as threads:
        found = set(threads.map(lambda _: arrive(visits, "p1"), range(30)))
    assert len(found) == 1
    assert visits.figures().started == 1


def test_the_person_may_be_required(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path, panel={"recruiting": {"required": True}}), now=clock)
    for missing in ({}, {"PROLIFIC_PID": "  "}, {"pid": "x"}):
        assert visits.arrive(missing, {}, "en") == EndStep(0, 0, "no_person")
    assert isinstance(visits.arrive({"PROLIFIC_PID": "x"}, {}, "en"), str)
    visits.close()


def test_who_declines_or_is_screened_out_takes_no_slot(opened) -> None:
    visits = opened(people=1, questions=[ADULT], screened_out={"code": "OUT"})
    assert take_part(visits, arrive(visits, "p1"), consent="no").ended == "declined"
    out = take_part(visits, arrive(visits, "p2"), adult="no")
    assert (out.ended, out.code) == ("screened_out", "OUT")
    assert take_part(visits, arrive(visits, "p3")).ended == "finished"


def test_a_quota_admits_as_many_people_as_it_says_also_at_once(opened) -> None:
    question = {"id": "city", "label": "City?", "options": YES_NO, "first": True}
    visits = opened(
        people=12, questions=[question], quotas=[{"question": "city", "option": "yes", "people": 3}]
    )
    with ThreadPoolExecutor(8) as threads:
        ids = [arrive(visits, f"p{number}") for number in range(8)]
        ends = Counter(
            step.ended for step in threads.map(lambda one: take_part(visits, one, city="yes"), ids)
        )
    assert ends == {"finished": 3, "full": 5}
    assert take_part(visits, arrive(visits, "other"), city="no").ended == "finished"
    figure = visits.figures().quotas[0]
    assert (figure.people, figure.limit) == (3, 3)


def test_people_who_leave_do_not_count_in_a_quota_after_the_time_limit(opened, clock) -> None:
    question = {"id": "city", "label": "City?", "options": YES_NO, "first": True}
    quota = {"question": "city", "option": "yes", "people": 1}
    visits = opened(people=3, questions=[question], quotas=[quota], minutes=10)
    take_part(visits, arrive(visits, "left"), until=task, city="yes")
    assert take_part(visits, arrive(visits, "p1"), city="yes").ended == "full"
    clock.advance(11)
    assert take_part(visits, arrive(visits, "p2"), city="yes").ended == "finished"


CITY = {"id": "city", "label": "City?", "options": YES_NO, "first": True}
ONE_YES = {"question": "city", "option": "yes", "people": 1}


def test_a_quota_is_not_exceeded_by_people_who_go_on_after_the_time_limit(opened, clock) -> None:
    checks = {"attention": [CHECK], "fail_limit": 1}
    visits = opened(people=5, questions=[CITY], quotas=[ONE_YES], minutes=10, **checks)
    failed, late, next_one = (arrive(visits, person) for person in ("failed", "late", "next"))
    take_part(visits, failed, until=task, city="no")
    take_part(visits, late, until=task, city="yes")
    take_part(visits, failed, answer="a")  # the first slot is free
    clock.advance(11)
    assert take_part(visits, next_one, city="yes").ended == "finished"
    assert take_part(visits, late).ended == "timed_out"
    assert visits.figures().quotas[0].people == 1


def test_only_as_many_late_people_as_a_quota_needs_lose_their_places(opened, clock) -> None:
    three = {**ONE_YES, "people": 3}
    visits = opened(people=9, questions=[CITY], quotas=[three], minutes=10)
    late = []
    for person in ("first", "second"):
        clock.advance(1)
        late.append(arrive(visits, person))
        take_part(visits, late[-1], until=task, city="yes")
    clock.advance(20)
    for number, lost in enumerate(([False, False], [True, False], [True, True])):
        assert take_part(visits, arrive(visits, f"p{number}"), city="yes").ended == "finished"
        assert [isinstance(visits.step(one), EndStep) for one in late] == lost
    assert take_part(visits, arrive(visits, "p4"), city="yes").ended == "full"


@pytest.mark.long
def test_quotas_that_are_reordered_or_added_later_count_the_people_who_are_there(tmp_path, database) -> None:
    one_no = {"question": "city", "option": "no", "people": 3}
    for quotas in ([ONE_YES], [one_no, ONE_YES], [{**one_no, "people": 1}, {**ONE_YES, "people": 2}]):
        visits = Visits.open(plan_of(tmp_path, 5, {"questions": [CITY], "quotas": quotas}), database)
        first = len(quotas) == 1
        if first:
            assert take_part(visits, arrive(visits, "a"), city="yes").ended == "finished"
            assert take_part(visits, arrive(visits, "b"), city="no").ended == "finished"
        counted = {one.option: one.people for one in visits.figures().quotas}
        assert counted == ({"yes": 1} if first else {"yes": 1, "no": 1})
        visits.close()
    visits = Visits.open(plan_of(tmp_path, 5, {"questions": [CITY], "quotas": [one_no, ONE_YES]}), database)
    assert take_part(visits, arrive(visits, "c"), city="yes").ended == "full"
    assert take_part(visits, arrive(visits, "d"), city="no").ended == "finished"
    visits.close()


def test_too_many_failed_attention_checks_end_a_participation_and_free_its_slot(opened) -> None:
    checks = [CHECK, {**CHECK, "id": "again", "after": 2}]
    visits = opened(people=1, attention=checks, fail_limit=2)
    failed = take_part(visits, arrive(visits, "p1"), answer="a")
    assert failed.ended == "failed_checks"
    once = arrive(visits, "p2")
    step = take_part(visits, once, until=lambda step: isinstance(step, AttentionStep))
    visits.submit(once, step.number, {"answer": "a"})
    assert take_part(visits, once).ended == "finished"
    figures = visits.figures()
    assert (figures.checks_answered, figures.checks_failed) == (4, 3)


def test_device_and_language_are_kept_as_far_as_they_are_known(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path, panel={"languages": ["en", "es"]}), now=clock)
    visit = visits.arrive({}, {"device": "phone", "width": "390", "height": "-2", "agent": "x"}, "fr")
    assert visits.language(visit) == "en"
    visits.note_device(visit, {"touch": "yes", "height": "844"}, "es")
    assert visits.language(visit) == "es"
    row = read_stored(visits._database).visits.iloc[0]
    assert [row[name] for name in ("device", "width", "height", "touch")] == ["phone", 390, 844, True]
    visits.close()


def test_translations_of_texts_stand_beside_them(tmp_path, clock) -> None:
    plan = plan_of(tmp_path, panel={"languages": ["en", "es"]})
    shutil.copytree(plan.study.folder, tmp_path / "study")
    plan = make_plan(tmp_path / "study" / "study.yaml", out=tmp_path / "run", people=1)
    (tmp_path / "study" / "consent.es.md").write_text("# Información\n", encoding="utf-8")
    visits = Visits.open(plan, now=clock)
    texts = [visits.step(visits.arrive({}, {}, language)).markdown for language in ("en", "es")]
    assert texts == ["# Information\n", "# Información\n"]
    visits.close()


# ---- identifiers and tokens ----


def test_forgetting_erases_identifiers_of_one_person_and_nothing_else(opened) -> None:
    visits = opened()
    for person in ("alice-secret", "bob-secret"):
        take_part(visits, arrive(visits, person))
    before = read_stored(visits._database)
    assert visits.forget("nobody") == 0
    assert visits.forget("alice-secret") == 1
    assert visits.forget("alice-secret") == 0
    after = read_stored(visits._database)
    for name in ("visits", "slots", "answers", "quotas"):
        assert getattr(before, name).equals(getattr(after, name))
    assert visits.step(arrive(visits, "bob-secret")).ended == "finished"


def test_a_forgotten_identifier_is_in_no_byte_of_the_file_or_its_log(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path), now=clock)
    take_part(visits, arrive(visits, "alice-secret"))
    content = lambda: b"".join(path.read_bytes() for path in (tmp_path / "run").glob("panel.sqlite*"))  # noqa: E731
    assert b"alice-secret" in content()
    visits.forget("alice-secret")
    assert b"alice-secret" not in content()
    visits.close()


def test_an_identifier_that_a_reader_keeps_in_the_log_is_not_reported_as_erased(
    tmp_path, clock, monkeypatch
) -> None:
    monkeypatch.setattr(opening, "WAIT", 0.1)
    visits = Visits.open(plan_of(tmp_path), now=clock)
    arrive(visits, "alice-secret")
    file = visits.plan.folder / "panel.sqlite"
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM visits").fetchall()
    for erase in (visits.forget, lambda one: list(forget_everywhere(one, [file]))):
        with pytest.raises(InputError, match="its log may still contain them"):
            erase("alice-secret")
    reader.execute("COMMIT")
    with pytest.raises(InputError, match="the logs contain nothing erased"):
        list(forget_everywhere("alice-secret", [file]))
    assert not [path for path in file.parent.glob("panel.sqlite*") if b"alice-secret" in path.read_bytes()]
    reader.close()
    visits.close()


def test_a_long_identifier_is_erased_as_it_was_stored(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path), now=clock)
    arrive(visits, "x" * 300)
    file = visits.plan.folder / "panel.sqlite"
    assert list(forget_everywhere(" " + "x" * 300, [file])) == [(str(file), 1)]
    visits.close()


def test_an_error_of_the_database_names_no_person(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path), now=clock)
    with visits._database.engine.connect() as connection:
        connection.exec_driver_sql("DROP TABLE identifiers")
        connection.commit()
    with pytest.raises(DBAPIError) as error:
        visits.arrive({"PROLIFIC_PID": "alice-secret"}, {}, "en")
    assert "INSERT" in str(error.value) or "SELECT" in str(error.value)
    assert "alice-secret" not in str(error.value)
    visits.close()


def test_identifiers_are_in_a_table_of_their_own_and_in_no_table_that_comes_out(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path, panel={"attention": [CHECK]}), now=clock)
    names = {"PROLIFIC_PID": "alice-secret", "STUDY_ID": "study-secret", "SESSION_ID": "session-secret"}
    visit = visits.arrive({**names, "other": "dropped-secret"}, {}, "en")
    take_part(visits, visit)
    for table in vars(visits.tables()).values():
        text = table.to_csv()
        assert "secret" not in text
        assert visit not in text
    with sqlite3.connect(tmp_path / "run" / "panel.sqlite") as plain:
        tables = [name for (name,) in plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        holding = [
            name for name in tables if "secret" in str(plain.execute(f"SELECT * FROM {name}").fetchall())
        ]
        stored = plain.execute("SELECT name FROM identifiers").fetchall()
    assert holding == ["identifiers"]
    assert sorted(name for (name,) in stored) == sorted(names)
    visits.close()


def test_the_token_of_the_researcher_is_made_once_and_stored_as_a_hash(opened, tmp_path) -> None:
    visits = opened()
    assert not visits.is_researcher("")
    token = visits.researcher_token()
    assert visits.researcher_token() is None
    assert visits.is_researcher(token)
    assert not visits.is_researcher(token[:-1])
    assert not visits.is_researcher("ñ")
    for path in tmp_path.glob("people.sqlite*"):
        assert token.encode() not in path.read_bytes()


def test_only_the_owner_may_read_the_file_of_a_panel(tmp_path, clock) -> None:
    visits = Visits.open(plan_of(tmp_path), now=clock)
    take_part(visits, arrive(visits))
    for path in (tmp_path / "run").glob("panel.sqlite*"):
        assert os.stat(path).st_mode & 0o077 == 0
    visits.close()


# ---- which database ----


def refused(plan: PanelPlan, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        Visits.open(plan, **options)
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_database_of_another_plan_is_refused(tmp_path, database) -> None:
    plan = plan_of(tmp_path)
    Visits.open(plan, database).close()
    Visits.open(plan, database).close()
    assert "belongs to another plan" in refused(plan_of(tmp_path / "more", 4), url=database)
    changed = plan_of(tmp_path, panel={"attention": [CHECK]})
    assert "belongs to another plan" in refused(changed, url=database)
    other = plan_of(tmp_path / "other", name="cities")
    assert "belongs to the study towns" in refused(other, url=database)
    assert "real people" in refused(plan, url=database, simulated=True)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", "is no address of a database"),
        ("postgresql+psycopg://x:hunter2@y:z/w", "is no address of a database"),
        ("mysql://somewhere/x", "use sqlite"),
        ("postgresql+psycopg://nobody:hunter2@127.0.0.1:1/x", "cannot be used"),
        ("sqlite:////nowhere/at/all/x.sqlite", "cannot be used"),
    ],
)
def test_an_address_of_no_database_is_refused_in_one_sentence_without_its_password(
    tmp_path, url, reason
) -> None:
    text = refused(plan_of(tmp_path), url=url)
    assert reason in text
    assert "hunter2" not in text


def test_a_file_that_is_no_database_is_refused(tmp_path) -> None:
    plan = plan_of(tmp_path)
    plan.folder.mkdir()
    (plan.folder / "panel.sqlite").write_bytes(b"not a database" * 1000)
    assert "cannot be used" in refused(plan)


def test_a_clock_that_is_set_back_gives_no_negative_times_and_no_longer_time_limits(
    tmp_path, database, clock
) -> None:
    def visits_of_one() -> Visits:
        plan = plan_of(tmp_path, 1, {"minutes": 30})
        return Visits.open(plan, database, now=clock, monotonic=lambda: ticks[0])

    def wait(minutes: float) -> None:
        clock.advance(minutes)
        ticks[0] += 60 * minutes

    ticks = [0.0]
    visits = visits_of_one()
    left = arrive(visits, "left")
    take_part(visits, left, until=task)
    wait(1)
    clock.advance(-300)
    wait(31)
    late = arrive(visits, "late")  # the slot of the first is free again after its half hour
    page = take_part(visits, late, until=task)
    visits.close()
    clock.advance(-300)
    visits = visits_of_one()  # a process that was started after the clock was set back once more
    wait(2)
    visits.submit(late, page.number, {"choice": "A"}, TIMING)
    wait(3)
    assert take_part(visits, late).ended == "finished"
    people = visits.tables().respondents.set_index("state")
    assert people.loc["finished", "seconds"] == pytest.approx(300)
    assert people.loc["finished", "started"] == pd.Timestamp("2026-01-01T00:32", tz="UTC")
    assert visits.tables().responses["created"].is_monotonic_increasing
    visits.close()


def test_times_of_a_clock_that_was_set_back_before_are_missing(opened, clock) -> None:
    visits = opened(people=1)
    clock.advance(60)
    take_part(visits, arrive(visits))
    with visits._database.write() as connection:
        connection.execute(update(schema.visits).values(last=schema.visits.c.started - 18000))
    tables, figures = visits.tables(), visits.figures()
    assert tables.respondents[["finished", "seconds"]].isna().all().all()
    assert figures.finished == 1
    assert figures.median_minutes is None


@pytest.mark.parametrize("trace", ["panel.sqlite-wal", "people/respondents.parquet"])
def test_a_panel_whose_database_is_lost_is_not_begun_again(tmp_path, clock, trace) -> None:
    plan = plan_of(tmp_path)
    file = plan.folder / trace
    file.parent.mkdir(parents=True, exist_ok=True)
    (plan.folder / "panel.sqlite").touch()
    Visits.open(plan, now=clock).close()
    (plan.folder / "panel.sqlite").write_bytes(b"")
    file.write_bytes(b"rows")
    with pytest.raises(InputError, match=rf"the database of the panel is empty, but {trace} of it is there"):
        Visits.open(plan, now=clock)
    assert file.read_bytes() == b"rows"
