"""A process that is killed while people answer loses no accepted answer, and counts none twice."""

from __future__ import annotations

import json
import os
from collections import Counter
from multiprocessing.connection import Connection
from threading import Lock, Thread

import pytest
from interrupts import killed_often
from made_up.panels import TIMING, answer, arrive, plan_of, take_part
from postgres import new_database

from conjury.inference.panel.pages.steps import EndStep
from conjury.inference.panel.plan import PanelPlan
from conjury.inference.panel.storage.database_state import read_stored
from conjury.inference.panel.visits import Visits

PEOPLE, THREADS, PAGES = 24, 4, 6


def serve(plan: PanelPlan, url: str, accepted: Connection) -> None:
    """Let everybody answer in threads of one process, reporting each answer once it was accepted."""
    visits, reporting = Visits.open(plan, url), Lock()

    def work(people: range) -> None:
        for person in people:
            visit = arrive(visits, f"p{person}")
            step = visits.step(visit)
            while not isinstance(step, EndStep):
                fields = answer(step, seed=person)
                moved = visits.submit(visit, step.number, fields, TIMING)
                with reporting:
                    accepted.send((visit, step.number, json.dumps(fields)))
                step = moved

    threads = [Thread(target=work, args=(range(at, PEOPLE, THREADS),)) for at in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted.send(None)
    os._exit(0)


def check(plan: PanelPlan, url: str, reported: list[tuple[str, int, str]]) -> None:
    visits = Visits.open(plan, url)
    stored = read_stored(visits._database)
    names = stored.visits.set_index("number")["id"]
    kept = Counter(
        zip(
            stored.answers["visit"].map(names),
            stored.answers["page"],
            map(json.dumps, stored.answers["fields"]),
            strict=True,
        )
    )
    assert max(kept.values()) == 1
    assert set(reported) <= set(kept)
    assert max(Counter((visit, page) for visit, page, _ in reported).values()) == 1
    assert (stored.answers.groupby("visit").size() == PAGES).all()
    assert len(stored.visits) == PEOPLE
    assert stored.slots["done"].all()
    assert stored.slots["visit"].is_unique
    assert visits.figures().finished == PEOPLE
    assert {take_part(visits, visit).ended for visit in names} == {"finished"}
    visits.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # its threads hold no lock of ours
@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("sqlite", 4),
        pytest.param("sqlite", 50, marks=pytest.mark.slow),
        pytest.param("postgres", 3, marks=[pytest.mark.postgres, pytest.mark.slow]),
        pytest.param("postgres", 50, marks=[pytest.mark.postgres, pytest.mark.long]),
    ],
)
def test_kills_lose_no_accepted_answer_and_count_none_twice(request, tmp_path, kind, kills):
    url = f"sqlite:///{tmp_path / 'people.sqlite'}"
    if kind == "postgres":
        url = new_database(request.getfixturevalue("postgres_server"))
    plan = plan_of(tmp_path, PEOPLE)
    Visits.open(plan, url).close()
    most = max(2, PEOPLE * PAGES // (kills + 1))
    reported, done = killed_often(serve, plan, url, kills=kills, most=most, pause=0.002, seed=kills)
    assert done == kills
    assert len(reported) > PEOPLE
    check(plan, url, reported)
