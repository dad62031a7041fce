"""Figures of a paper, drawn from published numbers or ours by the figure of their kind of result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...figures import draw
from ...figures.figure_registry import FigureStyle
from ...figures.forest import forest
from ...figures.labels import LabelKey, words
from ...figures.theme import add_mark, styled, theme_named
from ...results import Result
from ..report_data import ReportData
from .exhibit_layouts import Drawing, ExhibitLayout
from .joined_numbers import select_rows
from .replicated_tables import OURS, PUBLISHED, SOURCES, NumberGrid, name_of_ours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIMITS = ("lower", "upper")
BESIDE = "Ours beside published"  # judges that are not in the paper, with those that are


@dataclass(frozen=True)
class ExhibitFigure:
    """A figure of an exhibit: the name of its file, whose numbers it shows, and how it is drawn."""

    name: str
    source: str
    draw: Callable[[], Figure]


def exhibit_figures(
    layout: ExhibitLayout,
    grid: NumberGrid | None,
    report: ReportData | None,
    labels: Mapping[LabelKey, str],
) -> Iterator[ExhibitFigure]:
    """Figures of published numbers and of ours, as far as there are any."""
    drawing = layout.figure
    if drawing is None:
        return
    if drawing.result is not None:
        if report is None or not report.has(drawing.result):
            return
        for values in product(*drawing.each.values()):
            options = drawing.options | dict(zip(drawing.each, values, strict=True))
            function = partial(_draw_result, drawing.model_copy(update={"options": options}), report, labels)
            name, source = (
                "_".join([layout.name, *values]),
                ", ".join([name_of_ours(report), *map(words, values)]),
            )
            yield ExhibitFigure(name, source, function)
        return
    if grid is None:
        return
    frames = {source: _frame(drawing, layout, grid, source) for source in (OURS, PUBLISHED)}
    names = {OURS: layout.name, PUBLISHED: f"{layout.name}_published", BESIDE: f"{layout.name}_added"}
    frames[BESIDE] = _beside("row" if drawing.kind is None else "judge", *frames.values())
    ours = "" if report is None else report.mark
    marks = {OURS: ours, BESIDE: ours and f"{ours}, but for published numbers"}
    for source, frame in frames.items():
        mark, title = marks.get(source, ""), grid.ours if source == OURS else source
        if len(frame) and drawing.kind is None:
            yield ExhibitFigure(names[source], title, partial(_draw_grid, layout, frame, mark))
        elif len(frame):
            yield ExhibitFigure(names[source], title, partial(_draw_numbers, drawing, frame, labels, mark))


def _frame(drawing: Drawing, layout: ExhibitLayout, grid: NumberGrid, source: str) -> pd.DataFrame:
    """The numbers that a figure shows, published or ours."""
    if drawing.kind is None:
        return grid_frame(grid, SOURCES[source])
    return _of_layout(grid.numbers.frame(layout.where, SOURCES[source]), layout)


def _beside(column: str, ours: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Published numbers, and below them ours of judges without any; no rows where there are none of both."""
    if ours.empty or printed.empty or column not in ours:
        return ours.iloc[:0]
    new = ours[~ours[column].isin(printed[column])]
    return pd.concat([printed, new], ignore_index=True) if len(new) else new


def grid_frame(grid: NumberGrid, source: str) -> pd.DataFrame:
    """The numbers of an exhibit by panel, row and series, as its rows and columns name them."""
    rows = []
    scale = 100 if grid.layout.percent else 1
    for row in grid.rows:
        for column in grid.columns:
            names = {"panel": column.span or row.group, "row": row.label, "series": column.label}
            values = {
                name: getattr(grid.cell(row, column, name), source) * scale
                for name in (grid.quantities[0], *LIMITS)
            }
            rows.append({**names, "estimate": values[grid.quantities[0]], **{k: values[k] for k in LIMITS}})
    frame = pd.DataFrame(rows)
    return frame[frame["estimate"].notna()].reset_index(drop=True)


def _draw_grid(layout: ExhibitLayout, frame: pd.DataFrame, mark: str) -> Figure:
    """Dots of the numbers: a panel for each heading, a row for each row of the table, series by column."""
    style = FigureStyle(theme_named("light"), {}, None)
    plot = forest(
        frame,
        panel=frame["panel"],
        row=frame["row"],
        series=frame["series"],
        xlabel=layout.caption.rstrip("."),
        what=layout.caption.rstrip("."),
    )
    with styled(style.look):
        figure = plot.draw(style)
        figure.set_label(plot.describe())
        if mark:
            add_mark(figure, mark, style.look)
        return figure


def _of_layout(frame: pd.DataFrame, layout: ExhibitLayout) -> pd.DataFrame:
    """The numbers that the rows and columns of an exhibit list, in their order."""
    columns = layout.columns if isinstance(layout.columns, dict) else {}
    for key, values in reversed({**columns, **layout.rows}.items()):
        if isinstance(values, dict) and key in frame:
            order = {value: place for place, value in enumerate(values)}
            frame = frame[frame[key].isin(list(order))]
            frame = frame.iloc[frame[key].map(order).argsort(kind="stable")]
    return frame.reset_index(drop=True)


def _draw_result(drawing: Drawing, report: ReportData, labels: Mapping[LabelKey, str]) -> Figure:
    record = next(entry for entry in report.results if entry.name == drawing.result)
    result = report.read(record)
    drawing = _with_new_judges(drawing, result.frame, labels)
    frame = select_rows(result.frame, drawing.where).reset_index(drop=True)
    part = Result(frame, result.kind, result.notes, result.settings, result.extra)
    return draw(part, labels=labels, part=drawing.part, mark=report.mark, **drawing.options)


def _with_new_judges(drawing: Drawing, frame: pd.DataFrame, labels: Mapping[LabelKey, str]) -> Drawing:
    """The drawing with judges that the study does not have, beside those that it names."""
    column = "group" if "group" in frame else "judge"
    names = frame[column].dropna().astype(str).unique() if column in frame else ()
    new = [name for name in names if ("judges", name) not in labels]
    where = {key: [*values, *new] if key == column else values for key, values in drawing.where.items()}
    options = {key: [*values, *new] if key == "judges" else values for key, values in drawing.options.items()}
    return drawing.model_copy(update={"where": where, "options": options})


def _draw_numbers(drawing: Drawing, frame: pd.DataFrame, labels: Mapping[LabelKey, str], mark: str) -> Figure:
    frame = frame.rename(columns=drawing.rename).assign(**drawing.set)
    frame = frame.assign(**{name: np.nan for name in LIMITS if name not in frame})
    options: dict[str, Any] = dict(drawing.options)
    if options.get("group") == "judge":
        names = {name: labels.get(("judges", name), words(name)) for name in frame["judge"].unique()}
        frame = frame.assign(judge=frame["judge"].map(names))
    return draw(Result(frame, str(drawing.kind)), labels=labels, mark=mark, **options)
