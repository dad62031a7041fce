"""All that a database of a panel contains but the identifiers, as tables."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pandas as pd
from sqlalchemy import select

from .database_tables import answers, quotas, slots, visits
from .opening import Database


@dataclass(frozen=True)
class DatabaseState:
    """One state of the database."""

    # visits, slots, quotas: Rows as they are stored, in the order of their keys.
    visits: pd.DataFrame
    slots: pd.DataFrame
    # one row per answered page, in the order of visits and pages; `fields` are dictionaries
    answers: pd.DataFrame
    quotas: pd.DataFrame


def read_stored(database: Database) -> DatabaseState:
    """Read everything but identifiers, in one transaction."""
    with database.read() as connection:
        frames = []
        for table in (visits, slots, answers, quotas):
            rows = connection.execute(select(table).order_by(*table.primary_key.columns)).all()
            frames.append(pd.DataFrame(rows, columns=[column.name for column in table.columns]))
    visit_rows, slot_rows, answer_rows, quota_rows = frames
    answer_rows["fields"] = [json.loads(text) for text in answer_rows["fields"]]
    return DatabaseState(visit_rows, slot_rows, answer_rows, quota_rows)
