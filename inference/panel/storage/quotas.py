"""Who counts in which quota, and whether a quota has room. Every function works inside one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select, update

from ...study.panel_section import Quota
from .database_tables import quotas, slots


def join_quotas(connection: Connection, visit: int, answers: Mapping[str, str]) -> None:
    """Store the answers by which a visit counts in quotas, those that may be added later among them."""
    rows = [{"visit": visit, "question": name, "option": option} for name, option in answers.items()]
    if rows:
        connection.execute(insert(quotas), rows)


def make_room(connection: Connection, visit_quotas: Sequence[Quota], now: float) -> bool:
    """Whether each quota has room for one more person."""
    # People past their time limit can still finish, so they count as long as they have their place. Where a
    # quota is full with them, as many as needed lose theirs, those first whose time ended first.
    late: set[int] = set()
    for quota in visit_quotas:
        members = [row for row in _members(connection, quota) if row.number not in late]
        over = len(members) + 1 - quota.people
        expired = [row.number for row in members if not row.done and row.until < now]
        if over > len(expired):
            return False
        late.update(expired[: max(over, 0)])
    still = slots.c.number.in_(late), ~slots.c.done, slots.c.until < now
    released = update(slots).where(*still).values(visit=None, until=None)
    return not late or connection.execute(released).rowcount == len(late)


def _members(connection: Connection, quota: Quota) -> Sequence[Any]:
    """Places of the people in a quota, that whose time ended first before others."""
    query = (
        select(slots.c.number, slots.c.done, slots.c.until)
        .join(quotas, quotas.c.visit == slots.c.visit)
        .where(quotas.c.question == quota.question, quotas.c.option == quota.option)
        .order_by(slots.c.until, slots.c.number)
    )
    return connection.execute(query).all()
