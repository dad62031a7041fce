"""Exhibits of a judge next to people, and of two runs on the same items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....figures.labels import ColumnNames
from ....results import Result
from ...table_format import any_table
from ..template import tables_of

if TYPE_CHECKING:
    from great_tables import GT

KEYS = ("part", "measure", "system", "baseline", "class", "by", "level")
SHOWN = ("estimate", "lower", "upper", "chance", "p", "p_adjusted", "p_equivalence", "n")


def _verdict(result: Result, names: ColumnNames) -> str:
    return " ".join(result.settings.get("verdict", ()))


@tables_of("judging", reading=_verdict)
@tables_of("run_comparison", reading=_verdict)
@tables_of("system_comparison", reading=_verdict)
@tables_of("combined_judges", reading=_verdict)
@tables_of("pair_comparison", reading=_verdict)
def estimates(result: Result, names: ColumnNames) -> list[GT]:
    """All estimates by part."""
    return any_table(result.frame[[name for name in (*KEYS, *SHOWN) if name in result.frame]], names)
