"""Blind labelling: tasks in a drawn order, a journal in which nothing is overwritten, and tables of it.

The journal has a line for each label, undo and skip, and is on disk before a label counts. The tables are
those that a panel of people has, and are written anew from the journal after each label.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock as ThreadLock
from typing import Any, Literal

import pandas as pd

from ...design.run_design import DrawnDesign
from ...errors import InputError
from ...study.asking import Choice, FreeText
from ...study.models import AnyStudy, ItemStudy, Study
from ...tables.columns import stream
from ...tables.files import write_table
from ...tables.limits import parse_json
from ...tables.schema import validate
from ...tables.writing import Lock, LockHeld, append_line, complete_lines
from ..panel_answers import FINISHED, answered_tasks, choices_of, judgments_of, responses_of
from ..plan import labelling_study
from .run_sources import LABELS

JOURNAL = "labels.jsonl"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
TIMES = ("response_ms", "first_input_ms", "focus_lost", "focus_lost_ms")
Kind = Literal["label", "undo", "skip"]


@dataclass(frozen=True)
class Event:
    """One line of the journal: what was done with a task, when, and under which seed of the order."""

    # `number` counts from 1. Of an undo, `of` is the number of the label that it takes back.

    number: int
    kind: Kind
    task: str
    at: float
    seed: int
    fields: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, float | None] = field(default_factory=dict)
    of: int | None = None

    def line(self) -> bytes:
        """The event as one line of JSON."""
        return (json.dumps(vars(self), default=dict) + "\n").encode("ascii")


@dataclass(frozen=True)
class DesignPairs:
    """All pairs of a design and their profiles."""

    tasks: pd.DataFrame
    profiles: pd.DataFrame


@dataclass(frozen=True)
class LabelProgress:
    """Where a person stands: the task to label, its place in the order, and how many are labelled."""

    step: int  # number of the next event; an answer for another step changes nothing
    task: str | None
    labelled: int
    tasks: int
    last: str | None  # the task whose label an undo would take back


def in_seeded_order(tasks: Collection[str], seed: int) -> list[str]:
    """Tasks in an order drawn by a seed, the same whatever their order before."""
    names = sorted(set(tasks))
    return [names[index] for index in stream(seed, "labels").permutation(len(names)).tolist()]


def active_labels(events: Sequence[Event]) -> dict[str, Event]:
    """Labels that were not taken back, by task, in the order in which they were given."""
    labels: dict[str, Event] = {}
    for event in events:
        if event.kind == "label":
            labels[event.task] = event
        elif event.kind == "undo":
            labels.pop(event.task, None)
    return labels


def next_task(order: Sequence[str], events: Sequence[Event]) -> str | None:
    """The task to label now: one that was just taken back, else the next of the order; skipped ones last."""
    labels = active_labels(events)
    if events and events[-1].kind == "undo" and events[-1].task in set(order):
        return events[-1].task
    skipped = {event.task: event.number for event in events if event.kind == "skip"}
    open_tasks = [task for task in order if task not in labels]
    return min(open_tasks, key=lambda task: skipped.get(task, 0), default=None)


class Labelling:
    """The labels of one person for a run, in a folder of their own that no other process writes to."""

    def __init__(
        self,
        folder: Path,
        name: str,
        study: Study | ItemStudy,
        order: Sequence[str],
        seed: int,
        design: DrawnDesign | None,
        lock: Lock,
    ) -> None:
        self.folder, self.name, self.study, self.order, self.seed = folder, name, study, order, seed
        self._pairs = None if design is None else DesignPairs(design.asked("all"), design.profiles)
        self._lock, self._writing = lock, ThreadLock()
        self.events = read_journal(folder / JOURNAL)
        self._write_tables()

    @classmethod
    def open(
        cls,
        run: Path,  # folder of the run; labels are kept in `labels/NAME` below it
        name: str,
        study: AnyStudy | None,
        tasks: Collection[str],  # tasks or items to label; their order is drawn by `seed`
        seed: int,
        design: DrawnDesign | None = None,
        judge_names: Collection[str] = (),
    ) -> Labelling:
        """Open the labels of a person, to begin or to go on."""
        if not NAME.fullmatch(name):
            raise InputError(
                f"--label {name}: a name begins with a letter and has letters, digits, - and _ alone, 40 at "
                "most; choose another one."
            )
        if name in judge_names:
            raise InputError(f"--label {name}: the run has a judge of this name; choose another one.")
        if study is None:
            raise InputError("Labelling needs the study file of the run; name it with --study.")
        survey = labelling_study(study)
        assert isinstance(survey, Study | ItemStudy)
        pairs = isinstance(survey.response, Choice) and survey.collect.form == "pair"
        if isinstance(survey, Study) and not pairs:
            raise InputError(
                f"Study {survey.name} does not ask for a choice between two profiles; tasks of conjoints are "
                "labelled by choices alone."
            )
        if isinstance(survey.response, FreeText):
            raise InputError(f"Study {survey.name} asks for free text, which is not labelled on a page.")
        if not tasks:
            raise InputError("No task of the run is left by the filters, so there is nothing to label.")
        folder = run / LABELS / name
        try:
            lock = Lock(folder / "labels.lock", passing=True)
        except LockHeld as holder:
            raise InputError(
                f"{folder}: {holder} is labelling under this name; end it, or choose another name."
            ) from None
        except OSError as error:
            raise InputError(f"{folder}: labels cannot be written there ({error.strerror}).") from None
        try:
            return cls(folder, name, survey, in_seeded_order(tasks, seed), seed, design, lock)
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Let others label under this name."""
        self._lock.release()

    def label_of(self, task: str) -> Mapping[str, str] | None:
        """Fields of the label of a task, if it has one."""
        event = active_labels(self.events).get(task)
        return None if event is None else event.fields

    @property
    def labelled(self) -> set[str]:
        """Tasks that have a label."""
        return set(active_labels(self.events))

    @property
    def progress(self) -> LabelProgress:
        """Where the person stands."""
        labels, tasks = active_labels(self.events), set(self.order)
        done = [task for task in labels if task in tasks]
        task, last = next_task(self.order, self.events), done[-1] if done else None
        return LabelProgress(len(self.events) + 1, task, len(done), len(self.order), last)

    def label(self, step: int, fields: Mapping[str, str], times: Mapping[str, float | None]) -> bool:
        """Write a label of the present task; False where the step has passed, and nothing is changed."""
        return self._add(step, "label", fields, times)

    def skip(self, step: int) -> bool:
        """Put off the present task until all others are labelled."""
        return self._add(step, "skip")

    def undo(self, step: int) -> bool:
        """Take back the last label in the order, which stays in the journal; its task comes next."""
        return self._add(step, "undo")

    def _add(
        self,
        step: int,
        kind: Kind,
        fields: Mapping[str, str] | None = None,
        times: Mapping[str, float | None] | None = None,
    ) -> bool:
        with self._writing:
            progress = self.progress
            task = progress.last if kind == "undo" else progress.task
            if step != progress.step or task is None:
                return False
            of = active_labels(self.events)[task].number if kind == "undo" else None
            event = Event(step, kind, task, time.time(), self.seed, fields or {}, times or {}, of)
            append_line(self.folder / JOURNAL, event.line())
            self.events.append(event)
            if kind != "skip":
                self._write_tables()
            return True

    def _write_tables(self) -> None:
        """Write the tables of all labels, each complete or not at all; none where there is no label."""
        tables = label_tables(self.study, self.name, list(active_labels(self.events).values()), self._pairs)
        for name in ("responses", "judgments", "choices"):
            path = self.folder / f"{name}.parquet"
            if name in tables:
                write_table(tables[name], path, private=True)
            else:
                with suppress(FileNotFoundError):
                    path.unlink()


def label_tables(
    study: Study | ItemStudy, name: str, labels: Sequence[Event], pairs: DesignPairs | None
) -> dict[str, pd.DataFrame]:
    """Responses, judgments and, of a conjoint, choices of one person, as a panel of people has them."""
    if not labels:
        return {}
    tasks = pd.DataFrame(
        {
            "visit": name,
            "page": [event.number for event in labels],
            "judge_id": pd.array([name] * len(labels), dtype="string"),
            "name": [event.task for event in labels],
            "task": pd.array(range(1, len(labels) + 1), dtype="Int64"),
            "state": FINISHED,
            "fields": [dict(event.fields) for event in labels],
            "at": [event.at for event in labels],
            **{
                time: pd.array([event.times.get(time) for event in labels], dtype="Float64") for time in TIMES
            },
        }
    )
    tasks["focus_lost"] = tasks["focus_lost"].astype("Int64")
    answered = answered_tasks(study, tasks, None)
    judgments = validate(judgments_of(study, answered), "judgments", f"labels of {name}")
    tables = {"responses": responses_of(study, answered), "judgments": judgments}
    if isinstance(study, Study) and pairs is not None:
        labelled_tasks = pairs.tasks[pairs.tasks["task_id"].isin(tasks["name"]).to_numpy()]
        profiles = pairs.profiles[pairs.profiles["profile_id"].isin(labelled_tasks["profile_id"]).to_numpy()]
        tables["choices"] = choices_of(study, labelled_tasks, profiles, judgments)
    return tables


def read_journal(path: Path) -> list[Event]:
    """Read the events of a journal; a last line that was cut off when a process ended is dropped."""
    events: list[Event] = []
    for number, line in enumerate(complete_lines(path), start=1):
        try:
            event = Event(**_mapping(parse_json(line)))
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{path}: line {number} is no event of labelling ({error}); restore the file, or label under "
                "another name."
            ) from None
        if event.number != number:
            raise InputError(
                f"{path}: line {number} is event {event.number}; lines were added or removed, so restore it."
            )
        events.append(event)
    return events


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value
