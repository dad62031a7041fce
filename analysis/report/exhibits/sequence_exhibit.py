"""The exhibits of confidence sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...figures.labels import ColumnNames
from ...figures.sequence_figure import quantity_label
from ...results import Result
from ..table_format import any_table
from .template import tables_of

if TYPE_CHECKING:
    from great_tables import GT

KEYS = ("feature", "level", "dimension", "group", "among", "against", "coefficient", "weights")
SHOWN = ("estimate", "lower", "upper", "fixed_lower", "fixed_upper", "n_units")


@tables_of("confidence_sequence")
def last_look(result: Result, names: ColumnNames) -> list[GT]:
    """The estimates of the last look."""
    frame = result.frame[result.frame["n_units"] == result.frame["n_units"].max()]
    frame = frame[frame["std_error"].notna()]
    return any_table(frame[[name for name in (*KEYS, *SHOWN) if name in frame]], names)


def _verdict(result: Result, names: ColumnNames) -> str:
    return " ".join([*result.settings.get("verdict", ()), str(result.settings.get("claim", ""))])


@tables_of("label_sequence", reading=_verdict)
def last_batch(result: Result, names: ColumnNames) -> list[GT]:
    """The estimates after the last batch of labels."""
    frame = result.frame[result.frame["batch"] == result.frame["batch"].max()]
    quantity = [quantity_label(str(name), result.settings) for name in frame["quantity"]]
    columns = ["quantity", "estimate", "lower", "upper", "half_width", "n_labels"]
    return any_table(frame.assign(quantity=quantity)[columns], names)
