"""Truth tables: one parameter of a simulated judge per row, checked against the rule of the parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError, Problems, did_you_mean, listed
from ..study.models import AnyStudy
from ..study.study_yaml import suggestion
from ..tables.contained_paths import require_inside
from ..tables.files import load_text
from ..tables.schema import JUDGE_KINDS

HUMAN, MODEL = JUDGE_KINDS
EVERYWHERE = ("judge", "judge_kind")

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Values = dict[str, dict[tuple[str, str], float]]


@dataclass(frozen=True)
class ParameterRule:
    """What rows of a parameter may contain."""

    # lowest, highest: Range of the value.
    lowest: float
    highest: float
    # kind of judge that has the parameter; empty for both
    kind: str = ""
    # needed, allowed: Columns that have to be, and that may be, filled in.
    needed: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    @property
    def numbers(self) -> str:
        """The range in words."""
        if math.isfinite(self.highest):
            return f"a number from {self.lowest:g} to {self.highest:g}"
        return "a finite number" + (f" of at least {self.lowest:g}" if math.isfinite(self.lowest) else "")


@dataclass(frozen=True)
class TruthRow:
    """A parameter, the cells that are filled in with it, and its value; ``at`` is its place for errors."""

    at: str
    parameter: str
    cells: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class TruthTable:
    """Checked rows, what errors call the table, and the kind of each judge in order of appearance."""

    rows: tuple[TruthRow, ...]
    place: str
    kinds: Mapping[str, str]

    def values(self, group: Sequence[str], key: tuple[str, str]) -> dict[tuple[str, ...], Values]:
        """Values by the cells of ``group``, the parameter and the cells of ``key``; empty cells are ""."""
        values: dict[tuple[str, ...], Values] = {}
        for row in self.rows:
            group_values = values.setdefault(tuple(row.cells.get(name, "") for name in group), {})
            first, second = (row.cells.get(name, "") for name in key)
            group_values.setdefault(row.parameter, {})[first, second] = row.value
        return values


def read_rows(
    source: Path | pd.DataFrame,
    columns: Sequence[str],
    rules: Mapping[str, ParameterRule],
    choices: Mapping[str, Collection[str]],
    everywhere: Sequence[str] = EVERYWHERE,
    check: Callable[[TruthRow], None] | None = None,
) -> TruthTable:
    """Read a truth table and check every row, by `check` as well; all that is wrong is raised at once."""
    # `choices` has the names that a column may contain, under `PARAMETER.COLUMN` for one parameter's rows;
    # columns without an entry may contain any text.
    table, place = read_truth_file(source, columns)
    rows: list[TruthRow] = []
    kinds: dict[str, str] = {}
    keys: set[tuple[str, ...]] = set()
    problems = Problems()
    for number, values in enumerate(table[list(columns)].astype(str).itertuples(index=False, name=None)):
        at = f"{place}:{number + 2}" if isinstance(source, Path) else f"{place}, row {number + 1}"
        cells = {name: cell for name, cell in zip(columns, values, strict=True) if cell}
        with problems.also():
            parameter, text = cells.pop("parameter", ""), cells.pop("value", "")
            if parameter not in rules:
                raise InputError(f"{at}: column 'parameter': {suggestion(parameter, rules)}")
            rule = rules[parameter]
            _check_cells(at, parameter, rule, cells, choices, everywhere)
            _check_kind(at, parameter, rule, cells, kinds)
            value = _number(at, parameter, rule, text)
            key = (parameter, *(cells.get(name, "") for name in columns))
            if key in keys:
                scope = " ".join(cells.values()) or "everything"
                raise InputError(f"{at}: {parameter} is given twice for {scope}; keep one row.")
            keys.add(key)
            row = TruthRow(at, parameter, cells, value)
            if check is not None:
                check(row)
            rows.append(row)
    problems.refuse()
    return TruthTable(tuple(rows), place, kinds)


def _check_cells(
    at: str,
    parameter: str,
    rule: ParameterRule,
    cells: Mapping[str, str],
    choices: Mapping[str, Collection[str]],
    everywhere: Sequence[str],
) -> None:
    needed = (*(name for name in EVERYWHERE if name in everywhere), *rule.needed)
    names = {name: choices.get(f"{parameter}.{name}", choices.get(name)) for name in (*cells, *needed)}
    for name, cell in cells.items():
        if name not in (*everywhere, *rule.needed, *rule.allowed):
            raise InputError(f"{at}: {parameter} has no {name}; leave it empty.")
        allowed = names[name]
        if allowed is not None and cell not in allowed:
            raise InputError(f"{at}: column '{name}': {suggestion(cell, allowed)}")
    for name in needed:
        if name not in cells:
            choice = names[name]
            remedy = f"write one of {listed(choice)}" if choice else "fill it in"
            raise InputError(f"{at}: {parameter} needs a {name}; {remedy}.")


def _check_kind(
    at: str, parameter: str, rule: ParameterRule, cells: Mapping[str, str], kinds: dict[str, str]
) -> None:
    kind, judge = cells.get("judge_kind", ""), cells.get("judge")
    if (kind or judge) and kind not in JUDGE_KINDS:
        raise InputError(f"{at}: column 'judge_kind' contains '{kind}'; write human or model.")
    earlier = kinds.setdefault(judge, kind) if judge else kind
    if judge and earlier != kind:
        kinds[judge] = kind  # so that further rows are not refused for the same reason
        raise InputError(f"{at}: {judge} is a {earlier} in an earlier row; write one judge_kind.")
    if rule.kind and kind and rule.kind != kind:
        raise InputError(f"{at}: {parameter} belongs to a {rule.kind}, not to a {kind}; remove the row.")


def _number(at: str, parameter: str, rule: ParameterRule, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and rule.lowest <= value <= rule.highest):
        raise InputError(f"{at}: column 'value' of {parameter} contains '{text}'; give {rule.numbers}.")
    return value


def one_panel(place: str, kinds: Mapping[str, str]) -> str | None:
    """Return the panel of people; None where there is none, InputError where there are several."""
    panels = [judge for judge, kind in kinds.items() if kind == HUMAN]
    if len(panels) > 1:
        raise InputError(f"{place}: there are {len(panels)} panels of people; give the parameters of one.")
    return panels[0] if panels else None


def read_truth_file(source: Path | pd.DataFrame, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Read a truth table with the columns named, and say what errors call it."""
    # Empty cells are empty text.
    if isinstance(source, pd.DataFrame):
        table, place = source.fillna({name: "" for name in columns if name in source}), "truth table"
    else:
        place = str(source)
        table = load_text(source).fillna("").astype(str)
    for name in columns:
        if name not in table:
            raise InputError(f"{place}: column '{name}' is missing; add it.")
    return table, place


def truth_path(study: AnyStudy, file: str, what: str, columns: Sequence[str]) -> Path:
    """Return the path of a study's truth table; InputError where there is none to draw ``what`` from."""
    path = study.folder / file
    if not path.is_file():
        raise InputError(
            f"Study {study.name!r} has no truth table, so its {what} cannot be simulated; write the "
            f"parameters of its judges to {file} next to the study file, with the columns "
            f"{', '.join(columns)}."
        )
    return require_inside(path, study.folder)


def selected_judges(all_judges: Collection[str], judges: Sequence[str] | None) -> list[str]:
    """Return the judges of a truth table that are asked for, in its order; by default all of them."""
    for name in judges or ():
        if name not in all_judges:
            raise InputError(
                f"Answers of judge '{name}' cannot be simulated, since the truth table of the study has no "
                f"effects of it{did_you_mean(name, all_judges)}; name {listed(all_judges)}, or add its rows."
            )
    if judges is not None and not judges:
        raise InputError(f"No judge is named; name some of {', '.join(all_judges)}.")
    return [name for name in all_judges if judges is None or name in judges]


def require_samples(samples: int) -> None:
    """Refuse to ask models less than once."""
    if samples < 1:
        raise InputError(f"The number of samples is {samples}; ask each model at least once.")


def share_out(counts: Sequence[int], size: int | None, what: str = "items") -> list[int]:
    """Share a number of items out in proportion to counts, by largest remainders; None keeps the counts."""
    if size is None:
        return list(counts)
    if size < 1:
        raise InputError(f"The number of {what} is {size}; ask for at least one.")
    total = sum(counts)
    shares = [size * count // total for count in counts]
    by_remainder = sorted(range(len(counts)), key=lambda at: -(size * counts[at] % total))
    for at in by_remainder[: size - sum(shares)]:
        shares[at] += 1
    return shares
