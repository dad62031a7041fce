"""What figures draw, and text that fits: measured, broken into lines, with room for panels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from .theme import PAGE_HEIGHT, Theme, column_width, installed_fonts, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Drawable(Protocol):
    """A result as figures know it; `conjury.analysis.results.Result` is one."""

    @property
    def kind(self) -> str:
        """Which analysis, and so which figure."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row per number."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was excluded or assumed."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was run."""

    @property
    def extra(self) -> Mapping[str, pd.DataFrame]:
        """Further tables of the same analysis, by name."""

    @property
    def real_judges(self) -> tuple[str, ...] | None:
        """Judges whose answers are real, where others are simulated; None where none are."""


def require_estimates(frame: pd.DataFrame, column: str = "estimate") -> None:
    """Refuse a table none of whose rows has an estimate."""
    if not frame[column].notna().any():
        raise InputError("There is nothing to draw: the table has no estimates.")


TEXT = 8.5
HEADING = 10.5
NARROW = 4.0  # inches of a figure whose axes have room for few numbers
LEGEND_ROW = 0.22
LEGEND_MARGIN = 0.7  # inches that marks and margins of a legend take
LINE = 1.2  # height of a line, in font sizes
LONGEST_LABEL = 2.6
LONGEST_COLUMN = 1.9
_PIECE = re.compile(r"(?:\([^()\s]{1,12}(?: [^()\s]{1,12}){0,2}\)[,;.:]?|[^\s/]*/(?=\S)|\S+?(?=/|\s|$)|/)\s*")
_WIDEST_LETTER = 1.1
_HANDLE, _GAP = 2.6, 1.4


def inches(text: str, size: float = TEXT, *, bold: bool = False) -> float:
    """Width of the longest line of a text."""
    return max(_width(line, size, bold) for line in text.split("\n"))


@lru_cache(maxsize=4096)
def _width(line: str, size: float, bold: bool) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=list(installed_fonts()), size=size, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(line, font, False)
    return float(width) / 72


def wrap(text: str, width: float, size: float = TEXT, *, bold: bool = False) -> str:
    """Break a text into as few lines as fit ``width`` inches, of about the same length."""
    # Lines break at spaces and behind slashes, behind hyphens only where a word alone is too long, and within
    # what is between them only where that is; a short remark in parentheses stays whole.
    return "\n".join(_wrap_line(line, width, size, bold) for line in text.split("\n"))


def _wrap_line(line: str, width: float, size: float, bold: bool) -> str:
    if len(line) * size * _WIDEST_LETTER / 72 <= width or _width(line, size, bold) <= width:
        return line
    pieces = [part for piece in _PIECE.findall(line) for part in _split_piece(piece, width, size, bold)]
    fewest = _fill(pieces, width, size, bold)
    longest = max(_width(piece.rstrip(), size, bold) for piece in pieces)
    shortest = max(longest, _width(line, size, bold) / len(fewest))
    widths = map(float, np.linspace(min(shortest, width), width, 8))  # of which the last is enough
    filled = (_fill(pieces, narrower, size, bold) for narrower in widths)
    return "\n".join(next(lines for lines in filled if len(lines) == len(fewest)))


def _split_piece(piece: str, width: float, size: float, bold: bool) -> list[str]:
    """A piece, or where it alone is wider than a line its words, and of these what fits a line."""
    parts: list[str] = []
    for word in [piece] if _width(piece.rstrip(), size, bold) <= width else re.findall(r"\S+\s*", piece):
        bare = word.rstrip()
        *lines, last = [bare] if _width(bare, size, bold) <= width else _split_word(bare, width, size, bold)
        parts += [*lines, last + word[len(bare) :]]
    return parts


def _split_word(word: str, width: float, size: float, bold: bool) -> list[str]:
    """Lines of a word that is too long for one, broken behind hyphens as far as that does."""
    parts = re.findall(r"[^-]*-|[^-]+", word)
    pieces = [
        piece for part in parts for piece in ([part] if _width(part, size, bold) <= width else list(part))
    ]
    return _fill(pieces, width, size, bold)


def _fill(pieces: Iterable[str], width: float, size: float, bold: bool) -> list[str]:
    lines, current = [], ""
    for piece in pieces:
        if current.strip() and _width((current + piece).rstrip(), size, bold) > width:
            lines.append(current.rstrip())
            current = piece.lstrip()
        else:
            current += piece
    return [*lines, current.rstrip()] if current.strip() else lines


def lines_high(text: str, size: float = TEXT) -> float:
    """Inches that the lines of a text take from top to bottom."""
    return (text.count("\n") + 1) * LINE * size / 72


def more_lines(text: str | None, size: float = TEXT) -> float:
    """Inches that a text takes beyond its first line."""
    return (text or "").count("\n") * LINE * size / 72


def heading(title: str | None, width: float) -> str | None:
    """Break the heading of a figure that is ``width`` inches wide."""
    return title and wrap(title, width - 0.3, HEADING, bold=True)


def legend_columns(names: Sequence[str], width: float, most: int) -> int:
    """Columns of a legend, at most ``most``, that stand side by side in ``width`` inches."""
    em = TEXT / 72
    for n_columns in range(min(len(names), most), 1, -1):
        columns = np.array_split(np.array(names, dtype=object), n_columns)
        widths = [max(inches(name) for name in column) + _HANDLE * em for column in columns]
        if sum(widths) + _GAP * em * (n_columns - 1) + 2 * em <= width:
            return n_columns
    return 1


@dataclass(frozen=True)
class ColumnLabels:
    """Labels below the columns of a grid."""

    texts: list[str]  # labels, broken into lines
    rotation: int  # degrees by which they are turned
    align: Literal["center", "right"]  # what stands below the middle of a column
    depth: float  # inches that labels on end reach down; 0 for others


def column_labels(names: Sequence[str], *, upright: bool, slant: int) -> ColumnLabels:
    """Set labels of columns upright, slanted, or, where one is long, on end in several lines."""
    if all(inches(name) <= LONGEST_COLUMN for name in names):
        return ColumnLabels(list(names), 0 if upright else slant, "center" if upright else "right", 0.0)
    texts = [wrap(name, LONGEST_COLUMN) for name in names]
    return ColumnLabels(texts, 90, "center", max(map(inches, texts)))


def room_above(title: str | None, width: float, legend: Sequence[str]) -> tuple[str | None, float, int]:
    """The heading in lines, the inches that it and a legend take, and the columns of the legend."""
    lines, names = heading(title, width), [wrap(name, width - LEGEND_MARGIN) for name in legend]
    columns = legend_columns(names, width, 5) if names else 1
    deep = LEGEND_ROW * -(-len(names) // columns) + sum(map(more_lines, names))
    return lines, (0.28 if lines else 0) + more_lines(lines, HEADING) + deep, columns


def add_legend(
    figure: Figure, handles: Sequence[Any], names: Sequence[str], columns: int, title: str | None, look: Theme
) -> None:
    """Put heading and legend above a figure."""
    if handles:
        room = figure.get_figwidth() - LEGEND_MARGIN
        legend = figure.legend(
            list(handles), [wrap(name, room) for name in names], loc="outside upper left", ncols=columns,
            frameon=False, handlelength=1.7, handletextpad=0.5, columnspacing=1.4, labelcolor=look.foreground,
            title=title, alignment="left",
            title_fontproperties={"weight": "bold", "size": HEADING},
        )  # fmt: skip
        legend.get_title().set_color(look.foreground)
    elif title:
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=HEADING)


def add_heading(figure: Figure, title: str | None, subtitle: str, look: Theme) -> None:
    """Write what was found, if that is said, and below it what it rests on, above all that is laid out."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = (float(edge) for edge in figure.get_size_inches())
    head, below = heading(title, width) or "", wrap(subtitle, width - 0.3, REFERENCE)
    deep = lines_high(head, HEADING) if head else 0.0
    total = height + 0.18 + deep + lines_high(below, REFERENCE)
    if not head and column_width() is not None and total > PAGE_HEIGHT:
        return  # what it rests on costs no figure of a journal its page
    figure.set_size_inches(width, total)
    engine, legend_height = figure.get_layout_engine(), 0.0
    for legend in figure.legends:  # one that is put somewhere has no room of its own in the layout
        legend.set_bbox_to_anchor((0, 0, 1, height / total), transform=figure.transFigure)
        legend_height = max(legend_height, legend.get_window_extent().height / figure.dpi + 0.08)
    if isinstance(engine, ConstrainedLayoutEngine):
        edge, bottom, wide, high = engine.get()["rect"]
        at = (bottom * height, high * height - legend_height)
        engine.set(rect=(edge, at[0] / total, wide, at[1] / total))
    edge = 0.09 / width
    figure.text(edge, 1 - 0.08 / total, head, va="top", fontweight="bold", fontsize=HEADING)
    figure.text(edge, 1 - (0.1 + deep) / total, below, va="top", fontsize=REFERENCE, color=look.muted)


PANEL_TITLE = 9.5
REFERENCE = 8  # points of what the rows of a panel are compared with


@dataclass(frozen=True)
class PanelLayout:
    """Texts of panels, broken into lines, and the room that they need."""

    texts: dict[str, dict[str, str]]  # tick label of each row of each panel
    titles: dict[str, str]  # heading of each panel
    rows: list[float]  # inches of each panel's rows
    heights: list[float]  # inches of these with the heading and axis
    columns: list[list[int]]  # panels of each column
    outdent: list[
        float
    ]  # inches by which a column's headings start left of the axes: 0, or its tick labels' width
    labels: list[float]  # inches of the widest tick label of each column
    width: float  # inches of the figure
    is_wrapped: bool  # whether any text takes more lines than one, or starts left of the axes

    @property
    def shares(self) -> list[float]:
        """Shares of the width of each column in which all axes are equally wide."""
        room = (self.width - sum(self.labels)) / len(self.labels)
        return [(label + room) / self.width for label in self.labels]

    @property
    def body(self) -> float:
        """Inches of the taller column."""
        return max(sum(self.heights[index] for index in column) for column in self.columns)


def arrange(
    panels: Sequence[str],
    names: Mapping[str, Mapping[str, str]],
    measure: Callable[[str, Mapping[str, str]], float],
    *,
    furniture: float,
    width: float,
    is_stacked: bool = False,
) -> PanelLayout:
    """Break tick labels and headings of panels into lines, in one column or, past a wide page, two."""
    # Panels that are stacked share the axis of the last one, and their headings start left of all labels.
    room = width
    for n_columns in (1, 2):
        room = (page_width() if n_columns == 2 else width) / n_columns
        texts = {
            panel: {row: wrap(text, min(LONGEST_LABEL, room / 2)) for row, text in names[panel].items()}
            for panel in panels
        }
        columns = split_into_columns(
            [measure(panel, texts[panel]) + furniture for panel in panels],
            PAGE_HEIGHT - 1 if is_stacked else PAGE_HEIGHT * 0.8,
        )
        if len(columns) == n_columns:
            break
    labels = [max(inches(text) for k in column for text in texts[panels[k]].values()) for column in columns]
    title_widths = [inches(panel, PANEL_TITLE, bold=True) for panel in panels]
    is_tight = is_stacked or any(
        title_widths[k] + labels[position] + 0.2 > room
        for position, column in enumerate(columns)
        for k in column
    )
    titles = {
        panel: wrap(panel, room - 0.2, PANEL_TITLE, bold=True) if is_tight else panel for panel in panels
    }
    is_wrapped = is_tight or any(texts[panel] != dict(names[panel]) for panel in panels)
    rows = [measure(panel, texts[panel]) for panel in panels]
    beyond = [more_lines(titles[panel], PANEL_TITLE) for panel in panels]
    return PanelLayout(
        texts=texts,
        titles=titles,
        rows=rows,
        heights=[row + furniture + more for row, more in zip(rows, beyond, strict=True)],
        columns=columns,
        labels=labels,
        outdent=[label_width if is_tight else 0.0 for label_width in labels],
        width=page_width() if len(columns) == 2 else width,
        is_wrapped=is_wrapped,
    )


def set_panel_title(axes: Axes, title: str, outdent: float, pad: float = 4) -> None:
    """Head a panel, ``outdent`` inches left of its axes."""
    from matplotlib.transforms import ScaledTranslation

    text = axes.set_title(title, loc="left", fontweight="bold", pad=pad)
    if outdent:
        scale = axes.figure.dpi_scale_trans
        text.set_transform(text.get_transform() + ScaledTranslation(-outdent, 0, scale))


def has_room_for(heading: str, reference: str) -> bool:
    """Whether a heading and its reference fit one line, where two columns stand side by side, too."""
    room = page_width() if page_width() < NARROW else page_width() / 2
    return inches(heading, PANEL_TITLE, bold=True) + inches(f"vs {reference}", REFERENCE) + 0.4 <= room


def add_reference(axes: Axes, heading: str, outdent: float, reference: str, look: Theme) -> None:
    """Write behind the heading of a panel what its rows are compared with."""
    start = inches(heading.split("\n")[-1], PANEL_TITLE, bold=True) + 0.13 - outdent
    axes.annotate(
        f"vs {reference}", (0, 1), (72 * start, 4), xycoords="axes fraction", textcoords="offset points",
        color=look.muted, fontsize=REFERENCE, annotation_clip=False,
    ).set_in_layout(False)  # fmt: skip


def split_into_columns(heights: list[float], tallest: float = PAGE_HEIGHT * 0.8) -> list[list[int]]:
    """Share panels between one or two columns, in reading order; two when one page is wide and too short."""
    if sum(heights) <= tallest or len(heights) == 1 or page_width() < NARROW:
        return [list(range(len(heights)))]
    total = np.cumsum(heights)
    cut = int(np.argmin([max(total[k], total[-1] - total[k]) for k in range(len(heights) - 1)])) + 1
    return [list(range(cut)), list(range(cut, len(heights)))]
