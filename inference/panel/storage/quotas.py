"""Who counts in which quota, and whether a quota has room. Every function works inside one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select, update

from ...study.panel_section import SEVERAL, PanelSection, Quota
from .database_tables import quotas, slots

YES = "yes"  # of an option that was chosen among several


def quota_answers(section: PanelSection, answers: Mapping[str, str]) -> dict[str, str]:
    """The answers by which a person counts in quotas; of several options, each that was chosen."""
    of_person = {}
    for question in section.first_questions:
        if question.form == "options" and question.id in answers:
            of_person[question.id] = answers[question.id]
        elif question.form == "several" and answers.get(question.id):
            of_person |= {f"{question.id}_{option}": YES for option in answers[question.id].split(SEVERAL)}
    return of_person


def quota_keys(section: PanelSection, quota: Quota) -> dict[str, str]:
    """The answers of a quota as `quota_answers` has them."""
    several = {question.id for question in section.first_questions if question.form == "several"}
    return dict(
        (f"{name}_{option}", YES) if name in several else (name, option)
        for name, option in quota.combination.items()
    )


def join_quotas(connection: Connection, visit: int, answers: Mapping[str, str]) -> None:
    """Store the answers by which a visit counts in quotas, those that may be added later among them."""
    rows = [{"visit": visit, "question": name, "option": option} for name, option in answers.items()]
    if rows:
        connection.execute(insert(quotas), rows)


def make_room(connection: Connection, section: PanelSection, of_person: Sequence[Quota], now: float) -> bool:
    """Whether each quota has room for one more person."""
    # People past their time limit can still finish, so they count as long as they have their place. Where a
    # quota is full with them, as many as needed lose theirs, those first whose time ended first.
    late: set[int] = set()
    for quota in of_person:
        members = [row for row in _members(connection, quota_keys(section, quota)) if row.number not in late]
        over = len(members) + 1 - quota.people
        expired = [row.number for row in members if not row.done and row.until < now]
        if over > len(expired):
            return False
        late.update(expired[: max(over, 0)])
    still = slots.c.number.in_(late), ~slots.c.done, slots.c.until < now
    released = update(slots).where(*still).values(visit=None, until=None)
    return not late or connection.execute(released).rowcount == len(late)


def _members(connection: Connection, keys: Mapping[str, str]) -> Sequence[Any]:
    """Places of the people with all answers of a quota, that whose time ended first before others."""
    query = select(slots.c.number, slots.c.done, slots.c.until).order_by(slots.c.until, slots.c.number)
    for name, option in keys.items():
        with_answer = select(quotas.c.visit).where(quotas.c.question == name, quotas.c.option == option)
        query = query.where(slots.c.visit.in_(with_answer))
    return connection.execute(query).all()
