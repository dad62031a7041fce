"""Rows of a queue of labels, as the pages of a browser ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    from conjury.analysis.raters.labelling import LabelQueue

LATER, UNDO, NOBODY = "later", "undo", "nobody"


@dataclass(frozen=True)
class QueuedRows:
    """The rows that one person labels."""

    queue: LabelQueue
    annotator: str

    @property
    def step(self) -> str:
        """Changes with every label, undo and skip."""
        journal = self.queue.journal
        return f"{len(journal.batches)}-{journal.n_events}"

    @property
    def present(self) -> tuple[Sequence[tuple[str, str]], tuple[int, int, int]] | None:
        """Fields of the row to label and its place; None where labelling has stopped."""
        row = self.queue.row
        return None if row is None else (shown_fields(self.queue, row), self.queue.place)

    @property
    def choices(self) -> Sequence[str]:
        """Labels; none for ratings."""
        return self.queue.population.classes

    @property
    def limits(self) -> tuple[float, float]:
        """Lowest and highest rating."""
        return self.queue.population.least, self.queue.population.greatest

    @property
    def sentences(self) -> Sequence[str]:
        """What the labels say after the last complete batch."""
        return () if self.queue.frame.empty else tuple(self.queue.result.settings["verdict"])

    def take(self, action: str, label: str) -> None:
        """Save a label, put the row off, take the last label back, or say that nobody can say."""
        if action == LATER:
            self.queue.skip()
        elif action == UNDO:
            self.queue.undo()
        elif action == NOBODY:
            self.queue.add(None, self.annotator)
        elif label.strip():
            self.queue.add(label, self.annotator)
        else:
            raise InputError("Choose a label, or put the row off.")


def shown_fields(queue: LabelQueue, row: int) -> Sequence[tuple[str, str]]:
    """Names and texts of the columns that people see of a row."""
    import pandas as pd

    values = queue.reading.frame.iloc[row]
    return [
        (name, "" if pd.isna(values[name]) else str(values[name])) for name in queue.journal.shown_columns
    ]
