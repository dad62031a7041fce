"""What a figure draws, as text with numbers: a line for each thing that is seen; and stored texts of figures.

``CONJURY_SNAPSHOTS=write`` stores the texts anew; look at the figure and the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection, LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

FOLDER = Path(__file__).parents[1] / "fixtures" / "drawings"
LONG = 12  # of more numbers the ends, the extremes and the sum are written
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def describe(figure: Figure) -> str:
    """Describe all that is drawn, in the order of the figure; sizes in inches and points, places in data."""
    parts = [f"figure {_numbers(figure.get_size_inches())} {to_hex(figure.get_facecolor())}"]
    parts += [line for text in figure.texts for line in _text(text)]
    parts += [line for legend in figure.legends for line in _legend(legend)]
    parts += [line for axes in figure.axes for line in _axes(axes)]
    return "\n".join(parts) + "\n"


def check(name: str, text: str) -> None:
    """Compare a description with the stored one: words must be the same, numbers to three digits."""
    file = FOLDER / f"{name}.txt"
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    stored = file.read_text(encoding="utf-8").splitlines()
    drawn = text.splitlines()
    differing = [
        f"- {before}\n+ {now}" for before, now in zip(stored, drawn, strict=False) if not _same(before, now)
    ]
    assert not differing, f"{file.name} differs, see {__file__}:\n" + "\n".join(differing[:10])
    assert len(drawn) == len(stored), f"{file.name} has {len(stored)} lines, the figure {len(drawn)}"


def _same(before: str, now: str) -> bool:
    if before == now:
        return True
    if NUMBER.sub("#", before) != NUMBER.sub("#", now):
        return False
    then, today = ([float(n) for n in NUMBER.findall(line)] for line in (before, now))
    return bool(np.allclose(then, today, rtol=2e-3, atol=1e-6))


def _axes(axes: Axes) -> Iterator[str]:
    if not axes.get_visible():
        yield "hidden panel"
        return
    yield f"panel {_numbers(axes.get_position().bounds)} {to_hex(axes.get_facecolor())}"
    for side in ("left", "center", "right"):
        yield from _text(axes.get_title(loc=side) and _title(axes, side))
    yield from _axis("x", axes.xaxis)
    yield from _axis("y", axes.yaxis)
    seen = [name for name, spine in axes.spines.items() if spine.get_visible()]
    yield f"  spines {' '.join(seen)}"
    for artist in [*axes.lines, *axes.collections, *axes.patches, *axes.images, *axes.texts]:
        yield from _artist(artist)
    if (legend := axes.get_legend()) is not None:
        yield from _legend(legend)


def _title(axes: Axes, side: str) -> Any:
    return getattr(axes, {"left": "_left_title", "center": "title", "right": "_right_title"}[side])


def _axis(name: str, axis: Axis) -> Iterator[str]:
    yield f"  {name} {_numbers(axis.get_view_interval())} {axis.get_scale()}"
    yield from _text(axis.label)
    without_words = set[str]()
    for tick in axis.get_major_ticks() if axis.get_visible() else ():
        label = tick.label1
        shown = " ".join(label.get_text().split("\n")) if label.get_visible() else ""
        line = f"grid {_line(tick.gridline)}" if tick.gridline.get_visible() else ""
        mark = f"mark {tick.tick1line.get_markersize():.4g}" if tick.tick1line.get_visible() else ""
        if shown:
            style = f"{label.get_fontsize():.4g} {to_hex(label.get_color())}"
            yield f"    {_numbers([tick.get_loc()])} {shown!r} {style} {mark} {line}".rstrip()
        elif line or mark:
            without_words.add(f"    {mark} {line}".rstrip())
    yield from sorted(without_words)


def _artist(artist: Artist) -> Iterator[str]:
    if not artist.get_visible():
        return
    order = f"{artist.get_zorder():.4g}"
    if isinstance(artist, Text):
        yield from _text(artist)
    elif isinstance(artist, Line2D):
        x, y = (_numbers(values) for values in artist.get_data())
        yield f"  line {order} x {x} y {y} {_line(artist)}"
    elif isinstance(artist, Collection):
        yield f"  {type(artist).__name__} {order} {_collection(artist)}"
    elif isinstance(artist, Patch):
        corners = artist.get_path().transformed(artist.get_patch_transform()).vertices
        both = artist.get_facecolor(), artist.get_edgecolor()
        colors = " ".join(to_hex(color, keep_alpha=True) for color in both)
        yield (
            f"  {type(artist).__name__} {order} {_numbers(corners)} {colors}"
            f" width {artist.get_linewidth():.4g} hatch {artist.get_hatch()}"
        )
    elif isinstance(artist, AxesImage):
        yield f"  image {order} {_numbers(artist.get_extent())} {_numbers(np.asarray(artist.get_array()))}"


def _line(line: Line2D) -> str:
    style = f"{line.get_linestyle()} {_numbers(np.ravel(line._dash_pattern[1] or []))}"  # type: ignore[attr-defined]
    mark = ""
    if line.get_marker() not in ("None", None, ""):
        mark = f" marker {line.get_marker()} {line.get_markersize():.4g} {to_hex(line.get_markerfacecolor())}"
    alpha = "" if line.get_alpha() is None else f" alpha {line.get_alpha():.4g}"
    return f"{to_hex(line.get_color())} {line.get_linewidth():.4g} {style}{mark}{alpha}"


def _collection(drawn: Collection) -> str:
    if isinstance(drawn, LineCollection):
        places = [point for ends in drawn.get_segments() for point in ends]
    else:
        places = [*(path.vertices for path in drawn.get_paths()), np.asarray(drawn.get_offsets())]
        places = [point for part in places for point in part]
    colors = [*drawn.get_facecolor(), *drawn.get_edgecolor()]
    names = dict.fromkeys(to_hex(color, keep_alpha=True) for color in colors)
    widths = _numbers(np.unique(np.atleast_1d(drawn.get_linewidth())))
    return f"{_numbers(places)} {' '.join(names)} width {widths}"


def _legend(legend: Legend) -> Iterator[str]:
    yield f"  legend at {legend._loc} columns {legend._ncols}"  # type: ignore[attr-defined]
    yield from _text(legend.get_title())
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        yield from _text(text)
        yield from ("  " + line for line in _artist(handle))  # type: ignore[arg-type]


def _text(text: Any) -> Iterator[str]:
    if not text or not text.get_visible() or not text.get_text():
        return
    words = text.get_text().replace("\n", "\\n")
    style = f"{text.get_fontsize():.4g} {text.get_fontweight()} {to_hex(text.get_color())}"
    place = f"{_numbers(text.get_position())} {text.get_ha()} {text.get_va()} {text.get_rotation():.4g}"
    yield f"  text {words!r} {place} {style}"


def _numbers(values: Any) -> str:
    """Numbers with four digits; of many their count, the ends, the extremes, the sum and the way they go."""
    flat = np.asarray(values, dtype=object).ravel()
    numbers = np.array([np.nan if v is np.ma.masked else v for v in flat], dtype=float) if len(flat) else flat
    if len(numbers) > LONG:
        known = numbers[np.isfinite(numbers)].astype(float)
        moves = np.abs(np.diff(known)).sum()
        rest = [known.min(), known.max(), known.sum(), moves] if len(known) else []
        return f"[{len(numbers)}: {_numbers([*numbers[:3], *numbers[-3:], *rest])[1:]}"
    return "[" + " ".join(f"{float(n) + 0.0:.4g}" for n in numbers) + "]"
