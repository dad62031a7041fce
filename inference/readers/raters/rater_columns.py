"""Tables with one column per rater as judgments: which columns are raters, and who of them is a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InputError, listed
from ...tables.columns import as_text
from ...tables.items import item_column
from ...tables.reading.account import AccountEntry
from ...tables.reading.answers.answer_scales import stated_order
from ...tables.reading.answers.compared_answers import read_answers
from ...tables.reading.cell_rules import number_of
from ...tables.reading.column_kinds import has_lists, kind_of_column
from ...tables.reading.reading_rules import ReadingRules
from ...tables.reading.table_reading import require_named
from ...tables.row_numbers import of_rows
from ..judged.judged_columns import columns_by_name, judge_by_name
from ..model_names import like_models
from .alike_columns import share_scale
from .listed_ratings import listed_ratings
from .rating_rows import (
    RATED,
    SURE,
    RatingColumns,
    is_long,
    judgments_of_rows,
    rater_key,
    rating_columns,
)

# Names of what is rated and not of who rates: helpfulness, verbosity, coherence, fluency.
QUALITY = re.compile(r"[a-z]{3}(ness|ity|ence|ance|ency|ancy|acy|tion|ment|lexity)$")


def judgments_of_table(
    frame: pd.DataFrame,
    rules: ReadingRules,
    source: str,
    raters: Sequence[str] = (),
    models: Sequence[str] = (),
) -> tuple[pd.DataFrame, list[AccountEntry], ReadingRules, str]:
    """Judgments of a table with a row per rating or a column per rater, what was guessed, further rules."""
    # The name that is returned has the rows of the table from which judgments are.
    rows = None if raters else rows_of_ratings(frame, rules, source)
    if rows is not None:
        table, columns = rows
        source = columns.source(source, len(frame))
        long, entries = judgments_of_rows(table, columns, rules, source, models)
        return long, entries, columns.rules(rules), _repeated(source, len(table), len(long))
    if not raters and is_long(list(map(str, frame.columns))):
        rater = next((name for name in map(str, frame.columns) if rater_key(name) in SURE), None)
        if rater is not None and any(has_lists(frame[name]) for name in frame):
            rating_columns(frame, replace(rules, rater_column=rater), source)  # names such cells
        return frame, [], rules, source  # whose columns are refused by their names
    long, entries = judgments_of_raters(frame, rules, source, raters, models)
    source = _repeated(source, len(frame), len(long))
    return long, entries, replace(rules, missing=(), relabel={}, levels={}), source


def _repeated(source: str, n: int, total: int) -> str:
    """The name of n rows that are repeated below each other."""
    return of_rows(source, np.resize(np.arange(n), total), n)


def rows_of_ratings(
    frame: pd.DataFrame, rules: ReadingRules, source: str
) -> tuple[pd.DataFrame, RatingColumns] | None:
    """A table with one row per rating and its columns, also where cells are lists of ratings; else None."""
    columns = rating_columns(frame, rules, source)
    if columns is not None:
        return frame, columns
    is_other = bool({"judge_id", "value"} & set(frame)) or raters_of(frame, item_column(frame))
    return None if is_other else listed_ratings(frame)


def raters_of(frame: pd.DataFrame, item: str | None) -> tuple[str, ...]:
    """Columns of raters: all that are not ids, texts or empty, where they share one scale; else none."""
    names = [str(name) for name in frame.columns if name != item and kind_of_column(frame[name]) in RATED]
    are_qualities = sum(QUALITY.search(name.casefold()) is not None for name in names) > len(names) / 2
    return tuple(names) if len(names) > 1 and not are_qualities and share_scale(frame, names) else ()


def judgments_of_raters(
    frame: pd.DataFrame,
    rules: ReadingRules,
    source: str,
    raters: Sequence[str] = (),
    models: Sequence[str] = (),
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """One row per item and rater, in the labels and on the scale of all columns, and what was guessed."""
    for option, names in (("--raters", raters), ("--models", models)):
        require_named(frame, dict.fromkeys(names, option), source)
    require_named(frame, {} if rules.id is None else {rules.id: "--id"}, source)
    item = rules.id or item_column(frame.drop(columns=[name for name in raters if name in frame]))
    names = tuple(dict.fromkeys([*raters, *(models if raters else ())])) or raters_of(frame, item)
    by_name = columns_by_name(frame, source) if not raters else None
    if len(names) < 2 and by_name is not None:
        names = (*by_name.human, by_name.judge)
    if len(names) < 2:
        raise InputError(
            f"{source}: there are no columns 'judge_id' and 'value', and no columns of raters on one scale; "
            "name two or more with --raters A,B; of a table with one row per rating its --rater-column, --id "
            "and --rating-column; or the columns of judgments with --rename (there are "
            f"{listed(frame.columns)})."
        )
    entries = []
    if not raters:
        sentence = f"Columns of raters: {listed(names)}."
        entries.append(AccountEntry("roles", sentence, cells=names[:12], option="--raters"))
    if item is None:
        entries.append(
            AccountEntry("roles", "Items are the rows, since no column names them.", option="--id")
        )
    lookalikes = () if models else tuple(like_models(names))
    if not models and not lookalikes:
        has_judge = by_name is not None and by_name.judge in names
        lookalikes = (by_name.judge,) if by_name is not None and has_judge else judge_by_name(names)
    if not models and not lookalikes and not raters:
        sentence = f"No column is called like a model: all {len(names):,} are people."
        entries.append(AccountEntry("roles", sentence))
    if lookalikes:
        sentence = f"Models by their names: {listed(lookalikes)}; the other columns are people."
        entries.append(AccountEntry("roles", sentence, cells=lookalikes, option="--models"))
    is_stated = rules.scale is None and all(rules.order_of(name) for name in names)
    of_raters = replace(rules, scale="ordinal") if is_stated else rules
    answers = read_answers({name: frame[name] for name in names}, of_raters, source=source)
    entries += [*answers.entries, *([stated_order(answers.classes)] if is_stated else [])]
    items = as_text(frame[item]) if item is not None else pd.Series(_rows(len(frame)), dtype="string")
    further = frame.drop(columns=[*names, *([item] if item is not None else [])])
    parts = [
        further.assign(
            judge_id=name,
            judge_kind="model" if name in (*models, *lookalikes) else "human",
            item_id=items.to_numpy(),
            value=_values(answers.codes[place], answers.values[place], answers.classes),
        )
        for place, name in enumerate(names)
    ]
    long = pd.concat(parts, ignore_index=True)
    if answers.scale == "ordinal" and any(number_of(name) is None for name in answers.classes):
        long["value"] = pd.Categorical(long["value"], categories=answers.classes, ordered=True)
    return long, entries


def _rows(n: int) -> list[str]:
    return [f"row {row + 1}" for row in range(n)]


def _values(codes: np.ndarray, values: np.ndarray, classes: Sequence[str]) -> pd.Series[Any]:
    """Answers as numbers where all classes are numbers, else as labels."""
    if not classes:
        return pd.Series(values, dtype="Float64").mask(np.isnan(values))
    numbers = [number_of(name) for name in classes]
    if None in numbers:
        return pd.Series(np.array([*classes, None], dtype=object)[codes], dtype="string")
    series = pd.Series(np.array([*numbers, np.nan], dtype=float)[codes])
    return series.astype("Float64").mask(codes < 0)
