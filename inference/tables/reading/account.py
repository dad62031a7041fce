"""The account of a reading: what was recognised, folded, taken as missing, excluded or guessed, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ...errors import InputError

Subject = Literal["source", "types", "missing", "merged", "order", "excluded", "repeated", "roles"]
SUBJECTS: tuple[Subject, ...] = (
    *("source", "roles", "missing", "excluded", "repeated", "types", "order", "merged"),
)  # in the order in which they are printed: what changes numbers most comes first
MOST_LINES = 6
MOST_CELLS = 12  # texts of cells that an entry names


@dataclass(frozen=True)
class AccountEntry:
    """One thing that was done in reading a table.

    Parameters
    ----------
    subject : str
        What it is about, one of ``SUBJECTS``.
    sentence : str
        What was done, in words.
    column : str, optional
        The column that it is about.
    cells : tuple of str
        Texts of the cells that it is about.
    count : int
        How many cells or rows.
    rows : tuple of int
        The first of these rows, counted from 1 without the header.
    option : str, optional
        What states it instead of a guess, such as ``--missing``; None where nothing was guessed.

    Examples
    --------
    >>> AccountEntry("missing", "20 cells 'NA' count as missing.", "gpt", ("NA",), 20).column
    'gpt'
    """

    subject: Subject
    sentence: str
    column: str | None = None
    cells: tuple[str, ...] = ()
    count: int = 0
    rows: tuple[int, ...] = ()
    option: str | None = None


@dataclass(frozen=True)
class ReadingAccount:
    """What was done in reading a table, entry by entry; with ``strict`` no guess is accepted.

    Parameters
    ----------
    entries : tuple of AccountEntry
        In the order in which things were done.
    strict : bool
        Whether a guess is refused.

    Examples
    --------
    >>> ReadingAccount().adding([AccountEntry("source", "CSV, separated by commas.")]).lines()
    ['CSV, separated by commas.']
    """

    entries: tuple[AccountEntry, ...] = field(default=())
    strict: bool = False

    def adding(self, entries: Iterable[AccountEntry]) -> ReadingAccount:
        """The account with further entries; InputError for a guess where none is allowed."""
        added = tuple(entries)
        for entry in added:
            if self.strict and entry.option is not None:
                raise InputError(
                    f"{entry.sentence.rstrip('.')}, which is a guess, and --strict allows none; state it "
                    f"with {entry.option}."
                )
        return replace(self, entries=(*self.entries, *added))

    def lines(self, most: int = MOST_LINES) -> list[str]:
        """At most ``most`` sentences, by subject; the last one counts those that are left out."""
        ordered = sorted(self.entries, key=lambda entry: SUBJECTS.index(entry.subject))
        sentences = list(dict.fromkeys(entry.sentence for entry in ordered))
        if len(sentences) <= most:
            return sentences
        first = most - 1
        return [*sentences[:first], f"And {len(sentences) - first} more; --json has the whole account."]

    def notes(self) -> list[str]:
        """The sentences that belong beside a result: all but the size and the form of the file."""
        return list(dict.fromkeys(entry.sentence for entry in self.entries if entry.subject != "source"))

    def guesses(self) -> list[AccountEntry]:
        """The entries that nobody stated."""
        return [entry for entry in self.entries if entry.option is not None]

    def as_records(self) -> list[dict[str, Any]]:
        """All entries as JSON has them, without empty fields."""
        return [
            {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in vars(entry).items()
                if value not in (None, (), 0)
            }
            for entry in self.entries
        ]
