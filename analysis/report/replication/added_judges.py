"""Judges that are not in the paper beside those that are: differences of their numbers, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...figures.labels import LabelKey, words
from ..table_format import interval, number, styled_table
from .joined_numbers import CellNumber, Place
from .replicated_tables import NumberGrid

if TYPE_CHECKING:
    from great_tables import GT

LIMITS = ("lower", "upper")
COLUMNS = [
    *("exhibit", "judge", "published_judge", "number", "quantity", "ours", "printed", "difference"),
    *LIMITS,
]
NOTE = (
    "Mean difference without sign, correlation, and how many numbers have an interval of the difference "
    "without 0, by square-and-add of both intervals; published numbers without an interval count as exact."
)


def added_judges(grid: NumberGrid, labels: Mapping[LabelKey, str]) -> pd.DataFrame:
    """Numbers of judges without published ones minus those of every published judge, one row each."""
    quantity = grid.quantities[0]
    tables: dict[str, dict[Place, tuple[CellNumber, CellNumber, CellNumber]]] = {}
    for judge, name, where in _places(grid):
        lower, upper = (grid.numbers.at(where, limit) for limit in LIMITS)
        tables.setdefault(judge, {})[name] = (grid.numbers.at(where, quantity), lower, upper)
    printed = [judge for judge, cells in tables.items() if _has(cells, "printed")]
    ours = [judge for judge, cells in tables.items() if judge not in printed and _has(cells, "ours")]
    rows = []
    for judge in ours:
        for published in printed:
            for name in tables[judge].keys() & tables[published].keys():
                row = _difference(tables[judge][name], tables[published][name])
                if row is not None:
                    names = (_label(judge, labels), _label(published, labels), ": ".join(filter(None, name)))
                    rows.append((grid.layout.number, *names, quantity, *row))
    return pd.DataFrame(rows, columns=COLUMNS).sort_values(COLUMNS[:4], ignore_index=True)


def _places(grid: NumberGrid) -> Iterator[tuple[str, Place, dict[str, str]]]:
    """Judge, name and keys of each cell that is of one judge; the name is what other judges share."""
    for row in grid.rows:
        for column in grid.columns:
            where = {**grid.layout.where, **row.where, **column.where}
            if "judge" in column.where:
                yield where["judge"], (row.group, row.label), where
            elif "judge" in row.where:
                yield where["judge"], (column.span, column.label), where


def _has(cells: Mapping[Place, tuple[CellNumber, ...]], source: str) -> bool:
    return any(not np.isnan(getattr(cell[0], source)) for cell in cells.values())


def _label(judge: str, labels: Mapping[LabelKey, str]) -> str:
    return labels.get(("judges", judge), words(judge))


def _difference(
    new: tuple[CellNumber, CellNumber, CellNumber], old: tuple[CellNumber, CellNumber, CellNumber]
) -> tuple[float, ...] | None:
    """Ours, the printed number, their difference and its limits; nothing where one of the two is missing."""
    ours, (low, high) = new[0].ours, (cell.ours for cell in new[1:])
    printed, (below, above) = old[0].printed, (cell.printed for cell in old[1:])
    gap = ours - printed
    if np.isnan(gap):
        return None
    if np.isnan(below) or np.isnan(above):
        below = above = printed
    # Zou and Donner (2008), doi:10.1002/sim.3095
    return (
        ours,
        printed,
        gap,
        gap - np.hypot(ours - low, above - printed),
        gap + np.hypot(high - ours, printed - below),
    )


def summary_table(differences: pd.DataFrame, note: str) -> GT:
    """How far each new judge is from each published one, the nearest first."""
    rows = []
    for (judge, published), group in differences.groupby(["judge", "published_judge"], sort=False):
        gap, lower, upper = (group[name] for name in ("difference", *LIMITS))
        moves = len(group) > 2 and group["ours"].nunique() > 1 and group["printed"].nunique() > 1
        largest = group.iloc[int(gap.abs().to_numpy().argmax())]
        rows.append(
            {
                "judge": judge,
                "Beside": published,
                "Numbers": f"{len(group):,}",
                "Mean difference": number(gap.abs().mean()),
                "Correlation": number(group["ours"].corr(group["printed"]), 2) if moves else "",
                "Differ": f"{int(((lower > 0) | (upper < 0)).sum()):,}"
                if lower.notna().any()
                else "\N{EN DASH}",
                "Largest": f"{largest['number']}: {number(largest['difference'])} "
                f"{interval(largest['lower'], largest['upper'])}".strip(),
                "size": gap.abs().mean(),
            }
        )
    frame = pd.DataFrame(rows).sort_values(["judge", "size"], ignore_index=True).drop(columns="size")
    return styled_table(frame, groups="judge", note=f"{NOTE} {note}".strip(), n_left=1)
