"""Published numbers and ours, joined by the keys that a layout names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.files import PUBLISHED
from conjury.inference.tables.reading import read

from ...figures.labels import LabelKey
from ...frames.reported_intervals import reported
from ..report_data import ReportData
from .exhibit_layouts import Columns, PaperLayout, PaperNumbers, Significance

EQUAL, ROUNDING, DIFFERENT, ALONE = "equal", "within rounding", "different", "not compared"
VERDICTS = (EQUAL, ROUNDING, DIFFERENT, ALONE)
SERIES = "series"
SLACK = 1e-9  # of binary fractions
Place = tuple[str, ...]  # values of keys and the quantity


@dataclass(frozen=True)
class CellNumber:
    """A number of the paper and ours; missing ones are NaN."""

    printed: float = np.nan
    ours: float = np.nan
    corrected: float = np.nan  # where a known error of the publication is corrected
    step: float = 0.0  # one unit of the last published digit
    accuracy: float = 0.0  # of numbers that were read off a figure

    @property
    def verdict(self) -> str:
        """Whether ours, rounded as published, is the published number."""
        if np.isnan(self.printed) or np.isnan(self.ours):
            return ALONE
        gap = abs(self.ours - self.printed)
        if gap <= self.step / 2 * (1 + SLACK) + SLACK:
            return EQUAL
        return ROUNDING if gap <= max(self.step, self.accuracy) * (1 + SLACK) + SLACK else DIFFERENT


@dataclass(frozen=True)
class JoinedNumbers:
    """All numbers of one kind, by place."""

    keys: tuple[str, ...]
    cells: Mapping[Place, CellNumber]
    has_printed: bool
    has_ours: bool
    results: Mapping[Place, str]  # names of the results that have ours

    def at(self, where: Mapping[str, str], quantity: str) -> CellNumber:
        """The number of a place; an empty one where there is none."""
        return self.cells.get((*(where[key] for key in self.keys), quantity), CellNumber())

    def values(self, where: Mapping[str, str], names: Sequence[str]) -> list[Place]:
        """Distinct values of some keys among the numbers of a part, ours first, in order of appearance."""
        positions = [self.keys.index(name) for name in names]
        fixed = {self.keys.index(key): value for key, value in where.items() if key in self.keys}
        return list(
            dict.fromkeys(
                tuple(place[position] for position in positions)
                for place in self.cells
                if all(place[position] == value for position, value in fixed.items())
            )
        )

    def frame(self, where: Mapping[str, str], source: str) -> pd.DataFrame:
        """Numbers of a part as a table, printed or ours: keys, and a column for each quantity."""
        rows: dict[Place, dict[str, Any]] = {}
        fixed = {self.keys.index(key): value for key, value in where.items()}
        for place, cell in self.cells.items():
            value = getattr(cell, source)
            if np.isnan(value) or any(place[position] != text for position, text in fixed.items()):
                continue
            row = rows.setdefault(place[:-1], dict(zip(self.keys, place[:-1], strict=True)))
            row[place[-1]] = value
        return pd.DataFrame(list(rows.values()))


def join_numbers(
    source: PaperNumbers, published: Path | None, report: ReportData | None, labels: Mapping[LabelKey, str]
) -> JoinedNumbers:
    """Read the published numbers and ours of one kind, and join them."""
    keys = (*source.keys, *((SERIES,) if source.series else ()))
    printed, steps = _printed(source, keys, published, labels)
    ours: dict[Place, float] = {}
    corrected: dict[Place, float] = {}
    results: dict[Place, str] = {}
    for columns in source.ours:
        if report is None or columns.result is None or not report.has(columns.result):
            continue
        frame = our_frame(report, columns.result)
        numbers = _numbers(frame, columns, source, keys, labels)
        target = corrected if columns.corrected else ours
        for place, value in numbers.items():
            target.setdefault(place, value)
            results.setdefault(place, columns.result)
    cells = {
        place: CellNumber(
            printed.get(place, np.nan),
            ours.get(place, np.nan),
            _unless_equal(corrected.get(place, np.nan), ours.get(place, np.nan)),
            steps.get(place, 0.0),
            source.accuracy,
        )
        for place in dict.fromkeys([*ours, *printed])
    }
    return JoinedNumbers(keys, cells, bool(printed), bool(ours), results)


def _unless_equal(value: float, estimate: float) -> float:
    return np.nan if value == estimate else value


def our_frame(report: ReportData, name: str) -> pd.DataFrame:
    """The table of a result with the intervals that the study reports."""
    record = next((entry for entry in report.results if entry.name == name), None)
    frame = report.table(name)
    return frame if record is None else reported(frame, record.settings)


def _printed(
    source: PaperNumbers, keys: Sequence[str], folder: Path | None, labels: Mapping[LabelKey, str]
) -> tuple[dict[Place, float], dict[Place, float]]:
    """Published numbers, and one unit of the last digit of each."""
    columns = source.published
    if columns is None:
        return {}, {}
    path = published_file(columns.files, folder)
    if path is None:
        return {}, {}
    table = read(path, typed=False).frame.fillna("")
    texts = _texts(table, columns, source, keys, labels, str(path), is_unique=True)
    numbers, steps = {}, {}
    for place, (text, scale) in texts.items():
        try:
            numbers[place] = _as_number(text) * scale
        except ValueError:
            raise InputError(
                f"{path}: '{text}' of {', '.join(place)} is not a number; correct it, or empty the cell."
            ) from None
        decimals = len(text.partition(".")[2])
        steps[place] = scale * 10.0**-decimals
    return numbers, steps


def published_file(names: Sequence[str], folder: Path | None) -> Path | None:
    """The first file of these names: in the folder that the user names, else among those that ship."""
    places = [PUBLISHED] if folder is None else [folder]
    paths = [place / f"{name}.csv" for place in places for name in names]
    return next((path for path in paths if path.is_file()), None)


def check_published(layout: PaperLayout, folder: Path | None) -> None:
    """Refuse a folder without any file of published numbers of the paper."""
    names = [
        name for source in layout.numbers.values() if source.published for name in source.published.files
    ]
    if folder is None:
        return
    if not folder.is_dir():
        raise InputError(f"--published {folder}: there is no such folder.")
    if published_file(names, folder) is None:
        files = [f"{name}.csv" for name in names]
        raise InputError(
            f"--published {folder} has no published numbers of {layout.study}; put one of {listed(files)} "
            "there."
        )


def _as_number(text: str) -> float:
    return {"True": 1.0, "False": 0.0}.get(text, np.nan) if text in ("True", "False") else float(text)


def _numbers(
    frame: pd.DataFrame,
    columns: Columns,
    source: PaperNumbers,
    keys: Sequence[str],
    labels: Mapping[LabelKey, str],
) -> dict[Place, float]:
    """Our numbers by place."""
    texts = _texts(frame, columns, source, keys, labels, str(columns.result))
    return {place: float(value) * scale for place, (value, scale) in texts.items()}


def _texts(
    table: pd.DataFrame,
    columns: Columns,
    source: PaperNumbers,
    keys: Sequence[str],
    labels: Mapping[LabelKey, str],
    what: str,
    is_unique: bool = False,
) -> dict[Place, tuple[Any, float]]:
    """Values by place, each with the factor that makes it a share."""
    table = select_rows(table.reset_index(drop=True).rename(columns=columns.rename), columns.where)
    table = table.assign(**columns.set)
    for column_name in columns.labelled:
        if column_name in table:
            kind = f"{column_name}s"
            table[column_name] = [labels.get((kind, str(value)), str(value)) for value in table[column_name]]
    for name, renamed in columns.values.items():
        if name in table:
            table[name] = [renamed.get(str(value), str(value)) for value in table[name]]
    if source.series:
        table = _in_series(table, source.series, labels)
    lacking = [key for key in keys if key not in table]
    if lacking:
        raise InputError(
            f"{what} has no column {listed(lacking)}; it has {listed(map(str, table.columns), 20)}. Name the "
            "column that contains it in the layout (rename), or its value (set)."
        )
    percent = _is_percent(table, columns.percent)
    places = list(zip(*(table[key].astype(str) for key in keys), strict=True))
    result: dict[Place, tuple[Any, float]] = {}
    for quantity, column in columns.quantities.items():
        if isinstance(column, Significance):
            values: Iterable[Any] = (
                (table[column.column].astype(float) < column.below)
                .astype(float)
                .where(table[column.column].notna())
                if column.column in table
                else ()
            )
        else:
            values = table.get(column, ())
        for place, value, is_percent in zip(places, values, percent, strict=False):
            if value == "" or pd.isna(value):
                continue
            number = (value, 0.01 if is_percent else 1.0)
            first = result.setdefault((*place, quantity), number)
            if is_unique and first != number:
                raise InputError(
                    f"{what} has two numbers of {', '.join((*place, quantity))}: {first[0]} and {value}; "
                    "keep one of them."
                )
    return result


def select_rows(table: pd.DataFrame, where: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Rows whose columns have one of some values; a column that is absent stands for no value."""
    for name, values in where.items():
        texts = table[name].astype("string").fillna("") if name in table else pd.Series("", index=table.index)
        table = table[_fits(texts, values)]
    return table


def _fits(texts: pd.Series[str], values: Sequence[str]) -> pd.Series[bool]:
    """Whether texts are among values, of which `!value` excludes one."""
    refused = [value[1:] for value in values if value.startswith("!")]
    accepted = [value for value in values if not value.startswith("!")]
    fits = ~texts.isin(refused)
    return fits & texts.isin(accepted) if accepted else fits


def _is_percent(table: pd.DataFrame, percent: bool | Mapping[str, Sequence[str]]) -> list[bool]:
    if isinstance(percent, bool):
        return [percent] * len(table)
    return list(table.index.isin(select_rows(table, percent).index))


def _in_series(
    table: pd.DataFrame, series: Mapping[str, Mapping[str, Sequence[str]]], labels: Mapping[LabelKey, str]
) -> pd.DataFrame:
    """Name the series of each row, with its judge unless the series has only one; exclude rows of none."""
    rows = pd.Series(pd.NA, index=table.index, dtype="string")
    for name, where in series.items():
        index = select_rows(table[rows.isna()], where).index
        rows.loc[index] = name
    table = table.assign(**{SERIES: rows})[rows.notna()]
    if "judge" not in table:
        return table
    of_several = table.groupby(SERIES)["judge"].nunique() > 1
    named = [
        f"{labels.get(('judges', str(judge)), judge)}, {text}"
        if of_several[text] or _is_open(series[text])
        else text
        for judge, text in zip(table["judge"], table[SERIES], strict=True)
    ]
    order = [
        name for text in series for name in dict.fromkeys(named) if name == text or name.endswith(f", {text}")
    ]
    place = pd.Series(named, index=table.index).map(order.index)
    return table.assign(**{SERIES: named}, _place=place).sort_values("_place", kind="stable")


def _is_open(where: Mapping[str, Sequence[str]]) -> bool:
    """Whether a series takes any judge, but for some that are excluded."""
    return all(name.startswith("!") for name in where.get("judge", ()))
