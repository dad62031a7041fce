"""Figures of checks that have none of their own, and of all checks by verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..figure_layout import Drawable, add_legend, room_above
from ..figure_registry import FigureStyle, figure, has_figure
from ..interval_dots import LevelPanels, levels, table_of
from ..theme import Theme, new_figure, page_width
from .check_figures import judges_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 30  # rows of a figure; of more, those furthest from zero are drawn
NUMBERS = ("estimate", "lower", "upper")


@figure("check")
def check(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Estimates with intervals of a check, a row per label, in a panel for each value of ``panel``."""
    settings, table = result.settings, result.frame
    estimates = table[np.isfinite(table["estimate"].astype(float))]
    if estimates.empty:
        raise InputError(f"The check {settings.get('name', '')!r} has no numbers to draw.")
    axis = str(settings.get("axis") or settings.get("title") or "Estimate")
    if settings.get("percent"):
        estimates = estimates.assign(
            **{n: 100 * estimates[n].astype(float) for n in NUMBERS if n in estimates}
        )
        axis = f"{axis} (%)"
    if len(estimates) > MOST:
        axis = f"{axis}\nThe {MOST} estimates furthest from zero, of {len(estimates):,}"
        index = estimates["estimate"].astype(float).abs().nlargest(MOST).index
        estimates = estimates[estimates.index.isin(index)]
    judges = judges_of(estimates, style.names)
    has_labels = "label" in estimates
    row = _texts(estimates["label"], style) if has_labels else judges.str.replace("\n", " ")
    has_series = has_labels and judges.nunique() > 1
    places = style.names.places(estimates, judges) if has_series else None
    panel = (
        _texts(estimates["panel"], style)
        if "panel" in estimates
        else ""
        if has_labels
        else "Judges and prompts"
    )
    return levels(
        table_of(estimates, panel, row, judges if has_series else ""),
        xlabel=axis,
        what=axis.partition("\n")[0],
        places=places,
        baseline=None,
        share_x=True,
    )


def _texts(column: pd.Series, style: FigureStyle) -> pd.Series:
    return column.astype("string").fillna("missing").map(style.words.feature)


COLUMNS = 10  # checks in a line
KINDS = ("design", "people", "answers", "files", "provenance")
VERDICTS = {
    "error": "Error",
    "warning": "Warning",
    "suppressed": "Suppressed",
    "pass": "Passes",
    "not_applicable": "Does not apply",
}


def verdicts(frame: pd.DataFrame) -> pd.Series:
    """Verdict of each check, "suppressed" for alarms that are suppressed."""
    verdict = frame["verdict"].astype(str)
    if "suppressed" not in frame:
        return verdict
    reason = frame["suppressed"].astype("string").fillna("") != ""
    return verdict.mask(reason & verdict.isin(["error", "warning"]), "suppressed")


def _battery_alt(result: Drawable, style: FigureStyle) -> str:
    """List the codes of alarms, and count the others."""
    frame = result.frame.assign(shown=verdicts(result.frame))
    parts = []
    for verdict, name in VERDICTS.items():
        codes = frame.loc[frame["shown"] == verdict, "code"].astype(str).tolist()
        if codes:
            quiet = verdict in ("pass", "not_applicable")
            parts.append(f"{name}: {len(codes)}" if quiet else f"{name}: {', '.join(codes)}")
    return f"Checks by kind and verdict. {'; '.join(parts)}."


@figure("battery", alt=_battery_alt, when=lambda result: "code" in result.frame)
def battery(result: Drawable, style: FigureStyle) -> Figure:
    """All checks as tiles, a group of lines for each kind, in the colour of their verdict."""
    look, frame = style.look, result.frame
    if frame.empty or "code" not in frame:
        raise InputError("There are no checks to draw.")
    frame = frame.assign(
        shown=verdicts(frame), kind=frame["code"].astype(str).str[2].map(dict(_kinds_by_number()))
    )
    names = [VERDICTS[verdict] for verdict in VERDICTS if (frame["shown"] == verdict).any()]
    title, above, columns = room_above(style.title, page_width(), names)
    lines = [(kind, rows) for kind, rows in frame.groupby("kind", sort=False, observed=True)]
    height = sum(-(-len(rows) // COLUMNS) for _, rows in lines) + 0.4 * len(lines)
    fig = new_figure(page_width(), 0.25 + above + 0.36 * height)
    axes = fig.subplots()
    handles: dict[str, Any] = {}
    y = 0.0
    for kind, rows in lines:
        axes.text(-0.15, y, str(kind).capitalize(), ha="right", va="center", fontweight="bold")
        for place, (_, row) in enumerate(rows.iterrows()):
            line = y + place // COLUMNS
            handles[str(row["shown"])] = _tile(
                axes, place % COLUMNS, line, str(row["code"]), str(row["shown"]), look
            )
        y += -(-len(rows) // COLUMNS) + 0.4
    axes.set_xlim(-2.0, COLUMNS)
    axes.set_ylim(y - 0.8, -0.6)
    axes.axis("off")
    legend_verdicts = [verdict for verdict in VERDICTS if verdict in handles]
    add_legend(
        fig,
        [handles[v] for v in legend_verdicts],
        [VERDICTS[v] for v in legend_verdicts],
        columns,
        title,
        look,
    )
    return fig


def _kinds_by_number() -> Mapping[str, str]:
    return {str(k): kind for k, kind in enumerate(KINDS, 1)}


def _tile(axes: Axes, x: float, y: float, code: str, verdict: str, look: Theme) -> Any:
    """A tile with a code: errors are filled, warnings hatched, suppressed dashed, passes outlined."""
    from matplotlib.patches import Rectangle

    color = {"error": look.color(1), "warning": look.color(1), "suppressed": look.color(1)}.get(
        verdict, look.muted
    )
    applies = verdict != "not_applicable"
    tile = Rectangle(
        (x + 0.04, y - 0.4),
        0.92,
        0.8,
        facecolor=color if verdict == "error" else look.band if verdict == "pass" else "none",
        edgecolor=color if applies else look.grid,
        linewidth=2.0 if verdict == "warning" else 1.0,
        linestyle="--" if verdict == "suppressed" else "-",
    )
    axes.add_patch(tile)
    text = look.background if verdict == "error" else look.foreground if applies else look.muted
    axes.text(x + 0.5, y, code, ha="center", va="center", color=text, fontsize=7.5)
    return tile


def with_kind_of_figure(result: Any) -> Any:
    """The result of a check under the kind of its figure: its name, where it has a figure of its own."""
    candidate = replace(result, kind=str(result.settings["name"]))
    return candidate if has_figure(candidate) else result
