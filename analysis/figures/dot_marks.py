"""What figures of dots share: units of axes, dots with lines, bands, grids, ticks with signs, legends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

NUMBERS = ["estimate", "lower", "upper"]
PALER = 0.55  # opacity of a series beside that of an earlier one of its colour
POINTS, PERCENT = "percentage points", "percent"  # units of changes of shares, and of shares


def unit_of(label: str) -> float:
    """What shares are multiplied by on an axis with this label: 100 where it is in percent."""
    return 100.0 if PERCENT in label else 1.0


def in_unit(table: pd.DataFrame, unit: float) -> pd.DataFrame:
    """A table whose numbers are multiplied by the unit of an axis."""
    numbers = [str(name) for name in table.select_dtypes("float")]
    return table if unit == 1 else table.assign(**{name: unit * table[name] for name in numbers})


def shades_of(places: Sequence[int], look: Theme) -> list[float]:
    """Opacity of each series: those that share a colour, as prompts of a judge do, are paler one by one."""
    colors = [look.color(place) for place in places]
    return [PALER ** colors[:k].count(color) for k, color in enumerate(colors)]


def draw_dots(
    axes: Axes, rows: pd.DataFrame, y: np.ndarray, look: Theme, place: int, *, size: float, line: float,
    shade: float = 1.0,
) -> None:  # fmt: skip
    """Draw the estimates of one series, with lines for their intervals."""
    color = look.color(place)
    estimate, lower, upper = (rows[name].to_numpy(float) for name in NUMBERS)
    has_interval = np.isfinite(lower) & np.isfinite(upper)
    axes.hlines(
        y[has_interval], lower[has_interval], upper[has_interval], color=color, linewidth=line, zorder=3,
        alpha=shade if shade < 1 else None,
    )  # fmt: skip
    axes.plot(
        estimate, y, look.marker(place), color=color, markersize=size, linestyle="none", zorder=4,
        alpha=shade if shade < 1 else None,
    )  # fmt: skip


def stripe(axes: Axes, rows: Sequence[Any], look: Theme) -> None:
    """Shade every other row of a panel."""
    for k in range(0, len(rows), 2):
        axes.axhspan(k - 0.5, k + 0.5, color=look.band, linewidth=0, zorder=0)


def tidy(axes: Axes, grid: str = "x", open_sides: Sequence[str] = ("top", "right", "left")) -> None:
    """Draw a grid below the data, no frame at the open sides, and thousands with separators."""
    for axis in (axes.xaxis, axes.yaxis):
        if type(axis.get_major_formatter()).__name__ == "ScalarFormatter":
            axis.set_major_formatter(_formatter())
    axes.grid(axis=grid, zorder=0)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[list(open_sides)].set_visible(False)


def set_signed(axis: Axis) -> None:
    """Write the ticks of changes with their signs."""
    axis.set_major_formatter(_formatter(signed=True))


def _formatter(*, signed: bool = False) -> Any:
    """The usual formatter of ticks, with commas in numbers from 1,000 on, or with the signs of changes."""
    formatter = _tick_texts()()
    formatter.signed = signed
    return formatter


@cache
def _tick_texts() -> Any:
    from matplotlib.ticker import ScalarFormatter

    class TickTexts(ScalarFormatter):
        """Ticks as usual, with commas, and with signs where they are changes."""

        signed = False

        def __call__(self, x: float, pos: int | None = None) -> str:
            """The text of a tick."""
            text = str(super().__call__(x, pos))
            if abs(x) >= 1000:
                text = f"{x:,.0f}".replace("-", "\N{MINUS SIGN}")
            if not self.signed:
                return text
            return "0" if abs(x) < 1e-12 else f"+{text}" if x > 0 else text

    return TickTexts


def handles_of(places: Sequence[int], look: Theme, *, is_shaded: bool = False) -> list[Any]:
    """Entries of a legend of dots with intervals."""
    from matplotlib.lines import Line2D

    shades = shades_of(places, look) if is_shaded else [1.0] * len(places)
    return [
        Line2D(
            [], [], color=look.color(k), marker=look.marker(k), markersize=4.5, linewidth=1.2,
            alpha=shade if shade < 1 else None,
        )
        for k, shade in zip(places, shades, strict=True)
    ]  # fmt: skip
