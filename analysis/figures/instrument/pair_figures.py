"""Pairs that a judge compared: win rates or strengths of systems, ranks, position and length."""

from __future__ import annotations

import pandas as pd

from ...numerics.metrics.agreement_measures import measure_of
from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..interval_dots import LevelPanels, levels, table_of
from ..labels import level_of

SHARES, RANKS, STRENGTHS, LENGTHS = "Shares", "Ranks", "Strengths (log odds)", "Length (per log unit)"
PANEL_OF = {"rank": RANKS, "strength": STRENGTHS}
MOST_SYSTEMS = 30


@figure("pair_comparison")
def pair_comparison(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Win rates and preferences for positions, the ranking of systems, and slopes on length."""
    frame = result.frame[result.frame["lower"].notna()]
    frame = frame[frame["part"].isin(["wins", "ranking", "position"]) & ~frame["measure"].isin(_UNDRAWN)]
    ranked = (frame["measure"] == "strength").any()
    if ranked:
        frame = frame[(frame["part"] != "ranking") | frame["measure"].isin(PANEL_OF)]
    frame = frame.groupby("measure", sort=False).head(MOST_SYSTEMS).reset_index(drop=True)
    panels = [PANEL_OF.get(name, SHARES) for name in frame["measure"]]
    rows = [str(row["class"]) or _in_words(str(row["measure"])) for _, row in frame.iterrows()]
    table = table_of(frame, panels, rows)
    present = [name for name in (RANKS, STRENGTHS, SHARES) if name in panels]
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
        baseline={SHARES: 0.5} if SHARES in present else None,
    )


_UNDRAWN = ("net_first", "tie_rate", "order_effect", "tie_parameter", "order_flips", "order_changes")


def _in_words(measure: str) -> str:
    text = measure_of(measure).label
    return text[:1].upper() + text[1:]
