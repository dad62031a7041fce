"""The same answers as judgments, one row each, and with a column for each judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import InputError, counted, listed
from ...tables.columns import as_text, in_table, refuse
from ...tables.schema import JUDGE_KINDS, LABEL_COLUMNS
from ..aliases import EXCLUDED, exclusion_reasons
from .judged_table import Judged

HUMAN, MODEL, OK = "human", "model", "ok"
JUDGE, KIND, ITEM, DIMENSION, VALUE = "judge_id", "judge_kind", "item_id", "dimension", "value"
KEYS = (JUDGE, KIND, ITEM, DIMENSION, VALUE, "status", "sample", EXCLUDED, "duration", "started", "ended")


def refuse_unclear_judges(
    judgments: pd.DataFrame, source: str, row: npt.NDArray[np.int64] | None = None
) -> None:
    """Refuse rows without a judge or an item, kinds but human and model, and judges of both kinds."""
    # `row` are the places of the judgments in the table that a message names.
    row = np.arange(len(judgments)) if row is None else row
    for name in (JUDGE, KIND, ITEM):
        empty = judgments[name].isna().to_numpy(dtype=bool)
        if empty.any():
            refuse(source, name, in_table(row, empty), "is empty", "fill it in, every row needs one")
    kinds = as_text(judgments[KIND])
    is_unknown = ~kinds.isin(JUDGE_KINDS).to_numpy(dtype=bool)
    if is_unknown.any():
        value = kinds.iloc[int(is_unknown.argmax())]
        refuse(source, KIND, in_table(row, is_unknown), f"contains '{value}'", "write human or model")
    each = pd.DataFrame({"judge": as_text(judgments[JUDGE]), "kind": kinds}).drop_duplicates()
    twice = each["judge"].duplicated()
    if twice.any():
        name = each["judge"][twice].iloc[0]
        raise InputError(f"{source}: judge '{name}' is human in some rows and a model in others; correct it.")


def columns_of_judgments(judgments: pd.DataFrame, source: str, program: str, notes: Sequence[str]) -> Judged:
    """A row per item, with a column for each judge; a second rating of an item is left out, and counted."""
    refuse_unclear_judges(judgments, source)
    dimensions = list(dict.fromkeys(as_text(judgments[DIMENSION]))) if DIMENSION in judgments else []
    if len(dimensions) > 1:
        raise InputError(
            f"{source}: there are {counted(len(dimensions), 'dimension')} ({listed(dimensions)}), and one is "
            f"compared at a time; name it, as --where dimension={dimensions[0]}."
        )
    is_used = judgments[VALUE].notna().to_numpy(dtype=bool)
    if "status" in judgments:
        is_used = is_used & (as_text(judgments["status"]) == OK).to_numpy(dtype=bool)
    if EXCLUDED in judgments:
        is_used = is_used & exclusion_reasons(judgments[EXCLUDED]).isna().to_numpy(dtype=bool)
    table = judgments.assign(**{VALUE: judgments[VALUE].where(is_used)})
    repeated = table.duplicated([JUDGE, ITEM]).to_numpy(dtype=bool)
    kinds = table.drop_duplicates(JUDGE).set_index(JUDGE)[KIND].astype(str)
    names = [str(name) for name in kinds.index]
    first = table[~repeated]
    items = list(dict.fromkeys(first[ITEM]))
    frame = pd.DataFrame({ITEM: items})
    for name in names:
        of_judge = first[first[JUDGE] == name]
        frame[name] = of_judge.set_index(ITEM)[VALUE].reindex(items).array
    for name in (name for name in LABEL_COLUMNS if name in table):
        frame[name] = _of_labels(first[(first[KIND] == HUMAN) & first[VALUE].notna()], name, source, items)
    for name in table.columns.difference(list(KEYS), sort=False):
        values = table.groupby(ITEM, sort=False)[name]
        if name not in frame and (values.nunique() <= 1).all():
            frame[str(name)] = values.first().reindex(items).array
    people = tuple(name for name in names if kinds[name] == HUMAN)
    models = [name for name in names if kinds[name] != HUMAN]
    sentences = [*notes, f"One column for each judge: {listed(names, 6)}."]
    if repeated.any():
        sentences.append(f"Second ratings of an item by one judge were left out: {int(repeated.sum()):,}.")
    remedy = (
        "" if models else "all judges are people; name one of them with --judge, or run `conjury agreement`"
    )
    return Judged(
        frame,
        source,
        program,
        models[0] if len(models) == 1 else None,
        people[0] if len(people) == 1 else None,
        ITEM,
        tuple(sentences),
        people=people,
        remedy=remedy,
        models=tuple(models),
    )


def _of_labels(labels: pd.DataFrame, name: str, source: str, items: list[str]) -> Any:
    """What a column says of people's labels of each item; InputError where it says several things of one."""
    words = as_text(labels[name]).fillna("").map(lambda text: " ".join(text.casefold().split()[:1]))
    several = words.groupby(labels[ITEM]).transform("nunique") > 1
    if several.any():
        item = labels[ITEM][several].iloc[0]
        parts = words[several & (labels[ITEM] == item)].unique()
        raise InputError(
            f"{source}: column '{name}' says {' and '.join(map(repr, map(str, parts)))} of labels of item "
            f"'{item}', and here all labels of an item are one row; leave the others out with --exclude, or "
            "take `conjury alt-test`, where each label counts by itself."
        )
    return labels.drop_duplicates(ITEM).set_index(ITEM)[name].reindex(items).array


def judgments_of_columns(judged: Judged, judges: Sequence[str], people: Sequence[str]) -> pd.DataFrame:
    """One row per item and judge; an item that repeats is numbered, since its rows are other answers."""
    frame, n = judged.frame, len(judged.frame)
    items = (
        as_text(frame[judged.id])
        if judged.id is not None
        else pd.Series([f"row {row + 1}" for row in range(n)], dtype="string")
    )
    number = items.groupby(items).cumcount()
    items = items.where(~items.duplicated(keep=False), items + "/" + (number + 1).astype("string"))
    parts: list[pd.DataFrame] = []
    for name in (*judges, *people):
        value = frame[name]
        part: dict[str, Any] = {
            JUDGE: name,
            KIND: HUMAN if name in people else MODEL,
            ITEM: items,
            VALUE: value,
            "status": pd.Series(value.notna()).map({True: OK, False: "missing"}),
        }
        parts.append(pd.DataFrame(part, index=frame.index))
    return pd.concat(parts, ignore_index=True)
