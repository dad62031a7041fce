"""The truth table of a study of labels: what is judged in a simulation, and how people and models answer.

Each row gives one parameter, of all judges where ``judge`` is empty, and likewise of all tasks, strata,
conditions and gold labels; where several rows fit, the one with most cells filled in counts.

A judge gives the right answer to a gold label with probability ``accuracy``, and another in proportion to
``pull``. Behind each answer stands a normal deviate, of whose variance ``consistency`` stays the same when
the judge is asked again; of that part ``shared_difficulty`` is common to all judges. ``missing`` is how often
there is no answer, ``effect`` what a condition adds to accuracy on the probit scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from ...errors import InputError
from ...study.checks import suggestion
from ...study.models import ItemStudy
from ...tables.columns import did_you_mean, listed
from ...tables.schema import JUDGE_KINDS, STATUSES
from ..truth_table import read_truth_file

FILE = "label_truth.csv"
HUMAN, MODEL = JUDGE_KINDS

Row = tuple[Mapping[str, str], float]


@dataclass(frozen=True)
class Rule:
    """Range of a parameter, and which cells its rows may and must have filled in."""

    lowest: float
    highest: float
    allowed: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


_ASKED = ("judge", "judge_kind", "task", "strata")
PARAMETERS = {
    "items": Rule(0, 1e6, ("strata",)),
    "gold": Rule(0, 1e6, ("task", "strata"), ("gold",)),
    "lines": Rule(2, 1e3, ("strata",)),
    "item_share": Rule(0, 1),
    "people": Rule(2, 1e4, (), ("judge", "judge_kind")),
    "accuracy": Rule(0, 1, (*_ASKED, "gold")),
    "pull": Rule(0, 1e6, (*_ASKED, "gold"), ("label",)),
    "missing": Rule(0, 1, _ASKED, ("label",)),
    "consistency": Rule(0, 1, _ASKED),
    "shared_difficulty": Rule(0, 1, _ASKED),
    "effect": Rule(-5, 5, _ASKED, ("condition",)),
}


def columns_of(study: ItemStudy) -> list[str]:
    """Columns of the truth table of a study."""
    strata = [stratum.id for stratum in study.strata]
    return ["judge", "judge_kind", "parameter", "task", *strata, "condition", "gold", "label", "value"]


@dataclass(frozen=True)
class LabelTruth:
    """A truth table.

    Attributes
    ----------
    rows : dict of parameter to rows
        Each a mapping of the cells that are filled in, and the value.
    judges : dict of judge to kind
        In order of appearance; judges of people are panels.
    strata : tuple of str
    conditions : tuple of str
        Of perturbed copies, in order of appearance.
    """

    rows: Mapping[str, tuple[Row, ...]]
    judges: Mapping[str, str]
    strata: tuple[str, ...]
    conditions: tuple[str, ...]

    @cached_property
    def _about(self) -> dict[tuple[str, str], list[Row]]:
        """Rows of a parameter that can hold for a judge; "" for none."""
        return {
            (parameter, judge): [row for row in rows if row[0].get("judge", judge) == judge]
            for parameter, rows in self.rows.items()
            for judge in ("", *self.judges)
        }

    def value(self, parameter: str, keys: Mapping[str, str], default: float | None = None) -> float:
        """The parameter for a judge, a task and so on; InputError where no row gives it, nor a default."""
        judge = keys.get("judge", "")
        best, found = -1, default
        for cells, value in self._about.get((parameter, judge if judge in self.judges else ""), ()):
            if len(cells) > best and all(keys.get(name) == cell for name, cell in cells.items()):
                best, found = len(cells), value
        if found is None:
            told = listed(f"{name} {key}" for name, key in keys.items() if key)
            raise InputError(f"{FILE}: {parameter} is not given for {told}; add a row.")
        return found

    def named(self, parameter: str, column: str) -> list[str]:
        """What rows of a parameter hold in a column, in order of appearance."""
        found = (cells.get(column) for cells, _ in self.rows.get(parameter, ()))
        return list(dict.fromkeys(name for name in found if name))

    @property
    def panel(self) -> str | None:
        """The panel of people; None where there is none."""
        return next((judge for judge, kind in self.judges.items() if kind == HUMAN), None)

    @property
    def models(self) -> list[str]:
        """The models."""
        return [judge for judge, kind in self.judges.items() if kind == MODEL]

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

        - ``items``: number of items of a stratum; ``gold``: how often a task has a gold label; ``lines``:
          mean number of lines of an item; ``item_share``: share of the difficulty of a line that is its
          item's;
        - ``people``: size of the panel;
        - ``accuracy``, ``pull`` (of ``label``), ``missing`` (``label``: the status), ``consistency``,
          ``shared_difficulty``, ``effect`` (of ``condition``), as the module says.
    study : ItemStudy
        With gold labels.

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
    ('orthographic', 'drift', 'preserving')
    """
    columns = columns_of(study)
    table, place = read_truth_file(source, columns)
    known = _known(study)
    held: dict[str, list[Row]] = {}
    judges: dict[str, str] = {}
    for row, values in enumerate(table[columns].astype(str).itertuples(index=False, name=None)):
        at = f"{place}:{row + 2}" if isinstance(source, Path) else f"{place}, row {row + 1}"
        cells = {name: cell for name, cell in zip(columns, values, strict=True) if cell}
        parameter, text = cells.pop("parameter", ""), cells.pop("value", "")
        if parameter not in PARAMETERS:
            raise InputError(f"{at}: parameter: {suggestion(parameter, PARAMETERS)}")
        _check_cells(at, parameter, cells, known)
        value = _number(at, parameter, text)
        if "judge" in cells and judges.setdefault(cells["judge"], cells["judge_kind"]) != cells["judge_kind"]:
            raise InputError(f"{at}: {cells['judge']} is of two kinds; give every judge one judge_kind.")
        rows = held.setdefault(parameter, [])
        if any(earlier == cells for earlier, _ in rows):
            raise InputError(f"{at}: {parameter} is given twice for the same cells; keep one row.")
        rows.append((cells, value))
    truth = LabelTruth(
        {name: tuple(rows) for name, rows in held.items()},
        judges,
        tuple(stratum.id for stratum in study.strata),
        tuple(dict.fromkeys(cells["condition"] for cells, _ in held.get("effect", ()))),
    )
    _check_whole(place, truth)
    return truth


def _known(study: ItemStudy) -> dict[str, list[str]]:
    tasks = list(study.label_sets)
    answers = [label.id for response in study.label_sets.values() for label in response.labels]
    gold = [level for task in tasks for level in study.gold_labels(task)]
    return {
        "judge": [judge.id for judge in study.judges],
        "judge_kind": list(JUDGE_KINDS),
        "task": tasks,
        "gold": gold,
        "label": [*answers, *gold],
        **{stratum.id: [level.id for level in stratum.levels] for stratum in study.strata},
    }


def _check_cells(at: str, parameter: str, cells: Mapping[str, str], known: Mapping[str, list[str]]) -> None:
    rule = PARAMETERS[parameter]
    fixed = (*rule.allowed, *rule.needed)
    for name, cell in cells.items():
        kind = name if name in ("judge", "judge_kind", "task", "condition", "gold", "label") else "strata"
        if kind not in fixed:
            raise InputError(f"{at}: {parameter} has no {name}; leave the cell empty.")
        if name == "condition":
            continue
        names = list(STATUSES[1:]) if (parameter, name) == ("missing", "label") else known[name]
        if cell not in names:
            raise InputError(f"{at}: {name} '{cell}' is not known{did_you_mean(cell, names)}.")
    if "judge" in cells and "judge_kind" not in cells:
        raise InputError(f"{at}: say in judge_kind whether {cells['judge']} is human or model.")
    for name in rule.needed:
        if name not in cells:
            raise InputError(f"{at}: {parameter} needs a {name}; fill it in.")


def _number(at: str, parameter: str, text: str) -> float:
    rule = PARAMETERS[parameter]
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not rule.lowest <= value <= rule.highest:
        raise InputError(
            f"{at}: {parameter} is '{text}'; give a number from {rule.lowest:g} to {rule.highest:g}."
        )
    return value


def _check_whole(place: str, truth: LabelTruth) -> None:
    for name in ("items", "gold"):
        if not truth.rows.get(name):
            raise InputError(f"{place}: there is no row with the parameter {name}; add what is judged.")
    for cells, _ in truth.rows["items"]:
        if set(cells) != set(truth.strata):
            raise InputError(f"{place}: rows of items need {listed(truth.strata)}; fill them in.")
    panels = [judge for judge, kind in truth.judges.items() if kind == HUMAN]
    if len(panels) > 1:
        raise InputError(f"{place}: there are {len(panels)} panels of people; give the parameters of one.")
    if not truth.judges:
        raise InputError(f"{place}: no row names a judge; give the accuracy of one at least.")
