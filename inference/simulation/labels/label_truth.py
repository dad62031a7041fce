"""The truth table of a study of labels, and items and gold labels made up in its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...design.profiles import factor
from ...errors import InputError, listed
from ...study.asking import LineLabels
from ...study.models import LINE, ItemStudy
from ...tables.columns import UNPERTURBED, as_text, copy_id, stream
from ...tables.schema import STATUSES
from ..truth_table import HUMAN, MODEL, Integers, ParameterRule, one_panel, read_rows, share_out

FILE = "label_truth.csv"

Row = tuple[Mapping[str, str], float]


STRATA = "strata"  # in a rule: the columns of all strata of the study
ASKED = ("judge", "judge_kind", "task", STRATA)
RULES = {
    "items": ParameterRule(0, 1e6, allowed=(STRATA,)),
    "gold": ParameterRule(0, 1e6, needed=("gold",), allowed=("task", STRATA)),
    "labelled": ParameterRule(0, 1e6, needed=("task",), allowed=(STRATA,)),
    "lines": ParameterRule(2, 1e3, allowed=(STRATA,)),
    "item_share": ParameterRule(0, 1),
    "people": ParameterRule(2, 1e4, needed=("judge", "judge_kind")),
    "accuracy": ParameterRule(0, 1, allowed=(*ASKED, "gold")),
    "pull": ParameterRule(0, 1e6, needed=("label",), allowed=(*ASKED, "gold")),
    "missing": ParameterRule(0, 1, needed=("label",), allowed=ASKED),
    "consistency": ParameterRule(0, 1, allowed=ASKED),
    "shared_difficulty": ParameterRule(0, 1, allowed=ASKED),
    "effect": ParameterRule(-5, 5, needed=("condition",), allowed=ASKED),
}


def columns_of(study: ItemStudy) -> list[str]:
    """Columns of the truth table of a study."""
    strata = [stratum.id for stratum in study.strata]
    return ["judge", "judge_kind", "parameter", "task", *strata, "condition", "gold", "label", "value"]


@dataclass(frozen=True)
class LabelTruth:
    """A truth table.

    Parameters
    ----------
    rows : dict of parameter to rows
        Each a mapping of the cells that are filled in, and the value.
    judges : dict of judge to kind
        In order of appearance; judges of people are panels.
    strata : tuple of str
        Identifiers of the strata of the study.
    conditions : tuple of str
        Of perturbed copies, in order of appearance.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> study = load_any_study("harm_or_humor")
    >>> truth = read_label_truth(study.folder / "label_truth.csv", study)
    >>> truth.panel, truth.strata, len(truth.models)
    ('human', ('modality', 'language'), 20)
    """

    rows: Mapping[str, tuple[Row, ...]]
    judges: Mapping[str, str]
    strata: tuple[str, ...]
    conditions: tuple[str, ...]

    @cached_property
    def _about(self) -> dict[tuple[str, str], list[Row]]:
        """Rows of a parameter that can apply to a judge; "" for none."""
        return {
            (parameter, judge): [row for row in rows if row[0].get("judge", judge) == judge]
            for parameter, rows in self.rows.items()
            for judge in ("", *self.judges)
        }

    def value(self, parameter: str, keys: Mapping[str, str], default: float | None = None) -> float:
        """The parameter for a judge, a task and so on; InputError where no row gives it, nor a default."""
        judge = keys.get("judge", "")
        best, best_value = -1, default
        for cells, value in self._about.get((parameter, judge if judge in self.judges else ""), ()):
            if len(cells) > best and all(keys.get(name) == cell for name, cell in cells.items()):
                best, best_value = len(cells), value
        if best_value is None:
            key_names = listed(f"{name} {key}" for name, key in keys.items() if key)
            raise InputError(f"{FILE}: {parameter} is not given for {key_names}; add a row.")
        return best_value

    def named(self, parameter: str, column: str) -> list[str]:
        """Values of a column in the rows of a parameter, in order of appearance."""
        names = (cells.get(column) for cells, _ in self.rows.get(parameter, ()))
        return list(dict.fromkeys(name for name in names if name))

    @property
    def panel(self) -> str | None:
        """The panel of people; None where there is none."""
        return next((judge for judge, kind in self.judges.items() if kind == HUMAN), None)

    @property
    def models(self) -> list[str]:
        """The models."""
        return [judge for judge, kind in self.judges.items() if kind == MODEL]

    def has_copies(self, condition: str) -> list[bool]:
        """Whether items of each cell have copies of a condition: those that its effects are about."""
        effects = [cells for cells, _ in self.rows.get("effect", ()) if cells["condition"] == condition]
        return [
            condition == UNPERTURBED or any(levels.items() <= {**levels, **row}.items() for row in effects)
            for levels, _ in self.cells()
        ]

    def cells(self) -> Iterator[tuple[dict[str, str], int]]:
        """Levels of the strata and number of items of each cell."""
        for cells, count in self.rows.get("items", ()):
            yield {name: cells[name] for name in self.strata}, round(count)


def read_label_truth(source: Path | pd.DataFrame, study: ItemStudy) -> LabelTruth:
    """Read the truth table of a study of labels.

    Parameters
    ----------
    source : Path or DataFrame
        Columns ``judge, judge_kind, parameter, task``, one for each of the study's strata, ``condition, gold,
        label, value``; ``parameter`` is one of

        - ``items``: number of items of a stratum; ``gold``: how often a task has a gold label; ``labelled``:
          how many items have gold labels of a task and are judged in it, by default all; ``lines``: mean
          number of lines of an item; ``item_share``: share of the difficulty of a line that is its item's;
        - ``people``: size of the panel;
        - ``accuracy``, ``pull`` (of ``label``), ``missing`` (``label``: the status), ``consistency``,
          ``shared_difficulty``, ``effect`` (of ``condition``), as the module describes. A condition has
          copies in the strata that its effects name.
    study : ItemStudy
        A study of items with gold labels.

    Returns
    -------
    LabelTruth
        The truth table, checked against the study.

    Raises
    ------
    InputError
        With file (or table), line and remedy.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> study = load_any_study("multiturn")
    >>> truth = read_label_truth(study.folder / "label_truth.csv", study)
    >>> truth.conditions
    ('orthographic', 'drift', 'preserving', 'dialect')
    """
    strata = tuple(stratum.id for stratum in study.strata)
    rules = {
        name: replace(rule, allowed=(*rule.allowed, *strata)) if STRATA in rule.allowed else rule
        for name, rule in RULES.items()
    }
    table = read_rows(source, columns_of(study), rules, _cell_choices(study), ())
    rows: dict[str, list[Row]] = {}
    for row in table.rows:
        rows.setdefault(row.parameter, []).append((row.cells, row.value))
    truth = LabelTruth(
        {name: tuple(of) for name, of in rows.items()},
        table.kinds,
        strata,
        tuple(dict.fromkeys(cells["condition"] for cells, _ in rows.get("effect", ()))),
    )
    _check_rows(table.place, truth)
    return truth


def _cell_choices(study: ItemStudy) -> dict[str, list[str]]:
    tasks = list(study.label_sets)
    answers = [label.id for response in study.label_sets.values() for label in response.labels]
    gold = [level for task in tasks for level in study.gold_labels(task)]
    return {
        "judge": [judge.id for judge in study.judges],
        "task": tasks,
        "gold": gold,
        "label": [*answers, *gold],
        "missing.label": list(STATUSES[1:]),
        **{stratum.id: [level.id for level in stratum.levels] for stratum in study.strata},
    }


def _check_rows(place: str, truth: LabelTruth) -> None:
    for name in ("items", "gold"):
        if not truth.rows.get(name):
            raise InputError(f"{place}: there is no row with the parameter {name}; add what is judged.")
    for cells, _ in truth.rows["items"]:
        if set(cells) != set(truth.strata):
            raise InputError(f"{place}: rows of items need {listed(truth.strata)}; fill them in.")
    one_panel(place, truth.judges)
    if not truth.judges:
        raise InputError(f"{place}: no row names a judge; give the accuracy of one at least.")


SHAPE = 2.0  # of the gamma distribution of the number of lines beyond the fewest
FEWEST = 2  # lines of an item
MADE = "made"  # begins ids, which are none of the study's own items so


@dataclass(frozen=True)
class GoldUnits:
    """What has a gold label in one task: n items, or lines of items, each array of shape (n,)."""

    # `item` is the row of the items, `line` counts from 1 (0 for whole items), and `gold` is the code of the
    # gold label.

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
) -> tuple[pd.DataFrame, Integers, list[GoldUnits]]:
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


def units_of_items(
    study: ItemStudy,
    truth: LabelTruth,
    items: pd.DataFrame,
    labels: pd.DataFrame,
    rng: np.random.Generator,
) -> tuple[Integers, list[GoldUnits]]:
    """Cells of given items, shape (items,), and what they are; at random where no gold label says so."""
    # An item whose strata are no cell of the truth table is in the first that shares most levels with it.
    cells = [tuple(levels[name] for name in truth.strata) for levels, _ in truth.cells()]
    strata = [as_text(items[name]).tolist() for name in truth.strata]
    of_items = list(zip(*strata, strict=True)) if strata else [()] * len(items)
    label_by_item = {
        (str(item), str(label_set)): str(label)
        for item, label_set, label in labels[["item_id", "label_set", "label"]].itertuples(index=False)
    }
    units = []
    for task, response in study.label_sets.items():
        counts = np.ones(len(items), dtype=np.int64)
        if isinstance(response, LineLabels):
            counts = np.array([len(str(text).splitlines()) for text in items[response.lines]], dtype=np.int64)
        item = np.repeat(np.arange(len(items)), counts)
        line = np.concatenate([np.arange(1, n + 1) for n in counts]) if task == LINE else np.zeros_like(item)
        unit, names = GoldUnits(task, item, line, np.zeros_like(item)), list(study.gold_labels(task))
        keys = zip(as_text(items["item_id"]).array.take(item), unit.dimensions, strict=True)
        gold = [label_by_item.get((str(name), str(dimension))) for name, dimension in keys]
        guess = rng.integers(len(names), size=len(item))
        code = [
            names.index(label) if label in names else int(fallback)
            for label, fallback in zip(gold, guess, strict=True)
        ]
        units.append(replace(unit, gold=np.array(code, dtype=np.int64)))
    shared = [[sum(a == b for a, b in zip(row, cell, strict=True)) for cell in cells] for row in of_items]
    return np.argmax(np.array(shared), axis=1).astype(np.int64), units


def with_perturbed_copies(items: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
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
) -> GoldUnits:
    item = _labelled_items(truth, task, cell, seed)
    line = np.zeros(len(item), dtype=np.int64)
    if task == LINE and lines is not None:
        line = np.concatenate([np.arange(1, n + 1) for n in lines[item]])
        item = np.repeat(item, lines[item])
    gold = np.zeros(len(item), dtype=np.int64)
    labels = list(study.gold_labels(task))
    for at, (levels, _) in enumerate(truth.cells()):
        here = np.flatnonzero(cell[item] == at)
        keys = {"task": task, **levels}
        weights = [round(truth.value("gold", {**keys, "gold": label}, 0.0)) for label in labels]
        if len(here) and not sum(weights):
            cell_name = " and ".join(levels.values())
            raise InputError(f"{FILE}: no gold label of {task} is given for {cell_name}; add rows of gold.")
        if len(here):
            dealt = np.repeat(np.arange(len(labels)), share_out(weights, len(here)))
            gold[here] = stream(seed, "gold", task, *levels.values()).permutation(dealt)
    return GoldUnits(task, item.astype(np.int64), line, gold)


def _labelled_items(truth: LabelTruth, task: str, cell: Integers, seed: int) -> Integers:
    """Rows of the items that have gold labels of a task, in order; of fewer items in proportion."""
    parts = []
    for at, (levels, n) in enumerate(truth.cells()):
        here = np.flatnonzero(cell == at)
        share = min(truth.value("labelled", {"task": task, **levels}, float(n)) / n, 1.0) if n else 1.0
        count = max(round(share * len(here)), min(len(here), 1))
        rng = stream(seed, "labelled", task, *levels.values())
        parts.append(here if count == len(here) else here[rng.permutation(len(here))[:count]])
    return np.sort(np.concatenate(parts)).astype(np.int64)


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
