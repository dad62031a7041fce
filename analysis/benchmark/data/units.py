"""Tables of judgments and gold labels brought to units: an item, or a line of an item."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import UNPERTURBED, as_text, refuse
from conjury.inference.tables.schema import require_columns

from ...frames.notes import note_under
from ...numerics.types import Codes

CONDITION, BASE = "condition", "base_item_id"
ORIGIN = "number of the original"  # column of scored answers: an item, or that which it is a copy of, by name

ORIGINS = (CONDITION, BASE)  # of items that may be copies of others
LINE = "line"  # task of the dimensions line_1, line_2, ...
_LINE = re.compile(r"^line_(\d+)$")
GROUP = ["judge", "judge_kind", "prompt", "task", "item_id", "sample"]
KEPT = (  # columns of an answer, where they are there
    *(*ORIGINS, "language", "modality", "position", "rule", "finish_reason"),
    *("request_key", "labels_given", "lines_shown"),
)
NUMBERS = ("probability", "outside")  # of a unit, where it is there


def _is_carried(column: str) -> bool:
    return column in (*KEPT, *NUMBERS) or column.startswith("probability_")


def _tasks(dimension: pd.Series[str]) -> tuple[pd.Series[str], pd.Series[int]]:
    """Task and line of each dimension; line 0 for whole items."""
    codes, names = pd.factorize(dimension)
    matches = [_LINE.match(str(name)) for name in names]
    tasks = pd.array(
        [LINE if match else str(name) for match, name in zip(matches, names, strict=True)], "string"
    )
    lines = np.array([int(match[1]) if match else 0 for match in matches] + [0], dtype=np.int64)
    index = dimension.index
    return pd.Series(tasks.take(codes, allow_fill=True), index=index), pd.Series(lines[codes], index=index)


def answers_table(judgments: pd.DataFrame) -> pd.DataFrame:
    """Judgments with the columns of `Scored.frame`, text as text."""
    source = "judgments"
    require_columns(judgments, ["judge_id", "judge_kind", "item_id", "dimension", "value"], source)
    if judgments.empty:
        raise InputError(f"{source}: there are no rows; give judgments.")
    frame = judgments.reset_index(drop=True)
    value = as_text(frame["value"])
    status = as_text(frame["status"]) if "status" in frame else pd.Series("ok", index=frame.index)
    status = status.mask((status == "ok") & value.isna(), "missing")
    task, line = _tasks(as_text(frame["dimension"]))
    result = pd.DataFrame(
        {
            "judge": as_text(frame["judge_id"]),
            "judge_kind": as_text(frame["judge_kind"]),
            "prompt": as_text(frame["prompt_id"]).fillna("") if "prompt_id" in frame else "",
            "task": task,
            "item_id": as_text(frame["item_id"]),
            "sample": frame["sample"].astype("int64") if "sample" in frame else 1,
            "line": line,
            "value": value.where(status == "ok"),
            "status": status,
        }
    )
    result = result.join(frame[[name for name in frame if _is_carried(str(name))]])
    for name in ("judge", "task", "item_id"):
        bad = result[name].isna().to_numpy(dtype=bool)
        if bad.any():
            refuse(
                source,
                {"judge": "judge_id", "task": "dimension"}.get(name, name),
                bad,
                "is empty",
                "fill it in",
            )
    repeats = result.duplicated([*GROUP, "line"]).to_numpy()
    if repeats.any():
        refuse(source, "item_id", repeats, "repeats an earlier judgment", "keep one row per sample")
    return result


def strata_table(items: pd.DataFrame | None) -> pd.DataFrame | None:
    """Items by id, each once; None where none are given."""
    return None if items is None else distinct_items(items)


def distinct_items(items: pd.DataFrame) -> pd.DataFrame:
    """Items by id, each once: rows that are the same are one, rows that differ are refused."""
    require_columns(items, ["item_id"], "items")
    result = items.assign(item_id=as_text(items["item_id"])).reset_index(drop=True)
    repeats = result.duplicated("item_id").to_numpy()
    if not repeats.any():
        return result
    repeated = result[result.duplicated("item_id", keep=False)].astype(str)
    differs = repeats.copy()
    differs[repeated.index[repeated.duplicated()]] = False
    if differs.any():
        refuse(
            "items", "item_id", differs, "repeats an earlier item with other values", "keep one row per item"
        )
    return result[~repeats].reset_index(drop=True)


def with_origins(answers: pd.DataFrame, items: pd.DataFrame | None) -> pd.DataFrame:
    """Fill empty cells of ``condition`` and ``base_item_id`` from the items; refuse contradictions."""
    result = answers
    for name in ORIGINS:
        if name not in answers or items is None or name not in items:
            continue
        of_items = _of_items(answers["item_id"], items, name)
        cells = filled_text(answers[name])
        clash = ((cells != of_items) & cells.notna() & of_items.notna()).to_numpy(dtype=bool, na_value=False)
        if clash.any():
            refuse("judgments", name, clash, "is another than that of the item in items", "make them agree")
        result = result.assign(**{name: cells.fillna(of_items)})
    return result


def _of_items(item_ids: pd.Series[str], items: pd.DataFrame, column: str) -> pd.Series[str]:
    """Text of a column of the items for each row; the item of each is looked up once."""
    of_item = dict(zip(as_text(items["item_id"]), filled_text(items[column]), strict=True))
    codes, distinct = pd.factorize(as_text(item_ids))
    texts = pd.array([*(of_item.get(item, pd.NA) for item in distinct), pd.NA], dtype="string")
    return pd.Series(texts.take(codes), index=item_ids.index)


def conditions_of(judgments: pd.DataFrame, items: pd.DataFrame | None) -> pd.Series[str]:
    """Condition of each judgment, by its own column or that of the items; "none" where neither has one."""
    if CONDITION in judgments:
        conditions = as_text(with_origins(judgments, items)[CONDITION])
    elif items is not None and CONDITION in items:
        conditions = _of_items(judgments["item_id"], items, CONDITION)
    else:
        conditions = pd.Series(UNPERTURBED, index=judgments.index, dtype="string")
    return filled_text(conditions).fillna(UNPERTURBED)


def origins_of(frame: pd.DataFrame) -> Codes:
    """Number of the item of each row, or of the one that it is a copy of, in the order of their names."""
    base, item = (pd.factorize(frame[name])[0].astype(np.int64) + 1 for name in (BASE, "item_id"))
    place = base * (item.max(initial=0) + 1) + item  # texts are compared once for each item
    _, first, of_row = np.unique(place, return_index=True, return_inverse=True)
    distinct = frame[[BASE, "item_id"]].iloc[first]
    names = filled_text(distinct[BASE]).fillna(as_text(distinct["item_id"]))
    codes, _ = pd.factorize(names, sort=True, use_na_sentinel=False)
    return codes.astype(np.int64)[of_row]


def filled_text(column: pd.Series[Any]) -> pd.Series[str]:
    """Cells as text, empty ones missing."""
    text = as_text(column)
    return text.mask(text.fillna("").str.strip() == "")


def is_surplus(answers: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether each answer labels a line beyond those that were shown, shape (n,)."""
    if "lines_shown" not in answers:
        return np.zeros(len(answers), dtype=bool)
    beyond = answers["line"].to_numpy() > pd.to_numeric(answers["lines_shown"]).to_numpy(
        float, na_value=np.inf
    )
    return np.asarray(beyond, dtype=bool)


def bases(answers: pd.DataFrame, strata: pd.DataFrame | None) -> dict[str, str]:
    """Original of each item that is a copy of another."""
    originals: dict[str, str] = {}
    for frame in (strata, answers):
        if frame is not None and "base_item_id" in frame:
            pairs = frame[["item_id", "base_item_id"]].dropna().drop_duplicates("item_id")
            originals |= dict(zip(as_text(pairs["item_id"]), as_text(pairs["base_item_id"]), strict=True))
    return {item: base for item, base in originals.items() if item != base}


def gold_table(labels: pd.DataFrame, bases: Mapping[str, str]) -> pd.DataFrame:
    """Gold labels by ``task, item_id, line``; copies of items have those of the original."""
    require_columns(labels, ["item_id", "label_set", "label"], "labels")
    frame = labels.reset_index(drop=True)
    task, line = _tasks(as_text(frame["label_set"]))
    gold = pd.DataFrame(
        {"task": task, "item_id": as_text(frame["item_id"]), "line": line, "label": as_text(frame["label"])}
    )
    repeats = gold.duplicated(["task", "item_id", "line"]).to_numpy()
    if repeats.any():
        refuse("labels", "item_id", repeats, "has a second label of the same set", "keep one label for each")
    return with_copies(gold, "task", bases)


def with_copies(labels: pd.DataFrame, task: str, bases: Mapping[str, str]) -> pd.DataFrame:
    """Labels of items, and for copies without a label of the same ``task`` those of their original."""
    copies = pd.DataFrame(bases.items(), columns=["copy", "item_id"], dtype="string")
    lent = copies.merge(labels, on="item_id").drop(columns="item_id").rename(columns={"copy": "item_id"})
    keys = ["item_id", task]
    labelled = pd.MultiIndex.from_frame(lent[keys]).isin(pd.MultiIndex.from_frame(labels[keys]))
    lent = lent.loc[~labelled, labels.columns]
    return pd.concat([labels, lent], ignore_index=True) if len(lent) else labels


def join_gold(answers: pd.DataFrame, units: pd.DataFrame, notes: list[str], task: str) -> pd.DataFrame:
    """Every answer beside every gold unit of its item."""
    columns = [name for name in KEPT if name in answers]
    unread = answers["status"].mask(answers["status"] == "ok", "missing")
    answered = answers.assign(unread=unread).sort_values(
        "status", key=lambda status: status != "ok", kind="stable"
    )
    answered = answered.drop_duplicates(GROUP).sort_index()[[*GROUP, *columns, "unread"]]
    targets = answered.merge(units[["item_id", "line", "label"]], on="item_id")
    values = answers.drop(columns=["judge_kind", "task", *columns])
    keys = ["judge", "prompt", "item_id", "sample", "line"]
    frame = targets.merge(values, on=keys, how="left")
    unit = ["item_id", "line"]
    has_gold = pd.MultiIndex.from_frame(answers[unit]).isin(pd.MultiIndex.from_frame(units[unit]))
    beyond = is_surplus(answers) & ~has_gold
    texts = []
    if surplus := int(beyond.sum()):
        texts.append(f"{surplus:,} labels are of lines beyond those shown and are excluded.")
    if unknown := int((~has_gold & ~beyond).sum()):
        texts.append(f"{unknown:,} judgments are of units without a gold label and are excluded.")
    lacking = frame["status"].isna()
    if lacking.any():
        texts.append(
            f"{int(lacking.sum()):,} units have a gold label and no judgment; they count as missing."
        )
    notes += [note_under({"task": task}, text) for text in texts]
    return frame.assign(status=frame["status"].fillna(frame["unread"])).drop(columns="unread")
