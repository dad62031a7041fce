"""One look for every figure, in print and in pages: palette, markers, fonts, deterministic saving."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import InputError, unknown_name
from conjury.inference.tables.files import ROOT
from conjury.inference.tables.writing import note_written, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TWO_COLUMNS = 7.2
INCH = 25.4  # millimetres
SIZES = {"single": 85 / INCH, "double": 180 / INCH}  # inches of one and of two columns of a journal
SMALLEST = 7.0  # points of the smallest type that journals accept
PAGE_HEIGHT = 9.6
# Inter is installed with the package and DejaVu Sans with matplotlib, so that figures are the same on all
# machines; the last one, for Chinese characters, is used where it is installed.
FONT_FILES = ROOT / "data" / "fonts"
FONTS = ("Inter", "DejaVu Sans", "Noto Sans CJK JP")
MARKERS = ("o", "s", "^", "D", "v", "p", "h", "P", "X")  # none that points left or right
FORMATS = ("png", "svg", "pdf")
MARK_HEIGHT, MARK_EDGE = 0.17, 0.03  # inches below a figure for a mark, and beside it
PRINT_DPI, SCREEN_DPI = 300, 110
SAVED: Any = {
    "svg.hashsalt": "conjury",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
    "ps.fonttype": 42,
}


@dataclass(frozen=True)
class Theme:
    """Colours of one variant; ``palette`` is colour-blind safe (after Okabe and Ito)."""

    name: str
    background: str
    foreground: str
    muted: str
    grid: str
    band: str
    palette: tuple[str, ...]

    def color(self, position: int) -> str:
        """Colour of the series at ``position``."""
        return self.palette[position % len(self.palette)]

    def marker(self, position: int) -> str:
        """Marker of the series at ``position``; colour and marker together repeat after 63 series."""
        return MARKERS[position % len(MARKERS)]


LIGHT = Theme(
    name="light",
    background="#ffffff",
    foreground="#1b1f24",
    muted="#5c6670",
    grid="#dfe3e8",
    band="#f5f7f9",
    palette=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87a00", "#3a9bd9", "#4d4d4d"),
)
DARK = Theme(
    name="dark",
    background="#16191d",
    foreground="#e8eaed",
    muted="#a7b0ba",
    grid="#343a41",
    band="#1e2227",
    palette=("#56b4e9", "#ff8a3d", "#2ec99b", "#e59cc5", "#f0c040", "#8fa8ff", "#c4c9cf"),
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def theme_named(name: str) -> Theme:
    """Return the theme called ``name``, ``"light"`` or ``"dark"``; raise InputError for another name."""
    if name not in THEMES:
        raise unknown_name("figure theme", name, THEMES)
    return THEMES[name]


@cache
def installed_fonts() -> tuple[str, ...]:
    """Fonts of the figures that this machine has, the preferred one first."""
    from matplotlib import font_manager

    # Another file of the same font could be found instead, and of a variable one no bold can be drawn.
    manager = font_manager.fontManager
    manager.ttflist = [entry for entry in manager.ttflist if entry.name != FONTS[0]]
    for file in sorted(FONT_FILES.glob("*.ttf")):
        manager.addfont(file)
    font_names = set(font_manager.get_font_names())
    return tuple(font for font in FONTS if font in font_names) or ("sans-serif",)


_WIDTH: ContextVar[float | None] = ContextVar("width", default=None)


@contextmanager
def sized(size: str | None) -> Iterator[None]:
    """Draw figures inside at the width of one or two columns of a journal; None changes nothing."""
    if size is not None and size not in SIZES:
        raise unknown_name("figure size", size, SIZES)
    before = _WIDTH.set(SIZES[size] if size is not None else _WIDTH.get())
    try:
        yield
    finally:
        _WIDTH.reset(before)


def column_width() -> float | None:
    """Inches that figures must be wide, as `sized` asks; None where they choose their own width."""
    return _WIDTH.get()


def page_width() -> float:
    """Inches that a figure may be wide: a page with narrow margins, unless `sized` asks for another width."""
    return _WIDTH.get() or TWO_COLUMNS


@contextmanager
def styled(theme: Theme) -> Iterator[None]:
    """Draw in ``theme``: matplotlib's settings are changed inside the block only."""
    import matplotlib

    settings: Any = {
        "font.family": list(installed_fonts()),
        "font.size": 8.5,
        "axes.titlesize": 9.5,
        "axes.titley": 1.0,  # matplotlib else measures all ticks in each drawing, to move titles above them
        "axes.labelsize": 8.5,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8.5,
        "legend.fontsize": 8.5,
        "text.color": theme.foreground,
        "axes.labelcolor": theme.foreground,
        "axes.edgecolor": theme.muted,
        "axes.facecolor": theme.background,
        "figure.facecolor": theme.background,
        "savefig.facecolor": theme.background,
        "xtick.color": theme.foreground,
        "ytick.color": theme.foreground,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 0,
        "grid.color": theme.grid,
        "grid.linewidth": 0.6,
        "hatch.linewidth": 0.4,
        "axes.unicode_minus": True,
        "text.parse_math": False,
    }
    with matplotlib.rc_context(settings):
        yield


@contextmanager
def raised_titles() -> Iterator[None]:
    """Move titles of the axes that are drawn inside above what they would cover, such as ticks at the top."""
    import matplotlib

    with matplotlib.rc_context({"axes.titley": None}):
        yield


@cache
def _shown_figure_class() -> type[Figure]:
    """Class of figures that notebooks show, although pyplot, which shows others, does not know them."""
    import matplotlib
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that shows itself at the end of a cell, with texts as wide as they were measured."""

        def draw(self, renderer: Any) -> None:
            with matplotlib.rc_context({"text.hinting": "none"}):
                super().draw(renderer)

        def _repr_png_(self) -> bytes:
            picture = BytesIO()
            settle_layout(self)
            self.savefig(picture, format="png", dpi=SCREEN_DPI)
            return picture.getvalue()

    return ShownFigure


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, ``width`` x ``height`` inches, that lays itself out without overlaps."""
    # Inside `sized` the figure has the width that is asked for.
    return _shown_figure_class()(figsize=(column_width() or width, height), layout="constrained", dpi=200)


def save(figure: Figure, path_without_suffix: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a figure in each format, whole or not at all; the same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure to write.
    path_without_suffix : str or Path
        Where to write, without ``.png``, ``.svg`` or ``.pdf``; missing folders are made.
    formats : sequence of str
        Any of ``"png"``, ``"svg"``, ``"pdf"``.

    Returns
    -------
    list of Path
        The files, in the order of ``formats``.

    Raises
    ------
    InputError
        When a format is not one of the three.

    Examples
    --------
    >>> import tempfile
    >>> figure = new_figure(2, 1)
    >>> [path.name for path in save(figure, tempfile.mkdtemp() + "/empty", formats=("svg",))]
    ['empty.svg']
    """
    import matplotlib

    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise InputError(f"Figures cannot be saved as {unknown[0]!r}; use one of: {', '.join(FORMATS)}.")
    settle_layout(figure)
    base = Path(path_without_suffix)
    base.parent.mkdir(parents=True, exist_ok=True)
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    written = []
    for name in formats:
        target = base.with_name(f"{base.name}.{name}")
        handle, temporary = tempfile.mkstemp(dir=base.parent, prefix=f".{base.name}-", suffix=f".{name}")
        os.close(handle)
        try:
            with matplotlib.rc_context(SAVED):
                dots: Any = PRINT_DPI if name == "png" else "figure"
                figure.savefig(temporary, format=name, metadata=undated[name], dpi=dots)
            Path(temporary).chmod(0o644)
            os.replace(temporary, target)
            note_written([target])
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        written.append(target)
    return written


def save_variants(figure: Figure, path_without_suffix: str | Path) -> dict[str, Path]:
    """Write a figure drawn in the light theme as SVG in every theme: ``NAME-light.svg``, ``NAME-dark.svg``.

    Colours of the light theme are exchanged for those of the other in the finished drawing, which
    is what drawing it in that theme gives, at half the time.

    Parameters
    ----------
    figure : Figure
        A figure drawn in the light theme.
    path_without_suffix : str or Path
        Folder and first part of the names of the files.

    Returns
    -------
    dict of str to Path
        Paths of the files by name of the theme.

    Examples
    --------
    >>> import tempfile
    >>> with styled(LIGHT):
    ...     figure = new_figure(2, 1)
    >>> [path.name for path in save_variants(figure, tempfile.mkdtemp() + "/empty").values()]
    ['empty-light.svg', 'empty-dark.svg']
    """
    base = Path(path_without_suffix)
    (light,) = save(figure, base.with_name(f"{base.name}-{LIGHT.name}"), formats=("svg",))
    svg = light.read_text(encoding="utf-8")
    written = {LIGHT.name: light}
    for theme in (theme for theme in THEMES.values() if theme is not LIGHT):
        exchanged = dict(zip(colors_of(LIGHT), colors_of(theme), strict=True))
        text = re.sub("|".join(exchanged), partial(_replace_color, exchanged), svg)
        written[theme.name] = base.with_name(f"{base.name}-{theme.name}.svg")
        write_text(written[theme.name], text)
    return written


def _replace_color(colors: dict[str, str], match: re.Match[str]) -> str:
    return colors[match[0]]


def distinct_colors(places: Iterable[int]) -> list[int]:
    """Move places on until no two have one colour, as far as the palette goes."""
    colors, result = len(LIGHT.palette), list[int]()
    for place in places:
        occupied_colors = {position % colors for position in result}
        while place % colors in occupied_colors and len(occupied_colors) < colors:
            place += 1
        result.append(place)
    return result


def colors_of(theme: Theme) -> tuple[str, ...]:
    """All colours of a theme, in the same order for each."""
    return (theme.background, theme.foreground, theme.muted, theme.grid, theme.band, *theme.palette)


def add_mark(figure: Figure, words: str, theme: Theme) -> None:
    """Write words into the lower right corner of a figure, below everything that is laid out."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = (float(edge) for edge in figure.get_size_inches())
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        height += MARK_HEIGHT
        figure.set_size_inches(width, height)
        label: Any = getattr(figure, "_supxlabel", None)
        if label is None:
            engine.set(rect=(0, MARK_HEIGHT / height, 1, 1 - MARK_HEIGHT / height))
        else:  # it stays at the lower edge, whatever the engine is told
            label.set_text(f"{label.get_text()}\n ")
    place = (1 - MARK_EDGE / width, MARK_EDGE / height)
    figure.text(*place, words, ha="right", va="bottom", fontsize=7, color=theme.muted)


def settle_layout(figure: Figure) -> None:
    """Lay the figure out once, with rounded positions: the layout solver is exact only to rounding error."""
    import matplotlib

    if figure.axes and (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        for axes in figure.axes:
            axes.apply_aspect()
    with matplotlib.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)  # a figure with an engine, be it "none", is drawn twice for every file
    for axes in figure.axes:
        left_edge, bottom, width, height = (round(float(edge), 5) for edge in axes.get_position().bounds)
        axes.set_position((left_edge, bottom, width, height))
