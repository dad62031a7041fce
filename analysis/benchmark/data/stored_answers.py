"""Answers scored where they lie: a table of an engine joined with gold labels, which are read into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import UNPERTURBED

from ...frames.notes import note_under
from ...frames.stored import (
    NEEDS_MEMORY,
    StoredTable,
    fetched,
    is_stored,
    null_for_nan,
    open_stored,
    read_rows,
)
from ..parse_status import NO_ANSWER, check_policy
from .scoring import Scored, classes_of, covered_labels, levels_of, note_on_other_labels, tasks_with_labels
from .units import BASE, CONDITION, KEPT, LINE, filled_text, gold_table, strata_table

if TYPE_CHECKING:
    from ibis.expr.types import Column, Table

NEEDED = ("judge_id", "judge_kind", "item_id", "dimension", "value")
GROUP = ("judge", "judge_kind", "prompt", "task", "item_id", "sample")
LINES = r"^line_\d+$"


class StoredScored(Scored):
    """Answers to units that have a gold label, in the engine of their table."""

    # `answers` has the columns of `Scored.frame` but for `line, correct, gold, unit`. What needs the rows
    # themselves is refused.

    answers: Table

    def __init__(self, answers: Table, **parts: Any) -> None:
        for name, value in {"answers": answers, **parts}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"StoredScored(tasks={self.tasks})"

    @property
    def frame(self) -> pd.DataFrame:
        """Rows are not at hand."""
        raise InputError(NEEDS_MEMORY)

    @property
    def is_perturbed(self) -> NDArray[np.bool_]:
        """No answers to perturbed items are taken."""
        return np.zeros(0, dtype=bool)

    def sizes_in_engine(self, cluster: str) -> NDArray[np.int64] | None:
        """Answers of each value of a column."""
        counts = self.answers.group_by(cluster).agg(n=lambda table: table.count())
        return fetched(counts)["n"].to_numpy(dtype=np.int64)


def score_stored(
    judgments: Any,
    labels: pd.DataFrame,
    classes: Sequence[str] | Mapping[str, Sequence[str]] | None,
    covers: Mapping[str, Sequence[str]],
    items: pd.DataFrame | None,
    policy: Mapping[str, str],
) -> Scored:
    """Put judgments of a table that stays in its engine beside gold labels, as `score` does."""
    stored = open_stored(judgments)
    stored.require(NEEDED)
    strata, gold = strata_table(items), gold_table(labels, {})
    _refuse_copies(stored, strata)
    answers = _answers(stored)
    _refuse_gaps(answers)
    answers = _whole_items(answers, gold)
    covered = covered_labels(covers)
    value_counts = fetched(answers.group_by(["task", "value"]).agg(n=lambda t: t.count()))
    tasks = tasks_with_labels(sorted(value_counts["task"].unique()), gold)
    beside = _join_gold(answers, gold[gold["task"].isin(tasks)])
    judged = fetched(beside.group_by(["task", "label"]).agg(n=lambda t: t.count()))
    notes: list[str] = []
    all_classes: dict[str, tuple[str, ...]] = {}
    all_levels: dict[str, tuple[str, ...]] = {}
    for task in tasks:
        labelled, values = judged[judged["task"] == task], value_counts[value_counts["task"] == task]
        names = classes_of(task, values["value"], labelled["label"], classes, covered)
        levels = levels_of(names, covered)
        labels_of_task = gold.loc[gold["task"] == task, "label"]
        notes += note_on_other_labels(task, labels_of_task[~labels_of_task.isin(levels)])
        unknown = int(values["n"].sum() - labelled.loc[labelled["label"].isin(levels), "n"].sum())
        if unknown:
            text = f"{unknown:,} judgments are of units without a gold label and are excluded."
            notes.append(note_under({"task": task}, text))
        all_classes[task], all_levels[task] = names, levels
    scored = _coded(beside, all_classes, all_levels)
    if not scored.count().to_pyarrow().as_py():
        raise InputError("labels: no judged unit has a gold label among the classes; nothing can be scored.")
    known_to = {**classes, **all_classes} if isinstance(classes, Mapping) else all_classes
    return StoredScored(
        scored if strata is None else _with_items(scored, strata),
        classes=all_classes,
        levels=all_levels,
        covers=covered,
        policy=check_policy(policy, known_to),
        notes=tuple(notes),
    )


def in_memory(labels: Any) -> pd.DataFrame:
    """A table of labels as rows; one of an engine, or of a file, is read."""
    if is_stored(labels):
        return fetched(open_stored(labels).table)
    return read_rows(labels)


def text(column: Column) -> Column:
    """A column as text, as `as_text` writes it."""
    kind, column = column.type(), null_for_nan(column)
    if kind.is_boolean():
        return column.ifelse("True", "False")
    if kind.is_floating():
        return (column == column.floor()).ifelse(column.cast("int64").cast("string"), column.cast("string"))
    return column.cast("string")


def _answers(stored: StoredTable) -> Table:
    """The columns of `Scored.frame` that judgments have, text as text."""
    import ibis

    table = stored.table
    value, ok = text(table["value"]), ibis.literal("ok")
    status = text(table["status"]) if "status" in table.columns else ok
    status = ((status == "ok") & value.isnull()).fill_null(False).ifelse("missing", status)
    columns = {
        "judge": text(table["judge_id"]),
        "judge_kind": text(table["judge_kind"]),
        "prompt": text(table["prompt_id"]).fill_null("")
        if "prompt_id" in table.columns
        else ibis.literal(""),
        "task": text(table["dimension"]),
        "item_id": text(table["item_id"]),
        "sample": table["sample"].cast("int64") if "sample" in table.columns else ibis.literal(1),
        "value": (status == "ok").fill_null(False).ifelse(value, ibis.null("string")),
        "status": status,
    }
    carried = [name for name in KEPT if name in table.columns and name not in (CONDITION, BASE)]
    return table.select(**columns, **{name: table[name] for name in carried})


def _refuse_gaps(answers: Table) -> None:
    """Refuse judgments without a judge, task or item, and those given twice."""
    names = {"judge": "judge_id", "task": "dimension", "item_id": "item_id"}
    counts = {ours: answers[ours].isnull().sum() for ours in names}
    missing = fetched(answers.aggregate(n=answers.count(), **counts)).iloc[0]
    if not missing["n"]:
        raise InputError("judgments: there are no rows; give judgments.")
    for ours, name in names.items():
        if missing[ours]:
            raise InputError(
                f"judgments: column '{name}' is empty in {int(missing[ours]):,} rows; fill it in."
            )
    each = answers.group_by(list(GROUP)).agg(n=answers.count())
    duplicates = fetched(each.filter(each["n"] > 1).limit(1))
    if len(duplicates):
        first = duplicates.iloc[0]
        raise InputError(
            f"judgments: '{first['judge']}' judges item '{first['item_id']}' on '{first['task']}' "
            f"{first['n']} times in one sample; keep one row per sample."
        )


def _whole_items(answers: Table, gold: pd.DataFrame) -> Table:
    """Answers to whole items; those to lines are refused where they have gold labels."""
    of_lines = answers["task"].re_search(LINES)
    if (gold["task"] == LINE).any() and (n := int(of_lines.cast("int64").sum().to_pyarrow().as_py())):
        raise InputError(
            f"{n:,} judgments are of lines, which need rows in memory; filter the table to other dimensions, "
            "or read it."
        )
    return answers.filter(~of_lines)


def _refuse_copies(stored: StoredTable, items: pd.DataFrame | None) -> None:
    """Refuse perturbed items, which are clustered with their originals."""
    table, n = stored.table, 0
    for name, usual in ((CONDITION, UNPERTURBED), (BASE, None)):
        if name in table.columns:
            filled = text(table[name]).strip()
            expected = text(table["item_id"]) if usual is None else usual
            n += int(((filled != "") & (filled != expected)).fill_null(False).sum().to_pyarrow().as_py() or 0)
        if items is not None and name in items:
            filled = filled_text(items[name]).dropna()
            n += int((filled != (items["item_id"][filled.index] if usual is None else usual)).sum())
    if n:
        raise InputError(
            f"{n:,} rows are of perturbed items, which need rows in memory to be drawn with their originals; "
            "filter the table to original items, or read it."
        )


def _join_gold(answers: Table, gold: pd.DataFrame) -> Table:
    """Answers to the units that have a gold label."""
    import ibis

    units = gold[["task", "item_id", "label"]].dropna().astype(str)
    return answers.join(ibis.memtable(pa.Table.from_pandas(units, preserve_index=False)), ["task", "item_id"])


def _coded(beside: Table, classes: Mapping[str, Sequence[str]], levels: Mapping[str, Sequence[str]]) -> Table:
    """Answers with codes of what is given and what is gold, as in `Scored.frame`."""
    import ibis

    task, value = beside["task"], beside["value"]

    def codes(column: Column, names: Mapping[str, Sequence[str]]) -> list[tuple[Column, int]]:
        return [
            ((task == task_name) & (column == name), code)
            for task_name, labels in names.items()
            for code, name in enumerate(labels)
        ]

    unknown_cases = [(task == task_name, len(labels)) for task_name, labels in classes.items()]
    predicted = ibis.cases((value.isnull(), NO_ANSWER), *codes(value, classes), *unknown_cases)
    level = ibis.cases(*codes(beside["label"], levels))
    coded = beside.mutate(predicted=predicted.cast("int64"), level=level.cast("int64"))
    return coded.filter(coded["level"].notnull()).drop("value", "label")


def _with_items(scored: Table, items: pd.DataFrame) -> Table:
    import ibis

    fresh = [str(name) for name in items if name == "item_id" or name not in scored.columns]
    columns = pa.Table.from_pandas(items[fresh].astype({"item_id": str}), preserve_index=False)
    return scored.left_join(ibis.memtable(columns), "item_id").drop("item_id_right")
