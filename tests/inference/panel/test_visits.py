"""Visits: what is stored, what changes nothing, and who is given which slot."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pandas as pd
import pytest
from made_up.panels import ADULT, CHECK, TIMING, answered, arrive, is_task, plan_of, take_part
from postgres import new_database

from conjury.inference.panel.pages.browsers import device_of, measured
from conjury.inference.panel.pages.steps import AttentionStep, EndStep, QuestionsStep, TaskStep, TextStep
from conjury.inference.panel.plan import make_plan
from conjury.inference.panel.storage import visiting
from conjury.inference.panel.storage.database_state import read_stored
from conjury.inference.panel.visits import Refused, Timing, UnknownVisit, Visits


@pytest.mark.long
def test_a_visit_goes_from_consent_to_the_end_with_the_repeat_as_last_task(opened):
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
    tasks = [step for step in seen if is_task(step)]
    assert [step.index for step in tasks] == [1, 2, 3]
    assert tasks[-1].task.repeat_of == tasks[0].task.name
    assert tasks[-1].task.subjects == tasks[0].task.subjects[::-1]
    assert visits.step(visit) == EndStep(10, 10, "finished", "C1", None)


def test_a_page_of_another_number_changes_nothing(opened):
    visits = opened()
    visit = arrive(visits)
    first = take_part(visits, visit, until=is_task)
    before = answered(visits)
    for stale in (first.number - 1, first.number + 1, 0, -1, 10**9):
        assert visits.submit(visit, stale, {"choice": "A"}, TIMING) == first
    assert answered(visits) == before
    second = visits.submit(visit, first.number, {"choice": "A"}, TIMING)
    assert visits.submit(visit, first.number, {"choice": "B"}, TIMING) == second == visits.step(visit)
    stored = read_stored(visits._database).answers
    assert stored.loc[stored["page"] == first.number, "fields"].tolist() == [{"choice": "A"}]


def test_two_tabs_that_submit_at_once_store_one_answer(opened):
    visits = opened()
    visit = arrive(visits)
    step = take_part(visits, visit, until=is_task)
    with ThreadPoolExecutor(8) as threads:
        choices = ["A", "B"] * 8
        replies = list(threads.map(lambda one: visits.submit(visit, step.number, {"choice": one}), choices))
    assert {reply.number for reply in replies} == {step.number + 1}
    assert max(Counter(answered(visits)).values()) == 1


def test_an_answer_that_is_none_is_refused_with_its_reason_and_not_stored(alone):
    visits = alone()
    visit = arrive(visits)
    step = take_part(visits, visit, until=is_task)
    before = answered(visits)
    for given, reason in ({}, "missing"), ({"choice": " "}, "missing"), ({"other": "A"}, "missing"):
        assert visits.submit(visit, step.number, given) == Refused({"choice": reason})
    assert visits.submit(visit, step.number, {"choice": "C"}) == Refused({"choice": "not_an_option"})
    assert answered(visits) == before
    assert visits.step(visit) == step


def test_questions_accept_numbers_in_range_and_texts_of_some_length_only(alone):
    questions = [
        {"id": "age", "label": "Age", "form": "number", "minimum": 18, "maximum": 99, "first": True},
        {"id": "note", "label": "Note", "form": "text", "required": False, "first": True},
    ]
    visits = alone(panel={"consent": None, "questions": questions})
    visit = arrive(visits)
    reasons = {"17": "out_of_range", "100": "out_of_range", "old": "not_a_number", "1e2": "not_a_number"}
    for age, reason in reasons.items():
        assert visits.submit(visit, 1, {"age": age}) == Refused({"age": reason})
    assert visits.submit(visit, 1, {"age": "18", "note": "x" * 2001}) == Refused({"note": "too_long"})
    assert visits.submit(visit, 1, {"age": " 18 ", "note": "x" * 2000}).number == 2


def test_measurements_that_cannot_be_true_are_not_stored(alone):
    visits = alone(panel={"consent": None, "instructions": None})
    visit = arrive(visits)
    assert measured(Timing(0.0, 0, 0.0, 0.0))["response_ms"] == 0.0
    widths = [device_of({"width": str(n)})["width"] for n in (0, 1, 100_000, 100_001)]
    assert widths == [None, 1, 100_000, None]
    for number, wrong in enumerate((float("nan"), float("inf"), -1.0), start=1):
        visits.submit(visit, number, {"choice": "A"}, Timing(wrong, -3, wrong, wrong))
    stored = read_stored(visits._database).answers
    assert stored["response_ms"].isna().all()
    assert stored["first_input_ms"].isna().all()
    assert (stored[["focus_lost", "focus_lost_ms"]] == 0).all(axis=None)


def test_an_unknown_visit_is_refused(alone):
    visits = alone()
    for ask in (visits.step, visits.language, visits.slot, lambda one: visits.submit(one, 1, {})):
        with pytest.raises(UnknownVisit, match="no visit with this id"):
            ask("' OR 1=1 --")


def test_the_device_is_kept_as_far_as_it_is_known(alone, clock):
    visits = alone(panel={"languages": ["en", "es"]})
    device = {"device": "phone", "width": "390", "height": "-2", "touch": "yes", "agent": "x"}
    visit = visits.arrive({}, device, "fr")
    assert visits.language(visit) == "en"
    row = read_stored(visits._database).visits.iloc[0]
    assert [row[name] for name in ("device", "width", "touch")] == ["phone", 390, True]
    assert pd.isna(row["height"])
    assert row["started"] == clock.time.timestamp()


def test_translations_of_texts_stand_beside_them(tmp_path, clock):
    plan = plan_of(tmp_path, panel={"languages": ["en", "es"]})
    shutil.copytree(plan.study.folder, tmp_path / "study")
    plan = make_plan(tmp_path / "study" / "study.yaml", out=tmp_path / "run", people=1)
    (tmp_path / "study" / "consent.es.md").write_text("# Información\n", encoding="utf-8")
    visits = Visits.open(plan, now=clock)
    texts = [visits.step(visits.arrive({}, {}, language)).markdown for language in ("en", "es")]
    assert texts == ["# Information\n", "# Información\n"]
    visits.close()


# ---- slots ----


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("before", [{"questions": [ADULT]}, {}])
def test_the_page_before_the_slot_that_is_sent_often_at_once_gives_one_slot_and_goes_on(
    tmp_path, postgres_server, before
):
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


@pytest.mark.long
@pytest.mark.postgres
def test_who_arrives_as_the_last_slot_is_filled_late_is_turned_away(
    tmp_path, postgres_server, clock, monkeypatch
):
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "people"), [("sqlite", 200), pytest.param("postgres", 30, marks=pytest.mark.postgres)]
)
def test_every_slot_is_filled_exactly_once_by_people_at_once(request, tmp_path, kind, people):
    """Also through two processes' worth of connections."""
    url = f"sqlite:///{tmp_path / 'people.sqlite'}"
    if kind == "postgres":
        url = new_database(request.getfixturevalue("postgres_server"))
    plan = plan_of(tmp_path, people)
    both = [Visits.open(plan, url), Visits.open(plan, url)]
    with ThreadPoolExecutor(40) as threads:
        ids = list(threads.map(lambda n: arrive(both[n % 2], f"p{n}"), range(people + 40)))
        pairs = threads.map(lambda pair: take_part(both[pair[0] % 2], pair[1]), enumerate(ids))
        ends = Counter(step.ended for step in pairs)
    assert ends == {"finished": people, "full": 40}
    stored = read_stored(both[0]._database)
    assert stored.slots["done"].all()
    assert stored.slots["visit"].is_unique
    assert len(set(answered(both[0]))) == len(stored.answers) == 40 + people * 6
    for visits in both:
        visits.close()


@pytest.mark.long
def test_the_slot_of_a_person_who_leaves_is_given_out_again_after_the_time_limit(opened, clock):
    visits = opened(people=1, minutes=30)
    left = arrive(visits, "left")
    page = take_part(visits, left, until=is_task)
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


def test_a_person_who_returns_late_goes_on_where_they_were_unless_the_slot_was_given_away(opened, clock):
    visits = opened(people=1, minutes=30)
    visit = arrive(visits, "slow")
    page = take_part(visits, visit, until=is_task)
    clock.advance(600)
    assert arrive(visits, "slow") == visit
    assert visits.step(visit) == page
    assert take_part(visits, visit).ended == "finished"
    assert visits.arrive({}, {}, "en") == EndStep(0, 0, "full")


def test_slots_that_nobody_has_are_given_out_before_those_of_late_people_longest_late_first(opened, clock):
    visits = opened(people=4, minutes=30)
    late = []
    for person in ("first", "second"):
        clock.advance(5)
        late.append(arrive(visits, person))
        take_part(visits, late[-1], until=is_task)
    clock.advance(60)
    arrivals = [arrive(visits, f"p{number}") for number in range(4)]
    ends = []
    for visit in arrivals:
        take_part(visits, visit, until=is_task)
        ends.append([visits.step(one) for one in late])
    lost = [[isinstance(step, EndStep) for step in steps] for steps in ends]
    assert lost == [[False, False], [False, False], [True, False], [True, True]]
