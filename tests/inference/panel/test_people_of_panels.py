"""Who takes part in a panel: people of a platform, screening, quotas, attention checks."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from made_up.panels import ADULT, CHECK, YES_NO, arrive, is_task, plan_of, take_part

from conjury.inference.panel.pages.steps import AttentionStep, EndStep
from conjury.inference.panel.visits import Visits

pytestmark = pytest.mark.long

CITY = {"id": "city", "label": "City?", "options": YES_NO, "first": True}
ONE_YES = {"question": "city", "option": "yes", "people": 1}


def test_a_person_of_a_platform_takes_part_once(opened):
    visits = opened()
    visit = arrive(visits, "p1")
    take_part(visits, visit)
    assert arrive(visits, "p1") == visit
    assert visits.step(visit).ended == "finished"
    assert arrive(visits, "p2") != visit


def test_a_person_who_arrives_many_times_at_once_has_one_visit(opened):
    visits = opened()
    with ThreadPoolExecutor(10) as threads:
        found = set(threads.map(lambda _: arrive(visits, "p1"), range(30)))
    assert len(found) == 1
    assert visits.figures().started == 1


def test_the_person_may_be_required(alone):
    visits = alone(panel={"recruiting": {"required": True}})
    for missing in ({}, {"PROLIFIC_PID": "  "}, {"pid": "x"}):
        assert visits.arrive(missing, {}, "en") == EndStep(0, 0, "no_person")
    assert isinstance(visits.arrive({"PROLIFIC_PID": "x"}, {}, "en"), str)


def test_who_declines_or_is_screened_out_takes_no_slot(opened):
    visits = opened(people=1, questions=[ADULT], screened_out={"code": "OUT"})
    assert take_part(visits, arrive(visits, "p1"), consent="no").ended == "declined"
    out = take_part(visits, arrive(visits, "p2"), adult="no")
    assert (out.ended, out.code) == ("screened_out", "OUT")
    assert take_part(visits, arrive(visits, "p3")).ended == "finished"


def test_a_quota_admits_as_many_people_as_it_says_also_at_once(opened):
    visits = opened(people=12, questions=[CITY], quotas=[{**ONE_YES, "people": 3}])
    with ThreadPoolExecutor(8) as threads:
        ids = [arrive(visits, f"p{number}") for number in range(8)]
        ends = Counter(
            step.ended for step in threads.map(lambda one: take_part(visits, one, city="yes"), ids)
        )
    assert ends == {"finished": 3, "full": 5}
    assert take_part(visits, arrive(visits, "other"), city="no").ended == "finished"
    figure = visits.figures().quotas[0]
    assert (figure.people, figure.limit) == (3, 3)


def test_people_who_leave_do_not_count_in_a_quota_after_the_time_limit(opened, clock):
    visits = opened(people=3, questions=[CITY], quotas=[ONE_YES], minutes=10)
    take_part(visits, arrive(visits, "left"), until=is_task, city="yes")
    assert take_part(visits, arrive(visits, "p1"), city="yes").ended == "full"
    clock.advance(11)
    assert take_part(visits, arrive(visits, "p2"), city="yes").ended == "finished"


def test_a_quota_is_not_exceeded_by_people_who_go_on_after_the_time_limit(opened, clock):
    checks = {"attention": [CHECK], "fail_limit": 1}
    visits = opened(people=5, questions=[CITY], quotas=[ONE_YES], minutes=10, **checks)
    failed, late, next_one = (arrive(visits, person) for person in ("failed", "late", "next"))
    take_part(visits, failed, until=is_task, city="no")
    take_part(visits, late, until=is_task, city="yes")
    take_part(visits, failed, answer="a")  # the first slot is free
    clock.advance(11)
    assert take_part(visits, next_one, city="yes").ended == "finished"
    assert take_part(visits, late).ended == "timed_out"
    assert visits.figures().quotas[0].people == 1


def test_only_as_many_late_people_as_a_quota_needs_lose_their_places(opened, clock):
    three = {**ONE_YES, "people": 3}
    visits = opened(people=9, questions=[CITY], quotas=[three], minutes=10)
    late = []
    for person in ("first", "second"):
        clock.advance(1)
        late.append(arrive(visits, person))
        take_part(visits, late[-1], until=is_task, city="yes")
    clock.advance(20)
    for number, lost in enumerate(([False, False], [True, False], [True, True])):
        assert take_part(visits, arrive(visits, f"p{number}"), city="yes").ended == "finished"
        assert [isinstance(visits.step(one), EndStep) for one in late] == lost
    assert take_part(visits, arrive(visits, "p4"), city="yes").ended == "full"


def test_quotas_that_are_reordered_or_added_later_count_the_people_who_are_there(tmp_path, database):
    one_no = {"question": "city", "option": "no", "people": 3}
    for quotas in ([ONE_YES], [one_no, ONE_YES], [{**one_no, "people": 1}, {**ONE_YES, "people": 2}]):
        visits = Visits.open(plan_of(tmp_path, 5, {"questions": [CITY], "quotas": quotas}), database)
        first = len(quotas) == 1
        if first:
            assert take_part(visits, arrive(visits, "a"), city="yes").ended == "finished"
            assert take_part(visits, arrive(visits, "b"), city="no").ended == "finished"
        counted = {one.answers["city"]: one.people for one in visits.figures().quotas}
        assert counted == ({"yes": 1} if first else {"yes": 1, "no": 1})
        visits.close()
    visits = Visits.open(plan_of(tmp_path, 5, {"questions": [CITY], "quotas": [one_no, ONE_YES]}), database)
    assert take_part(visits, arrive(visits, "c"), city="yes").ended == "full"
    assert take_part(visits, arrive(visits, "d"), city="no").ended == "finished"
    visits.close()


def test_too_many_failed_attention_checks_end_a_participation_and_free_its_slot(opened):
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
