"""Erase the identifiers of one person, or their answers too, in any panel and without its study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from ...errors import InputError, counted
from .database_tables import LONGEST
from .opening import FILE, Database, checkpoint, open_existing
from .visiting import delete_identifiers, people_of, withdraw_visit

RUNS = Path("runs")


class LogNotEmptied(InputError):
    """The log of a database could not be emptied, so it may contain what was erased."""


def panels_in(run: Path | None) -> list[Path]:
    """Databases of a run, or of all runs below ``runs/``; InputError where there is none."""
    files = sorted(RUNS.glob(f"*/{FILE}")) if run is None else [run / FILE]
    if not files or not files[0].is_file():
        where = f"{RUNS}/*" if run is None else str(run)
        raise InputError(f"{where} has no panel ({FILE}); name the folder of a run with --out.")
    return files


def forget_everywhere(
    identifier: str, panels: Sequence[Path], url: str | None = None, answers: bool = False
) -> Iterator[tuple[str, int]]:
    """Erase the identifiers (and ``answers``) of a person in each database; yield its place and how many."""
    places: list[tuple[str | None, Path | None]] = (
        [(url, None)] if url is not None else [(None, file) for file in panels]
    )
    erased, failures = [], []
    with ExitStack() as stack:  # nobody is erased unless all can be opened
        opened = [stack.enter_context(closing(open_existing(*place))) for place in places]
        for database in opened:
            try:
                erased.append((database.place, forget_person(database, identifier, answers)))
            except LogNotEmptied as error:
                failures.append(error)
    if failures:
        raise failures[0]
    if not any(number for _, number in erased):
        where = ", ".join(place for place, _ in erased)
        raise InputError(
            f"No person has this identifier in {where}, and the logs contain nothing erased; correct it, or "
            "name another run with --out."
        )
    yield from erased


def forget_person(database: Database, identifier: str, answers: bool = False) -> int:
    """Erase the identifiers of one person from a database and its log; return how many people that were."""
    name = identifier.strip()[:LONGEST]
    with database.write() as connection:
        people = people_of(connection, name) if answers else []
        for visit in people:
            withdraw_visit(connection, visit)
        erased = len(people) or delete_identifiers(connection, name)
    if not checkpoint(database):  # also where nobody was erased, so that doing it again completes it
        what = "identifiers and answers" if answers else "identifiers"
        raise LogNotEmptied(
            f"The {what} of {counted(erased, 'person', 'people')} are erased from the tables of "
            f"{database.place}, but its log may still contain them, since another program reads it; "
            "end that program (an export, a backup), and erase them again."
        )
    return erased
