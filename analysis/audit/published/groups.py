"""Groups of published numbers, taken from tables as their description says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conjury.inference.errors import InputError, did_you_mean, listed

from ..arithmetic.findings import Group
from ..arithmetic.numbers import Printed
from .cell_text import CellPart, is_missing, parts_of
from .description import Filter, GroupDescription, Number, Setting, is_setting
from .table_grid import Table

OTHER = "other"
_FIELD = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class NumberSource:
    """Where a published number stands: table of the file (from 0), row (from 0), column, part of the cell."""

    table: int
    row: int
    column: str
    part: CellPart


@dataclass(frozen=True)
class NumberSelection:
    """A group for a check: its kind in words, places of its numbers, the same under other definitions."""

    name: str
    group: Group
    sources: Mapping[str, NumberSource]
    alternatives: Mapping[str, Group]


@dataclass(frozen=True)
class FilePlace:
    """Where a sentence about a file and its description points to."""

    file: Path
    description: Path | None

    def error(self, sentence: str) -> InputError:
        """An error that names the description, or the table where there is none."""
        return InputError(f"{self.description or self.file}: {sentence}")


def groups_of(
    tables: Sequence[Table], described: GroupDescription, place: FilePlace
) -> Iterator[NumberSelection]:
    """Every group that a description defines, in the order of the table."""
    chosen = _tables(tables, described, place)
    _refuse_unknown_values([tables[at] for at in chosen], described, place)
    for at in chosen:
        table = tables[at]
        index = {column: position for position, column in enumerate(table.columns)}
        rows = _fill_down(table, [index[name] for name in described.by or ()])
        members: dict[tuple[str, ...], list[int]] = {}
        for number, row in enumerate(rows):
            if _matches(row, index, described.rows):
                key = (str(number),) if described.by is None else tuple(row[index[n]] for n in described.by)
                members.setdefault(key, []).append(number)
        where = _Rows(at, table, rows, index, place)
        for key, numbers in members.items():
            name = _in_words(described, key, table, numbers[0])
            yield where.taken(described, numbers, name)


def columns_of(described: GroupDescription) -> list[str]:
    """All columns that a description of groups names."""
    names = [*(described.by or ()), *described.rows]
    for role, number in described.numbers.items():
        names += [*number.column, *number.where, *(f for f in _FIELD.findall(role) if f != "column")]
    for value in [
        v for settings in (described.settings, *described.alternatives.values()) for v in settings.values()
    ]:
        if is_setting(value):
            setting = Setting.model_validate(value)
            names += [*([setting.column] if setting.column else []), *setting.where, *setting.by]
    return list(dict.fromkeys(names))


def _tables(tables: Sequence[Table], described: GroupDescription, place: FilePlace) -> list[int]:
    """Positions of the tables that a description is about."""
    if described.tables:
        beyond = [number for number in described.tables if number > len(tables)]
        if beyond:
            raise place.error(f"there is no table {beyond[0]} in {place.file}, which has {len(tables)}.")
    chosen = [number - 1 for number in described.tables] or list(range(len(tables)))
    columns = columns_of(described)
    having = [at for at in chosen if set(columns) <= set(tables[at].columns)]
    if not having or (described.tables and len(having) < len(chosen)):
        at = next(at for at in chosen if at not in having)
        lacking = next(name for name in columns if name not in tables[at].columns)
        raise place.error(
            f"{place.file} has no column '{lacking}'{did_you_mean(lacking, tables[at].columns)}; its columns "
            f"are {listed(tables[at].columns, 20)}."
        )
    return having


def _refuse_unknown_values(tables: Sequence[Table], described: GroupDescription, place: FilePlace) -> None:
    """Refuse values of ``rows`` and ``where`` that no row has."""
    filters = [described.rows, *(number.where for number in described.numbers.values())]
    for column, values in (
        (column, values) for conditions in filters for column, values in conditions.items()
    ):
        cell_values = {row[table.columns.index(column)] for table in tables for row in table.rows}
        unknown = next((value for value in values if value not in cell_values), None)
        if unknown is not None:
            raise place.error(
                f"no row of {place.file} has '{unknown}' in the column '{column}'"
                f"{did_you_mean(unknown, cell_values)}; correct the description."
            )


def _fill_down(table: Table, columns: Sequence[int]) -> list[tuple[str, ...]]:
    """Rows in which an empty key repeats the one above, as tables are printed."""
    above = [""] * len(table.columns)
    rows = []
    for row in table.rows:
        cells = list(row)
        for at in columns:
            cells[at] = above[at] = cells[at] or above[at]
        rows.append(tuple(cells))
    return rows


def _matches(row: Sequence[str], index: Mapping[str, int], conditions: Filter) -> bool:
    return all(row[index[name]] in values for name, values in conditions.items())


def _in_words(described: GroupDescription, key: Sequence[str], table: Table, row: int) -> str:
    """A group in words: its keys, with the name of the column where a key is a number."""
    if described.by is None:
        texts = [cell for cell in table.rows[row] if cell and not parts_of(cell)]
        words = [", ".join(texts[:4]) or f"row {table.lines[row]}"]
    else:
        words = [
            f"{name} {value}" if parts_of(value) or not value else value
            for name, value in zip(described.by, key, strict=True)
        ]
    return ", ".join([*([described.name] if described.name else []), *words])


@dataclass(frozen=True)
class _Rows:
    """Rows of one table, with the empty keys filled."""

    at: int
    table: Table
    rows: Sequence[tuple[str, ...]]
    index: Mapping[str, int]
    place: FilePlace

    def taken(self, described: GroupDescription, members: Sequence[int], name: str) -> NumberSelection:
        """The group of some rows."""
        printed: dict[str, Printed] = {}
        sources: dict[str, NumberSource] = {}
        for role, number in described.numbers.items():
            for filled, source in self._cells(role, number, members):
                text = self._text(source)
                if is_missing(text) and source.part == "value":
                    continue
                if filled in sources:
                    first, second = (self.table.lines[s.row] for s in (sources[filled], source))
                    raise self.place.error(
                        f"{name or 'the group'} has two numbers for '{filled}' (rows {first} and {second}); "
                        "add a column to `by`, or choose rows with `where`."
                    )
                digits = parts_of(text).get(source.part)
                if digits is None and source.part != "value":
                    continue
                sources[filled] = source
                printed[filled] = self._printed(digits, number, source)
        group_settings = self._known(described.settings, members, name)
        alternatives = {
            alternative: Group(printed, group_settings | self._known(settings, members, name), name)
            for alternative, settings in described.alternatives.items()
        }
        return NumberSelection(described.name, Group(printed, group_settings, name), sources, alternatives)

    def _known(self, settings: Mapping[str, Any], members: Sequence[int], name: str) -> dict[str, Any]:
        values = {key: self._setting(key, value, members, name) for key, value in settings.items()}
        return {key: value for key, value in values.items() if value is not None}

    def _cells(self, role: str, number: Number, members: Sequence[int]) -> Iterator[tuple[str, NumberSource]]:
        for row in members:
            cells = self.rows[row]
            if not _matches(cells, self.index, number.where):
                continue
            for column in number.column:
                values = {
                    "column": column,
                    **{n: cells[self.index[n]] for n in _FIELD.findall(role) if n in self.index},
                }
                filled = _FIELD.sub(lambda match, values=values: values[match[1]], role)  # type: ignore[misc]
                yield filled, NumberSource(self.at, row, column, number.part)

    def _text(self, source: NumberSource) -> str:
        return self.table.rows[source.row][self.index[source.column]]

    def _printed(self, digits: str | None, number: Number, source: NumberSource) -> Printed:
        try:
            if digits is None:
                raise InputError(
                    f"{self._text(source)!r} is not a published number; write digits, or leave it empty "
                    "where it is missing."
                )
            return Printed.read(digits, percent=number.percent or digits.endswith("%"))
        except InputError as error:
            line = self.table.lines[source.row]
            raise InputError(f"{self.place.file}: row {line}, column '{source.column}': {error}") from None

    def _setting(self, name: str, value: Any, members: Sequence[int], place: str) -> Any:
        if not is_setting(value):
            return value
        setting = Setting.model_validate(value)
        rows = [self.rows[row] for row in members if _matches(self.rows[row], self.index, setting.where)]
        if setting.column is not None:
            texts = [row[self.index[setting.column]] for row in rows]
            values: list[Any] = list(dict.fromkeys(_part(text, setting) for text in texts))
        else:
            keys = dict.fromkeys(", ".join(row[self.index[n]] for n in setting.by) for row in rows)
            values = list(dict.fromkeys(_hashable(self._looked_up(name, setting, key)) for key in keys))
        if len(values) > 1:
            raise self.place.error(
                f"{place or 'a group'} has several values of the setting '{name}' ({listed(values, 3)}); "
                "add a column to `by`, or choose rows with `where`."
            )
        if not values:
            return None
        return values[0].value if isinstance(values[0], _TextKey) else values[0]

    def _looked_up(self, name: str, setting: Setting, key: str) -> Any:
        texts = {str(option): value for option, value in setting.values.items()}
        if key not in texts and OTHER not in texts:
            raise self.place.error(
                f"the setting '{name}' has no value for '{key}'; add one to values, or one for '{OTHER}'."
            )
        return texts.get(key, texts.get(OTHER))


@dataclass(frozen=True)
class _TextKey:
    """A value that may be a list, compared by its text."""

    text: str
    value: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TextKey) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def _hashable(value: Any) -> _TextKey:
    return _TextKey(repr(value), value)


def _part(text: str, setting: Setting) -> str:
    return text if setting.part == "text" else parts_of(text).get(setting.part, "")
