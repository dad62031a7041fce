"""What one visit writes: its row, its answers and its slot. Every function works inside one transaction."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, or_, select, update

from .database_tables import answers, facts, identifiers, quotas, slots, visits

WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class VisitRow:
    """Where a visit is; ``holds`` is whether its slot is still its own."""

    number: int
    id: str
    language: str
    page: int
    slot: int | None
    ended: str | None
    checks_passed: int
    checks_failed: int
    holds: bool = False
    last: float = 0.0


# Statements of every page are made once, since making one takes longer than running it.
_CHANGING = ("page", "slot", "ended", "checks_passed", "checks_failed")
_FIND = (
    select(
        *(visits.c[name] for name in ("number", "id", "language", "last", *_CHANGING)),
        slots.c.visit.is_not(None).label("holds"),
    )
    .outerjoin(slots, and_(slots.c.number == visits.c.slot, slots.c.visit == visits.c.number))
    .where(visits.c.id == bindparam("wanted"))
)
_LOCK = select(visits.c.number).where(visits.c.id == bindparam("wanted")).with_for_update()
_SAVE = (
    update(visits)
    .where(visits.c.number == bindparam("wanted"))
    .values({name: bindparam(f"new_{name}") for name in (*_CHANGING, "last")})
)
_ADD_ANSWER = insert(answers)


def find_visit(connection: Connection, visit: str, *, lock: bool = False) -> VisitRow | None:
    """Read the row of a visit, which no other transaction can change before this one ends if ``lock``."""
    if lock and connection.dialect.name != "sqlite":  # whose writers come one after the other in any case
        # A statement that waited reads the locked row anew, but not the slot that is joined to it.
        connection.execute(_LOCK, {"wanted": visit})
    row = connection.execute(_FIND, {"wanted": visit}).one_or_none()
    return None if row is None else VisitRow(**row._mapping)


def last_moment(connection: Connection) -> float:
    """Return the last time that is stored of any visit, minus infinity where there is none."""
    last = connection.execute(select(func.max(visits.c.last))).scalar_one()
    return -math.inf if last is None else float(last)


def save_visit(connection: Connection, row: VisitRow, now: float) -> None:
    """Store where a visit is now."""
    values = {f"new_{name}": getattr(row, name) for name in _CHANGING}
    connection.execute(_SAVE, {"wanted": row.number, "new_last": now, **values})


def visit_of_person(connection: Connection, person: str) -> str | None:
    """Id of the visit of a person of a platform."""
    query = select(visits.c.id).join(identifiers, identifiers.c.visit == visits.c.number)
    return connection.execute(
        query.where(identifiers.c.person, identifiers.c.value == person)
    ).scalar_one_or_none()


def add_visit(
    connection: Connection, values: Mapping[str, Any], named: Mapping[str, str], person: str | None
) -> int:
    """Add a visit with the parameters of its address; the database refuses the same person twice."""
    number = connection.execute(
        insert(visits).values(checks_passed=0, checks_failed=0, page=1, **values)
    ).inserted_primary_key
    assert number is not None
    rows = [
        {"visit": number[0], "name": name, "value": value, "person": name == person}
        for name, value in named.items()
    ]
    if rows:
        connection.execute(insert(identifiers), rows)
    return int(number[0])


def add_answer(connection: Connection, fields: Mapping[str, str], **values: Any) -> None:
    """Add what was answered on one page; the database refuses a second answer to it."""
    connection.execute(_ADD_ANSWER, {"fields": json.dumps(fields, ensure_ascii=False), **values})


def free_slot(connection: Connection, now: float) -> int | None:
    """Number of the slot to give out: the first that nobody has, else the one whose time ended first."""
    order = slots.c.visit.is_not(None), slots.c.until, slots.c.number
    free = select(slots.c.number).where(_is_free(now)).order_by(*order).limit(1)
    return connection.execute(free).scalar_one_or_none()


def take_slot(connection: Connection, visit: int, now: float, until: float) -> int | None:
    """Give a free slot to a visit and return its number; None where there is none."""
    while (number := free_slot(connection, now)) is not None:
        statement = (
            update(slots).where(slots.c.number == number, _is_free(now)).values(visit=visit, until=until)
        )
        if connection.execute(statement).rowcount:
            return number
    return None


def _is_free(now: float) -> Any:
    return and_(~slots.c.done, or_(slots.c.visit.is_(None), slots.c.until < now))


def count_unfilled_slots(connection: Connection) -> int:
    """Number of slots that are not filled."""
    return int(connection.execute(select(func.count()).where(~slots.c.done)).scalar_one())


def finish_slot(connection: Connection, visit: int) -> bool:
    """Mark the slot of a visit as filled; False where it was given to another."""
    return bool(connection.execute(update(slots).where(slots.c.visit == visit).values(done=True)).rowcount)


def release_slot(connection: Connection, visit: int) -> None:
    """Let the slot of a visit be given out again."""
    condition = and_(slots.c.visit == visit, ~slots.c.done)
    connection.execute(update(slots).where(condition).values(visit=None, until=None))


def delete_identifiers(connection: Connection, value: str) -> int:
    """Delete all identifiers of the people that a value names; return how many people that are."""
    people = people_of(connection, value)
    if people:
        connection.execute(delete(identifiers).where(identifiers.c.visit.in_(people)))
    return len(people)


def people_of(connection: Connection, value: str) -> list[int]:
    """Visits of the people that an identifier names."""
    query = select(identifiers.c.visit).where(identifiers.c.value == value, identifiers.c.person)
    return list(connection.execute(query).scalars())


def delete_answers(connection: Connection, visit: int) -> None:
    """Delete all that a person answered, their device and their identifiers; only the visit is left."""
    for table in (answers, quotas, identifiers):
        connection.execute(delete(table).where(table.c.visit == visit))
    emptied = dict.fromkeys(("device", "width", "height", "touch"))
    connection.execute(update(visits).where(visits.c.number == visit).values(**emptied))


def withdraw_visit(connection: Connection, visit: int) -> None:
    """Delete a visit's answers, and let its slot be given out again."""
    delete_answers(connection, visit)
    freed = {"visit": None, "until": None, "done": False}
    connection.execute(update(slots).where(slots.c.visit == visit).values(**freed))
    ended = {"ended": WITHDRAWN, "checks_passed": 0, "checks_failed": 0}
    connection.execute(update(visits).where(visits.c.number == visit).values(**ended))


def read_fact(connection: Connection, name: str) -> str | None:
    """A fact of the panel."""
    return connection.execute(select(facts.c.value).where(facts.c.name == name)).scalar_one_or_none()


def change_fact(connection: Connection, name: str, value: str) -> None:
    """Write a fact of the panel, in place of the one of that name."""
    connection.execute(delete(facts).where(facts.c.name == name))
    connection.execute(insert(facts).values(name=name, value=value))
