"""Part-worths of a choice model: the population's with intervals, and how single raters lie around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..drawable import Drawable
from ..fitting import LONGEST_LABEL, inches, lines_high, wrap
from ..labels import LabelKey, Labels
from ..theme import PAGE_HEIGHT, TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import add_legend, room_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.26
POPULATION, RATERS = "Population, with its interval", "Single raters (estimates)"


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the part-worths of `choice_model`; raters are a cloud in each row, thicker where they are many."""
    look, named = theme_named(theme), Labels(labels)
    frame = result.frame[result.frame["quantity"] == "part-worth"].reset_index(drop=True)
    raters = result.extra.get("raters")
    texts = [wrap(text, LONGEST_LABEL) for text in _rows(frame, named)]
    rows = np.array([max(ROW, 0.08 + lines_high(text)) for text in texts])
    width = TWO_COLUMNS if max(map(inches, texts)) > 1.6 else 5.8
    legend = [POPULATION] + ([RATERS] if raters is not None else [])
    told, above, columns = room_above(title, width, legend)
    with styled(look):
        figure = new_figure(width, min(rows.sum() + 0.6 + above, PAGE_HEIGHT))
        axes = figure.subplots()
        handles = _draw_rows(axes, frame, raters, look)
        axes.set_yticks(range(len(frame)), texts)
        axes.set_ylim(len(frame) - 0.5, -0.5)
        axes.axvline(0, color=look.muted, linewidth=0.9, zorder=1)
        axes.grid(axis="x", zorder=0)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xlabel("Part-worth against the reference level (logit scale)")
        add_legend(figure, handles, legend, columns, told, look)
    return figure


def _rows(frame: pd.DataFrame, named: Labels) -> list[str]:
    texts = []
    for row in frame[["feature", "level"]].astype(str).to_dict("records"):
        parts = zip(row["feature"].split(":"), row["level"].split(":"), strict=True)
        if row["feature"] == "position":
            texts.append("Shown in position A")
        else:
            texts.append(" and ".join(named.both(feature, level) for feature, level in parts))
    return texts


def _draw_rows(axes: Axes, frame: pd.DataFrame, raters: pd.DataFrame | None, look: Theme) -> list[object]:
    rng = np.random.default_rng(1)
    handles: list[object] = []
    place = {key: k for k, key in enumerate(zip(frame["feature"], frame["level"], strict=True))}
    for k in range(0, len(frame), 2):
        axes.axhspan(k - 0.5, k + 0.5, color=look.band, linewidth=0, zorder=0)
    if raters is not None:
        y = np.array(
            [place[key] for key in zip(raters["feature"], raters["level"], strict=True)], dtype=float
        )
        many = len(raters) / max(len(frame), 1)
        faint = float(np.clip(12 / many, 0.08, 0.6))
        cloud = axes.scatter(
            raters["estimate"], y + rng.uniform(-0.26, 0.26, len(y)), s=7, color=look.color(1), alpha=faint,
            linewidths=0, zorder=2, rasterized=True,
        )  # fmt: skip
        handles.append(cloud)
    bars = axes.errorbar(
        frame["estimate"], np.arange(len(frame)),
        xerr=[frame["estimate"] - frame["lower"], frame["upper"] - frame["estimate"]],
        fmt="o", color=look.color(0), markersize=4.6, linewidth=1.6, markeredgecolor=look.background,
        markeredgewidth=0.6, zorder=4,
    )  # fmt: skip
    if raters is not None:
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], linestyle="none", marker="o", markersize=3.4, color=look.color(1))]
    return [bars, *handles]


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Name the largest and the smallest part-worth, and where raters differ most."""
    named = Labels(labels)
    frame = result.frame
    worth = frame[frame["quantity"] == "part-worth"].reset_index(drop=True)
    texts, value = _rows(worth, named), worth["estimate"].astype(float)
    told = f"Part-worths. Largest: {texts[int(value.argmax())]} ({value.max():.2f}). "
    told += f"Smallest: {texts[int(value.argmin())]} ({value.min():.2f})."
    spread = frame[frame["quantity"] == "SD between raters"].reset_index(drop=True)
    if len(spread):
        most = int(spread["estimate"].astype(float).argmax())
        told += (
            f" Raters differ most in {_rows(spread, named)[most]} (SD {spread['estimate'].iloc[most]:.2f})."
        )
    return told
