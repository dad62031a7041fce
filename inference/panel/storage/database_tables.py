"""Tables of the database. Identifiers of platforms are in a table of their own and in no other."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

VERSION = "2"
LONGEST = 256  # characters of an identifier
metadata = MetaData()

facts = Table(
    "facts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)
visits = Table(
    "visits",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("language", String(32), nullable=False),
    Column("page", Integer, nullable=False),  # on which the person is, from 1
    Column("slot", Integer),  # the last that was given to this visit
    Column("ended", String(32)),
    Column("started", Double, nullable=False),  # seconds since 1970, UTC
    Column("last", Double, nullable=False),
    Column("device", String(32)),
    Column("width", Integer),
    Column("height", Integer),
    Column("touch", Boolean),
    Column("checks_passed", Integer, nullable=False),
    Column("checks_failed", Integer, nullable=False),
)
slots = Table(
    "slots",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("visit", Integer, ForeignKey("visits.number"), unique=True),
    Column("until", Double),  # afterwards it is given out again
    Column("done", Boolean, nullable=False),
)
answers = Table(
    "answers",
    metadata,
    Column("visit", Integer, ForeignKey("visits.number"), primary_key=True),
    Column("page", Integer, primary_key=True),
    Column("kind", String(16), nullable=False),  # consent, instructions, practice, task, attention, questions
    Column("name", Text),  # of the task or the check
    Column("task", Integer),  # order in which it was seen, from 1
    Column("slot", Integer),
    Column("fields", Text, nullable=False),  # JSON
    Column("at", Double, nullable=False),
    Column("response_ms", Double),
    Column("first_input_ms", Double),
    Column("focus_lost", Integer, nullable=False),
    Column("focus_lost_ms", Double, nullable=False),
)
quotas = Table(  # answers before the tasks, by which a person counts in quotas whose limits may change
    "quotas",
    metadata,
    Column("visit", Integer, ForeignKey("visits.number"), primary_key=True),
    Column("question", Text, primary_key=True),
    Column("option", Text, nullable=False),
)
identifiers = Table(
    "identifiers",
    metadata,
    Column("visit", Integer, ForeignKey("visits.number"), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("value", String(LONGEST), nullable=False),
    Column("person", Boolean, nullable=False),  # whether it names the person
)
Index(
    "one_participation",
    identifiers.c.value,
    unique=True,
    sqlite_where=identifiers.c.person,
    postgresql_where=identifiers.c.person,
)
