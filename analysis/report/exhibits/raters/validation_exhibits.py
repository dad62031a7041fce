"""Exhibits of a judge next to people, and of two runs on the same items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....figures.labels import ColumnNames
from ....results import Result
from ...table_format import any_table
from ..exhibit_registry import figure_and_tables

if TYPE_CHECKING:
    from great_tables import GT

KEYS = ("part", "measure", "class", "by", "level")
SHOWN = ("estimate", "lower", "upper", "chance", "p", "p_adjusted", "p_equivalence", "n")


def _verdict(result: Result, names: ColumnNames) -> str:
    return " ".join(result.settings.get("verdict", ()))


@figure_and_tables(
    "judging",
    lead="{figure} and {table} compare the judge with people.",
    figure="Dots: estimates",
    lines="lines: {level} intervals",
    reading=_verdict,
    method=(
        "Coefficients of agreement have the interval of a Bayesian bootstrap of items, whose lower limit "
        "adds one item of disagreement and whose upper limit one of agreement."
    ),
)
@figure_and_tables(
    "run_comparison",
    lead="{figure} and {table} compare two runs on the same items.",
    figure="Dots: differences, the second run minus the first",
    lines="lines: {level} intervals",
    reading=_verdict,
    method=(
        "Differences of shares of independent pairs have the interval of Bonett and Price and McNemar's "
        "mid-p, others Student's t; p values of a family are adjusted after Holm."
    ),
)
def estimates(result: Result, names: ColumnNames) -> list[GT]:
    """All estimates by part."""
    return any_table(result.frame[[name for name in (*KEYS, *SHOWN) if name in result.frame]], names)
