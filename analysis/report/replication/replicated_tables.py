"""Tables of a paper as it lays them out: published numbers, ours, and both with their difference."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import listed

from ...figures.labels import LabelKey, LevelLabels, words
from ..method_sentences import plain
from ..table_format import DIGITS, bold, number, styled_table
from .exhibit_layouts import ExhibitLayout, HeadedColumn, combinations
from .joined_numbers import ALONE, DIFFERENT, SERIES, CellNumber, JoinedNumbers

if TYPE_CHECKING:
    from great_tables import GT

    from ..report_data import ReportData

PUBLISHED, OURS, CORRECTED, DIFFERENCE = "Published", "Ours", "Corrected", "Difference"
SOURCES = {PUBLISHED: "printed", OURS: "ours", CORRECTED: "corrected"}
IN_PAPER, FURTHER = "In the paper", "Not in the paper"
SIMULATED = (
    "The answers{but} are simulated; simulated answers are no evidence about the judges of these names."
)


@dataclass(frozen=True)
class RowPlace:
    """A row of a table: the group that it belongs to, its label, and the values of its keys."""

    group: str
    label: str
    where: Mapping[str, str]


@dataclass(frozen=True)
class NumberGrid:
    """An exhibit with its numbers: rows, columns, and what is known of each cell."""

    layout: ExhibitLayout
    numbers: JoinedNumbers
    rows: Sequence[RowPlace]
    columns: Sequence[HeadedColumn]
    ours: str = OURS  # what numbers are called that were not published
    simulated: str = ""  # the sentence that says so

    @property
    def quantities(self) -> list[str]:
        """The quantities of a cell, in the order of its text."""
        return [name for _, name, _, _ in string.Formatter().parse(self.layout.cell) if name]

    @property
    def has_limits(self) -> bool:
        """Whether cells print the limits of intervals, or a figure draws them."""
        return "lower" in self.quantities or self.layout.figure is not None

    def cell(self, row: RowPlace, column: HeadedColumn, quantity: str) -> CellNumber:
        """The number of a place."""
        return self.numbers.at({**self.layout.where, **row.where, **column.where}, quantity)

    def results(self) -> list[str]:
        """Names of the results that have numbers of the exhibit."""
        names: dict[str, None] = {}
        for row in self.rows:
            for column in self.columns:
                where = {**self.layout.where, **row.where, **column.where}
                for quantity in self.quantities:
                    name = self.numbers.results.get((*(where[key] for key in self.numbers.keys), quantity))
                    if name is not None:
                        names[name] = None
        return list(names)

    def compared(self) -> pd.DataFrame:
        """Every number that is published or ours: one row each, with the verdict and the reason."""
        rows = []
        for row in self.rows:
            for column in self.columns:
                where = {**self.layout.where, **row.where, **column.where}
                for quantity in self.quantities:
                    cell = self.cell(row, column, quantity)
                    if np.isnan(cell.printed) and np.isnan(cell.ours):
                        continue
                    rows.append(
                        {
                            "exhibit": self.layout.number,
                            "row": ": ".join(filter(None, (row.group, row.label))),
                            "column": ", ".join(filter(None, (column.span, column.label))),
                            "quantity": quantity,
                            "printed": cell.printed,
                            "ours": cell.ours,
                            "corrected": cell.corrected,
                            "difference": cell.ours - cell.printed,
                            "verdict": cell.verdict,
                            "reason": self.reason(cell, where),
                        }
                    )
        return pd.DataFrame(rows, columns=COLUMNS)

    def reason(self, cell: CellNumber, where: Mapping[str, str]) -> str:
        """Why a number is not equal to the published one; empty where none is known."""
        if cell.verdict == ALONE:
            return "There is no number of ours." if np.isnan(cell.ours) else "No number was published."
        if cell.verdict != DIFFERENT:
            return ""
        text = next(
            (
                reason.text
                for reason in self.layout.reasons
                if all(where.get(key) in values for key, values in reason.where.items())
                and (reason.within is None or abs(cell.ours - cell.printed) <= reason.within)
            ),
            "",
        )
        return " ".join(filter(None, (self.simulated, text)))


COLUMNS = [
    *("exhibit", "row", "column", "quantity", "printed", "ours", "corrected", "difference", "verdict"),
    "reason",
]


def lay_grid(
    layout: ExhibitLayout, numbers: JoinedNumbers, labels: Mapping[LabelKey, str], report: ReportData | None
) -> NumberGrid:
    """Find the rows and columns of an exhibit, with those of judges that are not in the paper."""
    columns = list(_columns(layout, numbers, labels))
    rows = list(_rows(layout, numbers, labels))
    return NumberGrid(layout, numbers, rows, columns, name_of_ours(report), simulation_sentence(report))


def name_of_ours(report: ReportData | None) -> str:
    """What numbers of results are called beside published ones."""
    is_simulated = report is not None and report.simulated and not report.real_judges
    return "Simulated" if is_simulated else OURS


def simulation_sentence(report: ReportData | None) -> str:
    """That answers are simulated, and whose are not; empty where none are."""
    if report is None or not report.simulated:
        return ""
    real = listed([plain(report.label("judges", name)) for name in report.real_judges])
    return SIMULATED.format(but=f" except those of {real}" if real else "")


def _columns(
    layout: ExhibitLayout, numbers: JoinedNumbers, labels: Mapping[LabelKey, str]
) -> Iterator[HeadedColumn]:
    if isinstance(layout.columns, list):
        yield from layout.columns
        return
    for where, texts in _values(layout.columns, layout, numbers, labels):
        names = list(texts.values())
        if layout.heading:
            yield HeadedColumn(label=layout.heading.format(**texts), where=where)
        else:
            label = names[-1] if names else "Estimate"
            yield HeadedColumn(label=label, span=", ".join(names[:-1]), where=where)


def _rows(
    layout: ExhibitLayout, numbers: JoinedNumbers, labels: Mapping[LabelKey, str]
) -> Iterator[RowPlace]:
    group_of = {value: name for name, values in layout.groups.items() for value in values}
    for where, texts in _values(layout.rows, layout, numbers, labels):
        last = list(where)[-1] if where else ""
        *heads, label = list(texts.values()) or [""]
        group = group_of.get(where[last], "") if layout.groups else ", ".join(heads)
        yield RowPlace(group, label, where)
    yield from _further_rows(layout, numbers, labels)


def _further_rows(
    layout: ExhibitLayout, numbers: JoinedNumbers, labels: Mapping[LabelKey, str]
) -> Iterator[RowPlace]:
    """Rows of judges that the layout does not name, as far as we have numbers of them."""
    listed = layout.rows.get("judge")
    if not isinstance(listed, dict) or list(layout.rows) != ["judge"]:
        return
    fixed = {key: value for key, value in layout.where.items() if key != "judge"}
    for (judge,) in numbers.values(fixed, ["judge"]):
        if judge not in listed and judge != "human":
            yield RowPlace(FURTHER, labels.get(("judges", judge), judge), {"judge": judge})


def _values(
    keys: Mapping[str, object],
    layout: ExhibitLayout,
    numbers: JoinedNumbers,
    labels: Mapping[LabelKey, str],
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Values of keys with their labels: those that are listed, or every combination that occurs."""
    listed = {key: values for key, values in keys.items() if isinstance(values, dict)}
    every = [key for key in keys if key not in listed]
    for first in combinations(listed):
        for values in numbers.values({**layout.where, **first}, every) if every else [()]:
            where = {**first, **dict(zip(every, values, strict=True))}
            where = {key: where[key] for key in keys}
            yield (
                where,
                {
                    key: listed[key][where[key]] if key in listed else _label(key, where, labels)
                    for key in keys
                },
            )


def _label(key: str, where: Mapping[str, str], labels: Mapping[LabelKey, str]) -> str:
    """The label of a value: of a level of its attribute, or of the column."""
    names = LevelLabels(labels)
    if key == SERIES:
        return where[key]
    if key == "feature":
        return names.feature(where[key])
    if key == "level" and "feature" in where:
        return names.level(where["feature"], where[key])
    if key == "judge":
        return labels.get(("judges", where[key]), words(where[key]))
    return names.level(key, where[key])


def as_published(grid: NumberGrid, source: str, note: str) -> GT:
    """The table in the shape of the paper, of one source of numbers."""
    best = _best_places(grid, source)
    rows = []
    for at, row in enumerate(grid.rows):
        texts = [
            _text(grid, row, column, source, frozenset(best.get((at, place), ())))
            for place, column in enumerate(grid.columns)
        ]
        if not any(texts) and (row.group == FURTHER or grid.layout.omit_empty):
            continue
        rows.append([row.group, row.label, *(text or grid.layout.missing for text in texts)])
    return _styled(grid, rows, note)


def side_by_side_rows(grid: NumberGrid, note: str) -> GT:
    """The same table with a row each for published numbers, ours, corrected ones, and the difference."""
    rows = []
    for row in grid.rows:
        label = row.label  # stands in the first line of a row
        for source in (PUBLISHED, OURS, CORRECTED, DIFFERENCE):
            texts = [
                _difference(grid, row, column) if source == DIFFERENCE else _text(grid, row, column, source)
                for column in grid.columns
            ]
            if any(texts):
                rows.append([row.group, label, grid.ours if source == OURS else source, *texts])
                label = ""
    return _styled(grid, rows, note, ["Number"])


def _styled(grid: NumberGrid, rows: Sequence[Sequence[str]], note: str, further: Sequence[str] = ()) -> GT:
    """Dress rows of texts; columns with the same heading under different ones are told apart."""
    head = grid.layout.head or "\N{NO-BREAK SPACE}"
    names = [f"{place}" for place in range(len(grid.columns))]
    frame = pd.DataFrame(rows, columns=["group", head, *further, *names])
    grouped = bool((frame["group"] != "").any())
    if (frame["group"] == FURTHER).any():
        frame["group"] = frame["group"].replace("", IN_PAPER)
    frame = frame if grouped else frame.drop(columns="group")
    n_left = 1 + len(further)
    table = styled_table(frame, groups="group" if grouped else None, note=note, n_left=n_left)
    for span in dict.fromkeys(column.span for column in grid.columns if column.span):
        inside = [name for name, column in zip(names, grid.columns, strict=True) if column.span == span]
        table = table.tab_spanner(span, columns=inside)
    labels = {name: column.label for name, column in zip(names, grid.columns, strict=True)}
    return table.cols_label(cases=labels)  # type: ignore[arg-type]


def _text(
    grid: NumberGrid,
    row: RowPlace,
    column: HeadedColumn,
    source: str,
    best: frozenset[str] = frozenset(),
) -> str:
    """The text of a cell; empty where its first quantity is missing."""
    layout = _of_column(grid.layout, column)
    scale = 100 if layout.percent else 1
    texts: dict[str, str] = {}
    for quantity in grid.quantities:
        cell = grid.cell(row, column, quantity)
        text = _number(getattr(cell, SOURCES[source]) * scale, _digits(layout, quantity, cell, source))
        texts[quantity] = bold(text) if quantity in best and text else text
    if not texts[grid.quantities[0]]:
        return ""
    if not all(texts.values()):  # limits of reference levels, say
        return texts[grid.quantities[0]]
    mark = ""
    if layout.stars is not None:
        mark = "*" * int(getattr(grid.cell(row, column, layout.stars), SOURCES[source]) == 1)
    return layout.cell.format(**texts) + mark


def _of_column(layout: ExhibitLayout, column: HeadedColumn) -> ExhibitLayout:
    """A layout with the digits and percent of a column."""
    changes = {name: value for name in ("digits", "percent") if (value := getattr(column, name)) is not None}
    return layout.model_copy(update=changes) if changes else layout


def _number(value: float, digits: int) -> str:
    """A number with its digits; a count has its thousands separated."""
    if digits or np.isnan(value):
        return number(value, digits)
    return f"{round(value):,}".replace("-", "\N{MINUS SIGN}")


def _digits(layout: ExhibitLayout, quantity: str, cell: CellNumber, source: str) -> int:
    """Digits of a number: those of the layout, but no more than were published of a published one."""
    digits = layout.digits if isinstance(layout.digits, int) else layout.digits.get(quantity, DIGITS)
    if source != PUBLISHED or not cell.step:
        return digits
    return min(digits, max(0, round(-math.log10(cell.step * (100 if layout.percent else 1)))))


def _difference(grid: NumberGrid, row: RowPlace, column: HeadedColumn) -> str:
    """Ours minus published, of each quantity that both have."""
    layout = _of_column(grid.layout, column)
    scale = 100 if layout.percent else 1
    texts = []
    for quantity in grid.quantities:
        cell = grid.cell(row, column, quantity)
        gap = cell.ours - cell.printed
        texts.append(_number(gap * scale, _digits(layout, quantity, cell, DIFFERENCE)))
    if not any(texts):
        return ""
    if not all(texts):
        return next(filter(None, texts))
    return grid.layout.cell.format(**dict(zip(grid.quantities, texts, strict=True)))


def _best_places(grid: NumberGrid, source: str) -> dict[tuple[int, int], set[str]]:
    """Row and column of the best numbers of each column, in each group of rows where the layout says so."""
    mark = grid.layout.mark
    if mark is None:
        return {}
    places: dict[tuple[int, int], set[str]] = {}
    value = partial(_rounded, grid, source=source, quantity=mark.of)
    groups = {row.group for row in grid.rows} if mark.among == "group" else {None}
    for place, column in enumerate(grid.columns):
        for group in groups:
            rows = [at for at, row in enumerate(grid.rows) if group is None or row.group == group]
            values = {at: value(grid.rows[at], column) for at in rows}
            present = [number for number in values.values() if not np.isnan(number)]
            if len(present) > 1:
                top = max(present) if mark.highest else min(present)
                for at in rows:
                    if values[at] == top:
                        places[at, place] = {mark.of}
    return places


def _rounded(grid: NumberGrid, row: RowPlace, column: HeadedColumn, source: str, quantity: str) -> float:
    """A number as it is printed, so that numbers that look the same are both the best."""
    value = getattr(grid.cell(row, column, quantity), SOURCES[source])
    layout = _of_column(grid.layout, column)
    scale = 100 if layout.percent else 1
    return float(np.round(value * scale, _digits(layout, quantity, CellNumber(), source)))
