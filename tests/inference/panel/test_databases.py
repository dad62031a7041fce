"""Databases and clocks of panels: which are refused, and times that do not go back."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from cases import cases
from made_up.panels import CHECK, TIMING, arrive, is_task, plan_of, take_part
from sqlalchemy import update

from conjury.inference.errors import InputError
from conjury.inference.panel.plan import PanelPlan
from conjury.inference.panel.storage import database_tables
from conjury.inference.panel.visits import Visits

pytestmark = pytest.mark.long


def refused(plan: PanelPlan, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        Visits.open(plan, **options)
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_database_of_another_plan_is_refused(tmp_path, database):
    plan = plan_of(tmp_path)
    Visits.open(plan, database).close()
    Visits.open(plan, database).close()
    assert "belongs to another plan" in refused(plan_of(tmp_path / "more", 4), url=database)
    changed = plan_of(tmp_path, panel={"attention": [CHECK]})
    assert "belongs to another plan" in refused(changed, url=database)
    other = plan_of(tmp_path / "other", name="cities")
    assert "belongs to the study towns" in refused(other, url=database)
    assert "real people" in refused(plan, url=database, simulated=True)


@pytest.mark.parametrize(("url", "reason"), cases(__file__, "addresses"))
def test_an_address_of_no_database_is_refused_in_one_sentence_without_its_password(tmp_path, url, reason):
    text = refused(plan_of(tmp_path), url=url)
    assert reason in text
    assert "hunter2" not in text


def test_a_file_that_is_no_database_is_refused(tmp_path):
    plan = plan_of(tmp_path)
    plan.folder.mkdir()
    (plan.folder / "panel.sqlite").write_bytes(b"not a database" * 1000)
    assert "cannot be used" in refused(plan)


def test_a_clock_that_is_set_back_gives_no_negative_times_and_no_longer_time_limits(
    tmp_path, database, clock
):
    def visits_of_one() -> Visits:
        plan = plan_of(tmp_path, 1, {"minutes": 30})
        return Visits.open(plan, database, now=clock, monotonic=lambda: ticks[0])

    def wait(minutes: float) -> None:
        clock.advance(minutes)
        ticks[0] += 60 * minutes

    ticks = [0.0]
    visits = visits_of_one()
    left = arrive(visits, "left")
    take_part(visits, left, until=is_task)
    wait(1)
    clock.advance(-300)
    wait(31)
    late = arrive(visits, "late")  # the slot of the first is free again after its half hour
    page = take_part(visits, late, until=is_task)
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


def test_times_of_a_clock_that_was_set_back_before_are_missing(opened, clock):
    visits = opened(people=1)
    clock.advance(60)
    take_part(visits, arrive(visits))
    with visits._database.write() as connection:
        connection.execute(
            update(database_tables.visits).values(last=database_tables.visits.c.started - 18000)
        )
    tables, figures = visits.tables(), visits.figures()
    assert tables.respondents[["finished", "seconds"]].isna().all().all()
    assert figures.finished == 1
    assert figures.median_minutes is None


@pytest.mark.parametrize("trace", ["panel.sqlite-wal", "people/respondents.parquet"])
def test_a_panel_whose_database_is_lost_is_not_begun_again(tmp_path, clock, trace):
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
