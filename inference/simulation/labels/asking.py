"""Who is asked what in a simulation of labels, and with which probabilities they answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...study.asking import Label, LineLabels
from ...study.models import LINE, ItemStudy
from ...tables.columns import as_text
from ...tables.schema import STATUSES, require_columns
from ...tables.streams import UNPERTURBED
from ..truth_table import HUMAN
from .draws import Answering, Integers, confusion, shifted
from .items import Units
from .truth_table import LabelTruth


@dataclass(frozen=True)
class Question:
    """What a judge is asked: a prompt (None for people), its task, and which items, shape (items,)."""

    judge: str
    prompt: str | None
    task: str
    items: NDArray[np.bool_]


@dataclass(frozen=True)
class World:
    """What all judges of a simulation share.

    Attributes
    ----------
    study : ItemStudy
    truth : LabelTruth
    items : DataFrame
        Without copies.
    cell : ndarray, shape (items,)
        Cell of the truth table of each item.
    units : dict of task to Units
    seed : int
    """

    study: ItemStudy
    truth: LabelTruth
    items: pd.DataFrame
    cell: Integers
    units: dict[str, Units]
    seed: int

    @property
    def conditions(self) -> tuple[str, ...]:
        """Originals and copies, originals first."""
        return (UNPERTURBED, *self.truth.conditions)

    def answers(self, judge: str, task: str) -> list[str]:
        """What a judge can answer: people gold labels, models the labels of the task."""
        if self.truth.judges[judge] == HUMAN:
            return list(self.study.gold_labels(task))
        return [label.id for label in self.study.label_sets[task].labels]

    def questions(self, judges: Sequence[str]) -> Iterator[Question]:
        """What these judges are asked, in the order of the truth table."""
        everything = np.ones(len(self.items), dtype=bool)
        for judge in judges:
            if self.truth.judges[judge] == HUMAN:
                yield from (Question(judge, None, task, everything) for task in self._of_people(judge))
                continue
            known = next((one for one in self.study.judges if one.id == judge), None)
            wanted = known.prompts if known is not None and known.prompts else self.study.prompt_labels
            for prompt in self.study.prompts:
                response = self.study.response_of(prompt.id)
                if prompt.id in wanted and isinstance(response, Label | LineLabels):
                    task = response.id if isinstance(response, Label) else LINE
                    shown = everything.copy()
                    for column, values in prompt.only.items():
                        require_columns(self.items, [column], "made-up items")
                        shown &= as_text(self.items[column]).isin(values).to_numpy(dtype=bool)
                    yield Question(judge, prompt.id, task, shown)

    def _of_people(self, judge: str) -> list[str]:
        named = {cells.get("task") for cells, _ in self.truth.rows["accuracy"] if cells.get("judge") == judge}
        return [task for task in self.units if task in named or None in named]


def answering(world: World, question: Question) -> Answering:
    """With which probabilities a judge answers in each cell, which has items or not."""
    study, truth, judge, task = world.study, world.truth, question.judge, question.task
    gold, answers = list(study.gold_labels(task)), world.answers(judge, task)
    covers = study.gold.covers if study.gold is not None else {}
    right = np.array([answers.index(_covering(level, answers, covers)) for level in gold])
    asked = np.unique(world.cell[question.items])
    cells = [levels for levels, _ in truth.cells()]
    statuses = statuses_of(truth)
    shape = (len(cells), len(gold), len(answers))
    made = Answering(
        np.zeros(shape),
        np.zeros(shape[1:], dtype=np.int64),
        np.zeros((len(cells), len(statuses))),
        np.zeros(len(cells)),
        np.zeros(len(cells)),
    )
    for at in asked:
        keys = {"judge": judge, "judge_kind": truth.judges[judge], "task": task, **cells[at]}
        accuracy = np.array([truth.value("accuracy", {**keys, "gold": level}) for level in gold])
        pull = np.array([[_pull(truth, keys, level, name) for name in answers] for level in gold])
        made.probability[at], made.answers[:] = confusion(accuracy, pull, right)
        made.missing[at] = [truth.value("missing", {**keys, "label": name}, 0.0) for name in statuses]
        made.consistency[at] = truth.value("consistency", keys, 0.0)
        made.shared[at] = truth.value("shared_difficulty", keys, 0.0)
    return made


def _pull(truth: LabelTruth, keys: Mapping[str, str], gold: str, label: str) -> float:
    return truth.value("pull", {**keys, "gold": gold, "label": label}, 0.0)


def statuses_of(truth: LabelTruth) -> list[str]:
    """Statuses of missing answers that the truth table names, in the order of the contract."""
    return [name for name in STATUSES if name in truth.named("missing", "label")]


def under(world: World, question: Question, plain: Answering, condition: str) -> Answering:
    """How a judge answers for copies of a condition."""
    if condition == UNPERTURBED:
        return plain
    keys = {
        "judge": question.judge,
        "judge_kind": world.truth.judges[question.judge],
        "task": question.task,
        "condition": condition,
    }
    effect = np.array(
        [world.truth.value("effect", {**keys, **levels}, 0.0) for levels, _ in world.truth.cells()]
    )
    return replace(plain, probability=shifted(plain.probability, effect))


def _covering(level: str, answers: Sequence[str], covers: dict[str, list[str]]) -> str:
    if level in answers:
        return level
    return next(name for name, labels in covers.items() if level in labels)
