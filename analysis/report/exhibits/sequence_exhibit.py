"""The exhibit of confidence sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...figures.labels import ColumnNames
from ...results import Result
from ..table_format import any_table
from .exhibit_registry import figure_and_tables

if TYPE_CHECKING:
    from great_tables import GT

KEYS = ("feature", "level", "dimension", "group", "among", "against", "coefficient", "weights")
SHOWN = ("estimate", "lower", "upper", "fixed_lower", "fixed_upper", "n_units")


@figure_and_tables(
    "confidence_sequence",
    lead=(
        "{figure shows} estimates as units came in. The bands cover at all looks together, so a look at any "
        "of them, or stopping there, keeps their level; the interval of a single look does not. "
        "{table has|have} the numbers of the last look."
    ),
    figure="Lines: estimates; bands: always-valid intervals; dashed: intervals of a single look",
    method="Confidence sequences are asymptotic, by the normal mixture of Waudby-Smith and others (2024).",
)
def last_look(result: Result, names: ColumnNames) -> list[GT]:
    """The estimates of the last look."""
    frame = result.frame[result.frame["n_units"] == result.frame["n_units"].max()]
    frame = frame[frame["std_error"].notna()]
    return any_table(frame[[name for name in (*KEYS, *SHOWN) if name in frame]], names)
