"""Curves of power and of detectable effects, one for all attributes that share it, and their axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from .fitting import LONGEST_LABEL, wrap
from .labels import Labels
from .theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..conjoint.power.result import Power

Show = Literal["power", "effect"]
POINTS = 61
USUAL_POWER = 0.8
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 2)))


def hardest_curves(
    result: Power, shown: Show, sizes: Sequence[float] | None, power: float | None
) -> pd.DataFrame:
    """The hardest level of each feature over a grid of sizes."""
    known = result.frame["pairs"][np.isfinite(result.frame["pairs"])]
    if sizes is None and known.empty:
        raise InputError("No size reaches the power that was asked for; give the sizes to draw.")
    low, high = (known.min() / 30, known.max() * 6) if sizes is None else (min(sizes), max(sizes))
    pairs = np.geomspace(max(low, 10.0), high, POINTS).tolist()
    if shown == "power":
        effects = result.frame["effect"][np.isfinite(result.frame["effect"])]
        if result.solved == "effect":
            effects = effects.abs().round(3)
        if effects.empty:
            raise InputError("No effect reaches the power that was asked for; plan more pairs or stimuli.")
        found = result.at(effect=list(dict.fromkeys(effects)), pairs=pairs).frame.assign(wanted=np.nan)
        return _hardest(found, "power", "min")
    wanted = [power] if power is not None else _powers(result)
    parts = [result.at(pairs=pairs, power=value).frame.assign(wanted=value) for value in wanted]
    return _hardest(pd.concat(parts, ignore_index=True), "effect", "max")


def _powers(result: Power) -> list[float]:
    return list(dict.fromkeys(result.frame["power"].round(6))) if result.solved == "effect" else [USUAL_POWER]


def _hardest(frame: pd.DataFrame, column: str, by: str) -> pd.DataFrame:
    keys = ["feature", "pairs", "wanted", *(["effect"] if column == "power" else [])]
    worst = frame.groupby(keys, sort=False, observed=True, dropna=False)[column].agg(by)
    return worst.rename("value").reset_index()


def shared_lines(curves: pd.DataFrame, words: Labels) -> dict[str, str]:
    """Features that get a line, with the labels of all features that share it."""
    drawn: dict[bytes, list[str]] = {}
    for name, rows in curves.groupby("feature", sort=False, observed=True):
        drawn.setdefault(rows["value"].to_numpy(float).round(9).tobytes(), []).append(str(name))
    return {
        names[0]: ",\n".join(wrap(words.feature(name), LONGEST_LABEL) for name in names)
        for names in drawn.values()
    }


def draw_curves(ax: Axes, curves: pd.DataFrame, lines: Mapping[str, str], shown: Show, look: Theme) -> None:
    """Draw one line for each entry of ``lines``, over the number of pairs."""
    for position, (name, label) in enumerate(lines.items()):
        rows = curves[curves["feature"].astype(str) == name]
        value = rows["value"].to_numpy(float)
        ax.plot(
            rows["pairs"],
            np.where(np.isfinite(value), value, np.nan),
            color=look.color(position),
            linestyle=STYLES[position % len(STYLES)],
            linewidth=1.5,
            label=label,
            zorder=3,
        )


def dress_axes(ax: Axes, shown: Show, look: Theme, usual: float) -> None:
    """Give an axis its scales, and powers a line at the usual one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(10))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="both", color=look.grid)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if shown == "power":
        ax.set_ylim(0, 1.02)
        ax.axhline(usual, color=look.muted, linewidth=0.9, linestyle=(0, (2, 2)), zorder=2)
        return
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
