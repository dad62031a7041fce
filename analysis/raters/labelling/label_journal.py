"""The journal of labelling, to which lines are added: for the plan, each batch, each label and each skip."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conjury.inference.errors import InputError
from conjury.inference.tables.limits import parse_json
from conjury.inference.tables.writing import append_line, complete_lines

from .batch_draws import LabelBatch, UnitDraw
from .label_population import LabelPlan

VERSION = 1
PLAN, BATCH, LABEL, SKIP, UNDO = "plan", "batch", "label", "skip", "undo"


@dataclass(frozen=True)
class GivenLabel:
    """What a person said of a row; None where nobody can say."""

    label: str | None
    annotator: str
    at: str


@dataclass
class LabelJournal:
    """What was drawn and labelled so far; in memory alone without a path."""

    path: Path | None
    plan: LabelPlan | None = None
    fingerprint: str = ""
    is_declared: bool = False  # whether labels of the table are declared as hand-picked
    shown_columns: tuple[str, ...] = ()  # columns that people see
    reading: Mapping[str, Any] = field(default_factory=dict)  # options with which the table was read
    batches: list[LabelBatch] = field(default_factory=list)
    labels: dict[int, GivenLabel] = field(default_factory=dict)  # by row, in the order in which they came
    skipped: list[int] = field(default_factory=list)  # rows that were put off, the latest last
    n_events: int = 0

    @classmethod
    def open(cls, path: Path | None) -> LabelJournal:
        """Read a journal; an empty one where there is none."""
        journal = cls(path)
        for number, line in enumerate(complete_lines(path) if path is not None else [], start=1):
            try:
                journal._take(parse_json(line))
            except (ValueError, TypeError, KeyError, AttributeError, IndexError):
                raise InputError(
                    f"{path}: line {number:,} is no event of labelling; restore the file, or begin anew with "
                    "another --out."
                ) from None
        return journal

    def begin(
        self,
        plan: LabelPlan,
        fingerprint: str,
        is_declared: bool,
        columns: Sequence[str],
        reading: Mapping[str, Any],
    ) -> None:
        """Record the plan, before the first batch."""
        record = {"version": VERSION, "plan": plan.record(), "fingerprint": fingerprint}
        further = {"hand_picked": is_declared, "shown": list(columns), "reading": dict(reading)}
        self._add(PLAN, record | further)

    def add_batch(self, batch: LabelBatch) -> None:
        """Record what was drawn, before any of it is shown."""
        draws = [
            {"rows": draw.rows, "probability": draw.probability, "predicted": draw.predicted}
            for draw in batch.draws
        ]
        self._add(BATCH, {"draws": draws, "order": batch.order})

    def add_label(self, row: int, label: str | None, annotator: str) -> None:
        """Record a label, or that nobody can say."""
        self._add(LABEL, {"row": row, "label": label, "annotator": annotator})

    def skip(self, row: int) -> None:
        """Put a row off."""
        self._add(SKIP, {"row": row})

    def undo(self, row: int) -> None:
        """Take a label back; it stays in the file."""
        self._add(UNDO, {"row": row})

    def _add(self, kind: str, event: Mapping[str, Any]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        record = json.loads(json.dumps({"kind": kind, "at": at, **event}))
        if self.path is not None:
            append_line(self.path, (json.dumps(record) + "\n").encode("ascii"))
        self._take(record)

    def _take(self, event: Mapping[str, Any]) -> None:
        kind = event["kind"]
        self.n_events += 1
        if kind == PLAN:
            if event["version"] != VERSION:
                raise ValueError(event["version"])
            self.plan, self.fingerprint = LabelPlan.of(event["plan"]), event["fingerprint"]
            self.is_declared, self.shown_columns = event["hand_picked"], tuple(event["shown"])
            self.reading = dict(event.get("reading", {}))
        elif kind == BATCH:
            draws = tuple(UnitDraw.of(draw) for draw in event["draws"])
            self.batches.append(LabelBatch(draws, tuple(event["order"])))
        elif kind == LABEL:
            self.labels[event["row"]] = GivenLabel(event["label"], event["annotator"], event["at"])
        elif kind == SKIP:
            self.skipped.append(event["row"])
        elif kind == UNDO:
            del self.labels[event["row"]]
        else:
            raise ValueError(kind)
