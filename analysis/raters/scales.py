"""A table of judgments: its checks, the scale of its ratings, and the columns of the items rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, and_more, did_you_mean, listed
from conjury.inference.readers.scale_checks import refuse_off_scale
from conjury.inference.tables.columns import as_text, describe_rows, in_table, names_of, refuse
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.reading.answers.compared_answers import read_answers
from conjury.inference.tables.reading.cell_rules import number_of
from conjury.inference.tables.reading.reading_rules import ReadingRules
from conjury.inference.tables.reading.table_reading import blank_cells
from conjury.inference.tables.schema import require_columns

from ..numerics.types import Codes, Floats

SOURCE = "judgments"
VALUE = "value"  # column of ratings and labels
FEW = 10  # ratings below which a value that stands alone, or a narrow range, is no surprise
WIDER = 3.0  # how many times as wide a range is on another scale
STEPS = 3  # values of which a scale has more than a rater who hardly varies gives


def rows_of_dimension(judgments: pd.DataFrame, dimension: str | None) -> tuple[pd.DataFrame, Codes]:
    """Rows of one dimension, and their numbers in the table."""
    rows = np.arange(len(judgments))
    if "dimension" not in judgments:
        if dimension is not None:
            raise InputError(
                f"{SOURCE}: column 'dimension', which is needed for '{dimension}', is missing; add it."
            )
        return judgments, rows
    names = as_text(judgments["dimension"])
    choices = [str(name) for name in names.dropna().unique()]
    if dimension is None:
        if len(choices) > 1:
            raise InputError(f"{SOURCE}: there are several dimensions ({listed(choices)}); name one.")
        return judgments, rows
    if dimension not in choices:
        raise InputError(
            f"{SOURCE}: there is no dimension '{dimension}'{did_you_mean(dimension, choices)}; there are "
            f"{listed(choices)}."
        )
    mask = (names == dimension).fillna(False).to_numpy(dtype=bool)
    return judgments[mask].reset_index(drop=True), rows[mask]


def sample_numbers(column: pd.Series[Any], row: Codes) -> Codes:
    """Whole numbers of samples, 1 where there is none."""
    numbers = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    empty = column.isna().to_numpy(dtype=bool)
    bad = ~empty & ~(np.isfinite(numbers) & (np.round(numbers) == numbers))
    if bad.any():
        what = f"contains '{column.iloc[int(bad.argmax())]}'"
        refuse(SOURCE, "sample", in_table(row, bad), what, "number repeated judgments with whole numbers")
    return np.where(empty, 1, numbers).astype(np.int64)


@dataclass(frozen=True)
class CodedValues:
    """Values of n judgments, on one scale."""

    value: pd.Series[Any]  # numbers, or labels in one spelling
    labels: tuple[str, ...] | None  # in their order; None for numbers
    ordered: bool  # whether the order of labels means something
    notes: tuple[str, ...]


def values_of(column: pd.Series[Any], rules: ReadingRules, row: Codes) -> CodedValues:
    """Values as numbers where all are, else as labels; InputError for what may be no answer."""
    answers = read_answers({VALUE: column}, rules, source=SOURCE, rows=row)
    notes = tuple(entry.sentence for entry in answers.entries if entry.subject != "types")
    numbers = [number_of(name) for name in answers.classes]
    if answers.scale == "interval" or (None not in numbers and rules.scale != "nominal"):
        values = answers.values[0]
        if answers.scale != "interval" and numbers:
            values = np.append(np.array(numbers, dtype=float), np.nan)[answers.codes[0]]
        return CodedValues(pd.Series(values, index=column.index), None, ordered=True, notes=notes)
    names = np.array([*answers.classes, None], dtype=object)
    text = pd.Series(names[answers.codes[0]], index=column.index, dtype="string")
    return CodedValues(text, answers.classes, answers.scale == "ordinal" or VALUE in rules.levels, notes)


def blank_values(column: pd.Series[Any], rules: ReadingRules) -> pd.Series[Any]:
    """Values with nothing where a cell is empty or stated as missing, so that they count as unanswered."""
    return blank_cells(column.to_frame(VALUE), rules, is_text=False)[0][VALUE]


def value_rules(
    scale: Sequence[float] | Sequence[str] | None, numeric: bool | None, missing: Sequence[str]
) -> ReadingRules:
    """The rules of a column of values: a scale of texts names labels in their order."""
    kind = None if numeric is None else "interval" if numeric else "nominal"
    names = scale if isinstance(scale, list | tuple) else ()
    is_labels = any(isinstance(name, str) and number_of(name) is None for name in names)
    texts = tuple(map(str, missing))
    if is_labels:
        return ReadingRules(missing=texts, levels={VALUE: tuple(map(str, names))}, scale="ordinal")
    # A number of the scale is an answer, whatever it looks like; those off it are refused by `scale_of`.
    levels = (
        {VALUE: tuple(f"{value:g}" for value in _allowed(cast("Sequence[float]", scale)))}
        if scale is not None
        else {}
    )
    return ReadingRules(missing=texts, levels=levels, scale="interval" if levels else kind)


def refuse_repeated(frame: pd.DataFrame, row: Codes) -> None:
    """Refuse two judgments of one item by one judge in one sample."""
    repeated = frame.duplicated(["judge", "item", "sample"]).to_numpy(dtype=bool)
    if repeated.any():
        at = int(repeated.argmax())
        first = frame.iloc[at]
        raise InputError(
            f"{SOURCE}: {describe_rows('item_id', in_table(row, repeated))} repeats the judgment of item "
            f"'{first['item']}' by '{first['judge']}'; keep one row for each, or number them in a column "
            "'sample'."
        )


def scale_of(frame: pd.DataFrame, scale: Sequence[float] | None, row: Codes) -> tuple[float, ...]:
    """The ratings of the scale, rising; where none is stated, those that occur."""
    values = frame["value"].to_numpy(dtype=float)
    if scale is None:
        conflict = other_scale(frame)
        if conflict is not None:
            raise InputError(f"{SOURCE}: {conflict}; bring all to one scale, or state the scale.")
        return tuple(float(value) for value in np.unique(values))
    allowed = _allowed(scale)
    refuse_off_scale(values, allowed, row, SOURCE)
    return tuple(float(value) for value in allowed)


def _allowed(scale: Sequence[float]) -> Floats:
    """The ratings of a scale, rising; InputError for what is no list of numbers."""
    try:
        allowed: Floats = np.unique(np.array(list(scale), dtype=np.float64))
    except (TypeError, ValueError):
        allowed = np.zeros(0)
    if not len(allowed) or not np.isfinite(allowed).all():
        raise InputError(f"scale is {scale!r}; give the ratings that are allowed, such as range(5).")
    return allowed


def other_scale(frame: pd.DataFrame) -> str | None:
    """State who rated the same items as others on a scale of another width; None where nobody is known to."""
    # Ranges say little where there are few ratings: both sides need ten or more of the same items, the narrow
    # side three values or more, and three quarters of the wide side's ratings must lie farther from its range
    # than it is wide. So no table on a scale of up to seven whole numbers is refused.
    value = frame["value"].to_numpy(dtype=float)
    judge, names = pd.factorize(frame["judge"])
    item, items = pd.factorize(frame["item"])
    for number, name in enumerate(names):
        mine = judge == number
        is_other = ~mine & _flags(item[mine], len(items))[item]
        shared = mine & _flags(item[is_other], len(items))[item]
        if min(shared.sum(), is_other.sum()) < FEW:
            continue
        values, other_values = value[shared], value[is_other]
        if _on_other_scales(values, other_values) or _on_other_scales(other_values, values):
            return (
                f"'{name}' rates from {values.min():g} to {values.max():g}, others the same items from "
                f"{other_values.min():g} to {other_values.max():g}"
            )
    return None


def _flags(codes: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which of so many items are among the codes."""
    flags = np.zeros(size, dtype=bool)
    flags[codes] = True
    return flags


def _on_other_scales(narrow: Floats, wide: Floats) -> bool:
    """Whether one range is several times the other, and three in four of its ratings lie beyond that one."""
    if len(np.unique(narrow)) < STEPS or np.ptp(wide) <= WIDER * np.ptp(narrow):
        return False
    low, high = np.quantile(wide, [0.25, 0.75])
    width = np.ptp(narrow)
    return bool(low > narrow.max() + width or high < narrow.min() - width)


@any_frame
def with_items(
    judgments: pd.DataFrame, items: pd.DataFrame | None, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Join columns of items, such as strata, to judgments.

    Parameters
    ----------
    judgments : DataFrame
        One row a judgment, with ``item_id``.
    items : DataFrame or None
        One row an item, with ``item_id``; None where the judgments carry the columns themselves.
    columns : sequence of str, optional
        Which columns of items; by default all. Those that only the judgments have stay as they are.

    Returns
    -------
    DataFrame
        The judgments in their order with the columns of their items; where both tables have a column,
        that of the items counts.

    Raises
    ------
    InputError
        Where an item has no row or two, or a column is in neither table.

    Examples
    --------
    >>> judgments = pd.DataFrame({"judge_id": ["ann", "bob"], "item_id": ["a", "b"], "value": [1, 2]})
    >>> items = pd.DataFrame({"item_id": ["a", "b"], "topic_id": ["t1", "t1"]})
    >>> list(with_items(judgments, items)["topic_id"])
    ['t1', 't1']
    """
    require_columns(judgments, ["item_id"], "judgments")
    if items is None:
        for name in columns or ():
            if name not in judgments:
                raise InputError(
                    f"judgments: there is no column '{name}'{did_you_mean(name, judgments.columns)}; add it, "
                    "or give the table of items that has it."
                )
        return judgments
    require_columns(items, ["item_id"], "items")
    item_columns = (
        [str(name) for name in items.columns if name != "item_id"] if columns is None else list(columns)
    )
    for name in item_columns:
        if name not in items and name not in judgments:
            raise InputError(
                f"items: there is no column '{name}'{did_you_mean(name, items.columns)}; add it to the items "
                "or to the judgments."
            )
    shared_columns = [name for name in item_columns if name in items]
    if not shared_columns:
        return judgments
    item_ids = as_text(items["item_id"])
    if item_ids.duplicated().any():
        raise InputError(f"items: item '{item_ids[item_ids.duplicated()].iloc[0]}' has two rows; keep one.")
    judged_ids = as_text(judgments["item_id"])
    row = pd.Index(item_ids).get_indexer(pd.Index(judged_ids))
    absent = (row < 0) & judged_ids.notna().to_numpy(dtype=bool)
    if absent.any():
        names = judged_ids[absent].unique()
        raise InputError(
            f"items: judged item '{names[0]}'{and_more(len(names) - 1)} has no row; add one for every "
            "item, or exclude its judgments."
        )
    joined = judgments.copy()
    for name in shared_columns:
        joined[name] = items[name].take(row.clip(0)).set_axis(judgments.index)
    return joined


def levels_present(column: pd.Series[Any]) -> list[str]:
    """Distinct values of a column as text, in category order where there is one, else as first seen."""
    present = [str(value) for value in as_text(column).dropna().unique()]
    if isinstance(column.dtype, pd.CategoricalDtype):
        order = [str(value) for value in as_text(pd.Series(column.cat.categories))]
        return [value for value in order if value in set(present)]
    return present


def ranks(names: Sequence[str]) -> Codes:
    """Place of each of n different names in their alphabetical order, shape (n,)."""
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64)


def item_clusters(item: Codes, column: pd.Series[Any], items: Sequence[str]) -> Codes:
    """Number the clusters of I items in the order of their names, whatever that of the rows, shape (I,)."""
    named = as_text(column)
    codes = np.asarray(pd.factorize(named, sort=True)[0], dtype=np.int64)
    if (codes < 0).any():
        raise InputError(
            f"Item '{items[item[int((codes < 0).argmax())]]}' has no '{column.name}'; fill it in, name "
            "another column as cluster, or none."
        )
    of_item = np.zeros(len(items), dtype=np.int64)
    of_item[item] = codes
    split = of_item[item] != codes
    if split.any():
        raise InputError(
            f"Item '{items[item[int(split.argmax())]]}' has two values of '{column.name}'; keep one."
        )
    return of_item


class ClusteredItems:
    """Items in clusters."""

    cluster: Codes  # shape (I,): number of the cluster of each item; without clusters, the item itself

    @property
    def n_clusters(self) -> int:
        """Number of clusters of items."""
        return int(self.cluster.max()) + 1


def dimension_names(
    judgments: pd.DataFrame, dimensions: str | Sequence[str] | None = None
) -> Sequence[str | None]:
    """Dimensions to be analysed: those asked for, by default all of a table, as `read_ratings` takes them."""
    if dimensions is not None:
        return list(dict.fromkeys(names_of(dimensions)))
    levels: Sequence[str | None] = levels_present(judgments["dimension"]) if "dimension" in judgments else []
    return levels or [None]
