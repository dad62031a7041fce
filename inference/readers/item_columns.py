"""Columns of items: their strata, their lines, and texts where a cell contains a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..design.subjects import takes
from ..errors import listed
from ..study.asking import LineLabels
from ..study.models import ItemStudy
from ..tables.columns import as_text, refuse
from ..tables.schema import require_columns


def with_texts(items: pd.DataFrame) -> pd.DataFrame:
    """Write cells that hold a list of texts as one text, a line for each."""
    lists = {
        str(name): column.map(_joined)
        for name, column in items.items()
        if column.dtype == object and column.map(_is_list).any()
    }
    return items.assign(**lists) if lists else items


def strata_of(study: ItemStudy, items: pd.DataFrame, source: str) -> dict[str, dict[str, str]]:
    """Strata of each item, as its table has them, and the other columns by which prompts pick items."""
    picked = list(dict.fromkeys(column for prompt in study.prompts for column in prompt.only))
    require_columns(items, picked, source)
    columns = [name for name in dict.fromkeys([*study.level_labels, *picked]) if name in items]
    texts = {name: as_text(items[name]).astype(object).tolist() for name in columns}
    found = {
        str(item): {name: str(texts[name][row]) for name in columns if not pd.isna(texts[name][row])}
        for row, item in enumerate(items["item_id"])
    }
    if study.prompts and all(prompt.only for prompt in study.prompts):
        taken = [any(takes(prompt, strata) for prompt in study.prompts) for strata in found.values()]
        _refuse_untaken(study, items, np.array(taken, dtype=bool), source)
    return found


def lines_of(study: ItemStudy, items: pd.DataFrame, source: str) -> dict[str, dict[str, int]]:
    """Number of lines of each item, by the column that holds them."""
    columns = {response.lines for response in study.responses if isinstance(response, LineLabels)}
    require_columns(items, sorted(columns), source)
    return {
        column: {
            str(item): 0 if pd.isna(text) else len(str(text).splitlines())
            for item, text in zip(items["item_id"], items[column], strict=True)
        }
        for column in columns
    }


def judged_texts(texts: Sequence[str], by_line: bool) -> list[str]:
    """Judged texts, and each of their lines where every line is labelled: an answer may repeat either."""
    return [*texts, *(line for text in texts for line in text.splitlines())] if by_line else list(texts)


def _refuse_untaken(study: ItemStudy, items: pd.DataFrame, taken: Any, source: str) -> None:
    if taken.all():
        return
    row = int(np.flatnonzero(~taken)[0])
    column = next(
        column
        for prompt in study.prompts
        for column, values in prompt.only.items()
        if str(items[column].iloc[row]) not in values
    )
    known = dict.fromkeys(value for prompt in study.prompts for value in prompt.only.get(column, []))
    problem = f"contains '{items[column].iloc[row]}', which no prompt of study {study.name} takes"
    remedy = f"use one of {listed(known)}, or add a prompt for it"
    refuse(source, column, ~taken, problem, remedy)


def _is_list(cell: object) -> bool:
    return isinstance(cell, list | tuple | np.ndarray)


def _joined(cell: Any) -> Any:
    return "\n".join(map(str, cell)) if _is_list(cell) else cell
