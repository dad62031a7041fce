"""The rows to label next, drawn with known probabilities, and what their labels say so far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.files import write_table
from conjury.inference.tables.reading import TableReading
from conjury.inference.tables.schema import SAMPLING

from ...numerics.types import Floats
from ...results import Result
from ..label_provenance import BLIND, BY, SAMPLED
from .batch_draws import BATCH, LabelBatch, draw_batch, label_weights
from .label_estimates import BoundedLabels, label_estimates
from .label_journal import LabelJournal
from .label_population import LabelPlan, LabelPopulation, population_of
from .label_predictions import predict_labels
from .queue_sentences import claim_of, measure_of, sentences_of
from .stopping_rules import StoppingRule, read_rules, rule_met

KIND = "label_sequence"
BATCH_COLUMN = "label_batch"
DRAWN, HAND_PICKED = "random", "hand-picked"  # as columns of provenance state it
TEXTS = (BY, BLIND, SAMPLED)


class LabelQueue:
    """Rows of a table to label, the labels so far, and the estimates after each batch.

    Parameters
    ----------
    reading : TableReading
        The table, with a row per judged answer.
    plan : LabelPlan
        Columns, limits and seed, fixed before the first label.
    journal : LabelJournal
        What was drawn and labelled before.
    until : str, optional
        When to stop.
    batch : int
        Rows that are labelled before the next ones are drawn.
    out : path, optional
        Where the table with its labels is written.

    Examples
    --------
    >>> from conjury.analysis.raters.labelling import label
    >>> answers = pd.DataFrame({"answer": ["a", "b"] * 30, "verdict": ["good", "bad"] * 30})
    >>> queue = label(answers, "verdict", batch=5)
    >>> while (row := queue.row) is not None and queue.n_labelled < 10:
    ...     queue.add("good" if row % 2 == 0 else "bad", "ann")
    >>> queue.frame[["n_labels", "quantity"]].values.tolist()
    [[5, 'level'], [10, 'level']]
    """

    def __init__(
        self,
        reading: TableReading,
        plan: LabelPlan,
        journal: LabelJournal,
        *,
        until: str | None = None,
        batch: int = BATCH,
        out: Path | None = None,
    ) -> None:
        self.reading, self.plan, self.journal, self.out = reading, plan, journal, out
        self.population: LabelPopulation = population_of(reading, plan)
        self.batch_size = batch
        self.rules: tuple[StoppingRule, ...] = read_rules(
            until, list(self.population.contrasts), self.population.main
        )
        self._frame: pd.DataFrame | None = None
        self._n_estimated = 0  # batches of that frame

    @property
    def row(self) -> int | None:
        """The row to label now, from 0; None where labelling has stopped."""
        if self.stop is not None:
            return None
        if not self.journal.batches or self.is_complete:
            self._draw()
        if self.is_complete:
            return None
        skipped = {row: place for place, row in enumerate(self.journal.skipped)}
        open_rows = [row for row in self.journal.batches[-1].order if row not in self.journal.labels]
        return min(open_rows, key=lambda row: skipped.get(row, -1))

    @property
    def is_complete(self) -> bool:
        """Whether all rows of all batches have a label."""
        return bool(self.journal.batches) and all(
            row in self.journal.labels for row in self.journal.batches[-1].order
        )

    @property
    def stop(self) -> str | None:
        """Why labelling has stopped; None while it goes on."""
        if not self.is_complete:
            return None
        rule = rule_met(self.rules, self.frame) if self.rules else None
        if rule is not None:
            return f"the rule is met ({rule.text})"
        return "all rows have a label" if self.labels.labelled.all() else None

    @property
    def n_labelled(self) -> int:
        """How many labels were given here."""
        return len(self.journal.labels)

    @property
    def place(self) -> tuple[int, int, int]:
        """Number of the batch, labels in it, and its rows."""
        if not self.journal.batches:
            return 0, 0, 0
        order = self.journal.batches[-1].order
        return len(self.journal.batches), sum(row in self.journal.labels for row in order), len(order)

    @property
    def labels(self) -> BoundedLabels:
        """All labels as numbers, those of the table included."""
        least, greatest = (self.population.table_label.copy() for _ in range(2))
        for row, answer in self.journal.labels.items():
            if answer.label is None:
                least[row], greatest[row] = self.population.least, self.population.greatest
            else:
                least[row] = greatest[row] = self.population.number(answer.label)
        return BoundedLabels(least, greatest)

    @property
    def frame(self) -> pd.DataFrame:
        """Estimates after each complete batch: one row per batch and quantity."""
        batches = self._complete
        if self._frame is None or self._n_estimated < len(batches):
            self._frame = label_estimates(self.population, self.labels, batches, self.plan.alpha, self._frame)
            self._n_estimated = len(batches)
        return self._frame

    @property
    def result(self) -> Result:
        """The estimates with settings, sentences and what may be claimed."""
        settings: dict[str, Any] = {
            **self.plan.record(),
            "quantity": self.population.main,
            "systems": list(self.population.rows.systems),
            "measure": measure_of(self.population),
            "n_rows": len(self.population.unit),
            "n_labels": self.n_labelled,
            "hand_picked": self._n_hand_picked,
            "stopped": self.stop,
            "claim": claim_of(self.population, self.journal.labels),
            "verdict": sentences_of(self.population, self.frame, self.plan.alpha, self.stop),
        }
        return Result(self.frame, KIND, self.population.notes, settings)

    def add(self, label: str | None, annotator: str, row: int | None = None) -> None:
        """Record a label of the present row; None where nobody can say, and all it may be is allowed for."""
        at = self.row if row is None else row
        if at is None:
            raise InputError(f"Labelling has stopped: {self.stop}.")
        if not self.journal.batches or at not in self.journal.batches[-1].order:
            raise InputError(
                f"row {at + 1:,} was not drawn, and a label of a row that somebody chose says nothing of "
                "others; label the rows that are drawn."
            )
        if at in self.journal.labels:
            raise InputError(f"row {at + 1:,} has a label; take it back with undo, or label the next row.")
        if not annotator.strip():
            raise InputError("A label needs the name of the person; give one with --annotator.")
        if label is not None:
            self.population.number(label)
            label = self.population.spelling(label)
        self.journal.add_label(at, label, annotator.strip())
        if self.is_complete:
            self.write()

    def skip(self) -> None:
        """Put the present row off to the end of its batch."""
        row = self.row
        if row is not None:
            self.journal.skip(row)

    def undo(self) -> bool:
        """Take back the last label of the present batch; False where there is none."""
        order = set(self.journal.batches[-1].order) if self.journal.batches else set()
        rows = [row for row in self.journal.labels if row in order]
        if not rows or self.is_complete:
            return False
        self.journal.undo(rows[-1])
        return True

    def run(
        self, answer: Callable[[pd.Series[Any]], str | None], annotator: str, most: int | None = None
    ) -> Result:
        """Label by a function of rows until the rule is met, or ``most`` labels are there."""
        while (most is None or self.n_labelled < most) and (row := self.row) is not None:
            self.add(answer(self.reading.frame.iloc[row]), annotator, row)
        return self.result

    def table(self) -> pd.DataFrame:
        """The table with labels of complete batches, their probabilities and batches, and who gave them."""
        frame = self.reading.frame.reset_index(drop=True)
        human = self.plan.human
        columns = {name: _cells(frame, name) for name in (human, SAMPLING, BATCH_COLUMN, *TEXTS)}
        for row in np.flatnonzero(np.isfinite(self.population.table_label)).tolist():
            # Such a label represents its row alone, as one that was certain to be drawn.
            columns[SAMPLING][row] = 1.0
            if not self.population.is_sampled:
                columns[SAMPLED][row] = HAND_PICKED
        for row, probability, number in self._drawn_rows():
            answer = self.journal.labels[row]
            columns[human][row] = answer.label
            columns[SAMPLING][row], columns[BATCH_COLUMN][row] = probability, number
            columns[BY][row], columns[BLIND][row] = f"person {answer.annotator}", "yes"
            columns[SAMPLED][row] = DRAWN
        table = frame.drop(columns=[name for name in columns if name in frame])
        kinds: dict[str, Any] = {SAMPLING: "Float64", BATCH_COLUMN: "Int64"}
        if not self.population.classes:
            columns[human] = list(pd.to_numeric(pd.Series(columns[human], dtype="object")))
            kinds[human] = "Float64"
        added = {
            name: pd.Series(cells, dtype="object").astype(kinds.get(name, "string"))
            for name, cells in columns.items()
        }
        return pd.concat([table, pd.DataFrame(added)], axis=1)

    def write(self) -> None:
        """Write the table, whole or not at all."""
        if self.out is not None:
            write_table(self.table(), self.out)

    @property
    def _complete(self) -> list[LabelBatch]:
        return [
            batch for batch in self.journal.batches if all(row in self.journal.labels for row in batch.order)
        ]

    @property
    def _n_hand_picked(self) -> int:
        return 0 if self.population.is_sampled else int(np.isfinite(self.population.table_label).sum())

    def _drawn_rows(self) -> list[tuple[int, float, int]]:
        """Rows of complete batches, each with its probability and batch."""
        batches = self._complete
        chances = [draw.probability for batch in batches for draw in batch.draws]
        unlabelled = ~np.isfinite(self.population.table_label)
        weights = label_weights(chances, len(np.unique(self.population.unit[unlabelled])))
        rows, place = list[tuple[int, float, int]](), 0
        for number, batch in enumerate(batches, start=1):
            for draw in batch.draws:
                probability = float(1 / weights[place])
                rows += [(row, probability, number) for row in draw.rows if unlabelled[row]]
                place += 1
        return rows

    def _draw(self) -> None:
        labels = self.labels
        if labels.labelled.all():
            return
        prediction = predict_labels(self.population, labels.middle, labels.labelled, self._label_weights())
        number = len(self.journal.batches) + 1
        self.journal.add_batch(
            draw_batch(self.population, labels.labelled, prediction, self.batch_size, number, self.plan.seed)
        )

    def _label_weights(self) -> Floats:
        weights = np.ones(len(self.population.unit))
        for row, probability, _ in self._drawn_rows():
            weights[row] = 1 / probability
        return weights


def _cells(frame: pd.DataFrame, name: str) -> list[Any]:
    """Cells of a column that the table may have, None where there is nothing."""
    if name not in frame:
        return [None] * len(frame)
    texts = frame[name].astype(object).where(frame[name].notna(), None)
    return [str(value) if name in TEXTS and value is not None else value for value in texts]
