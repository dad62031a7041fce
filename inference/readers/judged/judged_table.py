"""A table of judged items."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ...tables.reading.table_reading import TableReading, read


@dataclass(frozen=True)
class Judged:
    """A table with a row per answer.

    Parameters
    ----------
    frame : DataFrame
        One row per answer of the judge.
    source : str
        What the file is called.
    program : str
        Which program wrote it, in words; empty for a table.
    judge, human, id : str or None
        Columns that the program's format determines.
    notes : tuple of str
        What was assumed or excluded in reading.
    table : TableReading, optional
        The frame as `conjury.read` gives it, with its account.
    people : tuple of str
        Columns of people, where there are several.
    remedy : str
        What to do where the file has no column of a judge.
    models : tuple of str
        Columns of models, where the file says which are.
    scores : tuple of str
        Columns that say how near an answer is to its target, which ``human`` has, so that they are compared
        with no label of it.

    Examples
    --------
    >>> frame = pd.DataFrame({"verdict": ["spam", "ok"], "label": ["spam", "spam"]})
    >>> table = Judged(frame, "spam.csv", judge="verdict", human="label")
    >>> (table.frame[table.judge] == table.frame[table.human]).mean().item()
    0.5
    """

    frame: pd.DataFrame
    source: str
    program: str = ""
    judge: str | None = None
    human: str | None = None
    id: str | None = None
    notes: tuple[str, ...] = ()
    table: TableReading | None = None
    people: tuple[str, ...] = ()
    remedy: str = ""
    models: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()

    @property
    def reading(self) -> TableReading:
        """The table with its account."""
        return self.table if self.table is not None else read(self.frame, name=self.source)
