"""Pairs that a judge compared: win rates or strengths of systems, ranks, position and length."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ...numerics.metrics.agreement_measures import measure_of
from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..interval_dots import LevelPanels, levels, table_of
from ..labels import level_of

SHARES, RANKS, STRENGTHS, IN_SUBGROUPS = "Shares", "Ranks", "Strengths (log odds)", "Win rates in subgroups"
PANEL_OF = {"rank": RANKS, "strength": STRENGTHS}
MOST_SYSTEMS = 30


@figure("pair_comparison")
def pair_comparison(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Win rates, of subgroups too, preferences for positions, and the ranking of systems."""
    frame = result.frame[result.frame["lower"].notna()]
    frame = frame[
        frame["part"].isin(["wins", "subgroups", "ranking", "position"]) & ~frame["measure"].isin(_UNDRAWN)
    ]
    ranked = (frame["measure"] == "strength").any()
    if ranked:
        frame = frame[(frame["part"] != "ranking") | frame["measure"].isin(PANEL_OF)]
    frame = frame.groupby("measure", sort=False).head(MOST_SYSTEMS).reset_index(drop=True)
    panels = [
        IN_SUBGROUPS if by else PANEL_OF.get(name, SHARES)
        for name, by in zip(frame["measure"], frame["by"], strict=True)
    ]
    rows = [_row_label(row) for _, row in frame.iterrows()]
    table = table_of(frame, panels, rows)
    present = [name for name in (RANKS, STRENGTHS, SHARES, IN_SUBGROUPS) if name in panels]
    table = table.assign(
        panel=pd.Categorical(table["panel"], categories=present),
        series=pd.Categorical(["Judge"] * len(table), categories=["Judge"]),
    )
    systems = result.settings["systems"]
    what = (
        f"Ranking of {len(systems)} systems" if ranked else f"Win rates of {systems[0]} against {systems[1]}"
    )
    return levels(
        table,
        xlabel=f"Estimate (lines: {level_of(result.settings)} intervals)",
        what=what,
        baseline={name: 0.5 for name in (SHARES, IN_SUBGROUPS) if name in present},
    )


_UNDRAWN = (
    *("net_first", "tie_rate", "order_effect", "tie_parameter", "order_flips", "order_changes"),
    *("win_rate_difference", "judge_win_rate_difference"),
)


def _row_label(row: pd.Series[Any]) -> str:
    """A subgroup, with a word where its win rate is only the judge's, a system, or a measure."""
    if row["by"]:
        return f"{row['by']} {row['level']}{', by the judge' * (row['measure'] == 'judge_win_rate')}"
    return str(row["class"]) or _in_words(str(row["measure"]))


def _in_words(measure: str) -> str:
    text = measure_of(measure).label
    return text[:1].upper() + text[1:]
