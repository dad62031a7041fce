"""Items and gold labels of a simulation, made up in the numbers of a truth table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...design.profiles import factor
from ...errors import InputError
from ...study.models import LINE, ItemStudy
from ...tables.columns import UNPERTURBED, copy_id, stream
from ..truth_table import share_out
from .truth_table import FILE, LabelTruth

Integers = NDArray[np.int64]

SHAPE = 2.0  # of the gamma distribution of the number of lines beyond the fewest
FEWEST = 2  # lines of an item
MADE = "made"  # begins ids, which are none of the study's own items so


@dataclass(frozen=True)
class Units:
    """What has a gold label in one task: n items, or lines of items, each array of shape (n,).

    ``item`` is the row of the items, ``line`` counts from 1 (0 for whole items), and ``gold`` is the code of
    the gold label.
    """

    task: str
    item: Integers
    line: Integers
    gold: Integers

    @property
    def dimensions(self) -> NDArray[np.object_]:
        """Dimension of judgments, which is the label set, by unit."""
        if self.task != LINE:
            return np.full(len(self.item), self.task, dtype=object)
        names = np.array([f"{LINE}_{number}" for number in range(int(self.line.max()) + 1)], dtype=object)
        return names[self.line]


def make_up(
    study: ItemStudy, truth: LabelTruth, size: int | None, seed: int
) -> tuple[pd.DataFrame, Integers, list[Units]]:
    """Make up items and what they are."""
    cells = list(truth.cells())
    counts = share_out([count for _, count in cells], size)
    cell = np.repeat(np.arange(len(cells)), counts)
    names = ["_".join([MADE, *levels.values()]) for levels, _ in cells]
    width = len(str(max(counts)))
    ids = [f"{names[at]}_{number + 1:0{width}d}" for at, n in enumerate(counts) for number in range(n)]
    frame = pd.DataFrame({"item_id": pd.array(ids, "string")})
    for name in truth.strata:
        levels = study.levels(name)
        frame[name] = factor(
            np.array([levels.index(cells[at][0][name]) for at in cell], dtype=np.int64), levels
        )
    lines = _numbers_of_lines(truth, cells, cell, seed) if LINE in study.label_sets else None
    if lines is not None:
        frame["n_lines"] = pd.array(lines, "Int64")
    frame["text"] = pd.array(_texts(ids, lines), "string")
    units = [_units(study, truth, task, cell, lines, seed) for task in study.label_sets]
    return frame, cell, units


def perturbed(items: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """Items and one copy of each a condition, with ``base_item_id`` and ``condition``."""
    everywhere = [UNPERTURBED, *conditions]
    frame = pd.concat([items] * len(everywhere), ignore_index=True)
    base = frame["item_id"]
    condition = np.repeat(everywhere, len(items))
    ids = np.where(condition == UNPERTURBED, base, copy_id(base, condition))
    frame["item_id"] = pd.array(ids, "string")
    frame.insert(1, "base_item_id", base)
    frame.insert(2, "condition", pd.Series(condition, dtype="string"))
    return frame


def _units(
    study: ItemStudy, truth: LabelTruth, task: str, cell: Integers, lines: Integers | None, seed: int
) -> Units:
    item, line = np.arange(len(cell)), np.zeros(len(cell), dtype=np.int64)
    if task == LINE and lines is not None:
        item = np.repeat(item, lines)
        line = np.concatenate([np.arange(1, n + 1) for n in lines])
    gold = np.zeros(len(item), dtype=np.int64)
    labels = list(study.gold_labels(task))
    for at, (levels, _) in enumerate(truth.cells()):
        here = np.flatnonzero(cell[item] == at)
        keys = {"task": task, **levels}
        weights = [round(truth.value("gold", {**keys, "gold": label}, 0.0)) for label in labels]
        if len(here) and not sum(weights):
            told = " and ".join(levels.values())
            raise InputError(f"{FILE}: no gold label of {task} is given for {told}; add rows of gold.")
        if len(here):
            dealt = np.repeat(np.arange(len(labels)), share_out(weights, len(here)))
            gold[here] = stream(seed, "gold", task, *levels.values()).permutation(dealt)
    return Units(task, item.astype(np.int64), line, gold)


def _numbers_of_lines(
    truth: LabelTruth, cells: Sequence[tuple[dict[str, str], int]], cell: Integers, seed: int
) -> Integers:
    mean = np.array([truth.value("lines", levels) for levels, _ in cells])[cell] - FEWEST
    rng = stream(seed, "lines")
    return np.asarray(FEWEST + rng.poisson(mean * rng.gamma(SHAPE, 1 / SHAPE, len(mean))), dtype=np.int64)


def _texts(ids: Sequence[str], lines: Integers | None) -> list[str]:
    """Placeholders, with as many lines as there are labels of lines."""
    if lines is None:
        return [f"Joke {name} (made up)" for name in ids]
    return [
        "\n".join(f"Line {number} of {name} (made up)" for number in range(1, n + 1))
        for name, n in zip(ids, lines, strict=True)
    ]
