"""Open SQLite in WAL mode or PostgreSQL, and make the tables of a panel."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from ...errors import InputError, listed
from .database_tables import VERSION, facts, metadata, slots

FILE = "panel.sqlite"
PEOPLE = "people"  # folder of the tables that were exported
ALONE = 0x636A7079  # key of the lock of PostgreSQL under which tables are made and slots are given out
WAIT = 30  # seconds for a connection, or for another process to finish writing
WRITES = "writes"


@dataclass(frozen=True)
class Database:
    """An open database; writers of one process queue before SQLite, which has one at a time."""

    engine: Engine
    place: str
    _writing: Lock = field(default_factory=Lock)

    @property
    def embedded(self) -> bool:
        """Whether it is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that writes; it is committed at the end, or nothing of it is."""
        with self._writing if self.embedded else nullcontext(), self.engine.connect() as raw_connection:
            connection = raw_connection.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that reads, and sees one state of the database."""
        with self.engine.connect() as raw_connection:
            level = {} if self.embedded else {"isolation_level": "REPEATABLE READ"}
            connection = raw_connection.execution_options(**level)
            with connection.begin():
                yield connection

    def alone(self, connection: Connection) -> None:
        """Wait until no other transaction gives out slots; SQLite has one writer in any case."""
        if not self.embedded:
            connection.execute(select(func.pg_advisory_xact_lock(ALONE)))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(
    url: str | None, folder: Path, slot_numbers: list[int], plan_facts: Mapping[str, str]
) -> Database:
    """Open the database of a panel, or make it, and check that it belongs to the plan."""
    file = folder / FILE
    if url is None:
        _refuse_lost_database(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():  # readable for its owner alone, as are the files that SQLite puts beside it
            os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
    database = _connect(url, file)
    with _explain_failure(database):
        _set_up_database(database, slot_numbers, {"version": VERSION, **plan_facts})
    return database


def _refuse_lost_database(file: Path) -> None:
    """Refuse to begin anew where a panel was lost; SQLite would delete its log, too."""
    if file.is_file() and file.stat().st_size:
        return
    traces = [file.with_name(f"{file.name}{end}") for end in ("-wal", "-journal")]
    traces += [file.parent / PEOPLE / "respondents.parquet"] if file.is_file() else []
    remains = [
        str(path.relative_to(file.parent)) for path in traces if path.is_file() and path.stat().st_size
    ]
    if remains:
        state = "empty" if file.is_file() else "missing"
        raise InputError(
            f"{file}: the database of the panel is {state}, but {listed(remains)} of it is there; put a copy "
            "of the database in its place, or begin another panel with --out."
        )


def open_existing(url: str | None, file: Path | None) -> Database:
    """Open a database that has a panel, of whatever plan; InputError where there is none."""
    if file is not None and not file.is_file():
        raise InputError(f"{file.parent} has no panel ({file.name}); begin one with `conjury panel STUDY`.")
    database = _connect(url, Path(FILE) if file is None else file)
    with _explain_failure(database), database.read() as connection:
        if not database.engine.dialect.has_table(connection, facts.name):
            raise InputError(
                f"The database {database.place} has no panel; begin one with `conjury panel STUDY`."
            )
    return database


def _connect(url: str | None, file: Path) -> Database:
    place = str(file) if url is None else _address_without_password(url)
    return Database(_engine(f"sqlite:///{file.resolve()}" if url is None else url, place), place)


@contextmanager
def _explain_failure(database: Database) -> Iterator[None]:
    """Close a database that cannot be used, and explain why."""
    try:
        yield
    except DBAPIError as error:
        database.close()
        reason = " ".join(str(error.orig or error).split())
        raise InputError(
            f"The database {database.place} cannot be used ({reason}); correct --database."
        ) from None
    except InputError:
        database.close()
        raise


def _address_without_password(url: str) -> str:
    """The address of a database without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return "that --database names"


def check_address(url: str) -> str:
    """Return the kind of database that an address names; InputError for one that is no address."""
    try:
        kind = make_url(url).get_backend_name()
    except (ArgumentError, ValueError):
        kind = ""
    if kind not in ("sqlite", "postgresql"):
        raise InputError(
            "--database is no address of a database; use sqlite:///FILE or postgresql+psycopg://HOST/NAME."
        )
    return str(kind)


def _engine(url: str, place: str) -> Engine:
    kind = check_address(url)
    options: dict[str, Any] = {"pool_timeout": WAIT, "pool_size": 10, "max_overflow": 10}
    options["hide_parameters"] = True  # errors are logged, and parameters of statements name people
    if kind == "sqlite":
        options = {**options, "max_overflow": 90, "connect_args": {"timeout": WAIT}}
    try:
        engine = create_engine(url, **options)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise InputError(
            f"--database {place} cannot be used ({error}); write sqlite:///FILE or "
            "postgresql+psycopg://HOST/NAME."
        ) from None
    if kind == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where _begin_sqlite says so
    for setting in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {setting}").close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _set_up_database(database: Database, slot_numbers: list[int], expected: Mapping[str, str]) -> None:
    """Make the tables where there are none, and compare the facts."""
    with database.write() as connection:
        database.alone(connection)
        metadata.create_all(connection)
        stored = {str(row.name): str(row.value) for row in connection.execute(select(facts))}
        if stored:
            _compare_facts(stored, expected, database.place)
            return
        rows = [{"name": name, "value": value} for name, value in expected.items()]
        connection.execute(insert(facts), rows)
        connection.execute(insert(slots), [{"number": n, "done": False} for n in slot_numbers])


def _compare_facts(stored: Mapping[str, str], expected: Mapping[str, str], place: str) -> None:
    changed = [name for name, value in expected.items() if stored.get(name) != value]
    reasons = {
        "version": "was made by another version of conjury",
        "study": f"belongs to the study {stored.get('study')}",
        "origin": "is the demonstration of simulated people"
        if stored.get("origin")
        else "has answers of real people, which simulated ones must not join",
        "plan": "belongs to another plan: people, items, tasks or questions of the study have changed since",
    }
    if changed:
        raise InputError(
            f"The database {place} {reasons[changed[0]]}; name another folder with --out (or another "
            "--database), or restore what was changed."
        )


def checkpoint(database: Database) -> bool:
    """Write SQLite's log into its file and empty the log, so that what was erased is gone from both."""
    # Returns whether it is empty; it is not where another program reads the database all the time.
    if not database.embedded:
        return True
    with closing(database.engine.raw_connection()) as connection:
        cursor = connection.cursor()
        busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        cursor.close()
    return not busy
