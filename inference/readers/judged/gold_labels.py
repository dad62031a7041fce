"""Gold labels of a study: read, taken from columns, or the majority of people's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from ...errors import InputError, did_you_mean, listed
from ...study.asking import LabelLevel
from ...study.models import LINE, ItemStudy
from ...tables.columns import as_text, refuse
from ...tables.files import read_table
from ...tables.reading.cell_rules import label_key
from ...tables.schema import require_columns, validate
from ..aliases import rename_columns

RAW = "raw"  # column of labels with the label as the table had it


def read_labels(
    path: str | Path, study: ItemStudy | None = None, notes: list[str] | None = None
) -> pd.DataFrame:
    """Read gold labels and write them by the ids of a study; ``notes`` receives what was assumed."""
    frame = read_table(path, "labels")
    return frame if study is None else _labels_by_id(frame, study, str(path), notes)


def labels_from_columns(
    frame: pd.DataFrame,
    study: ItemStudy,
    columns: Mapping[str, str],
    *,
    lines: pd.DataFrame | None = None,
    source: str = "table",
    notes: list[str] | None = None,
) -> pd.DataFrame:
    """Make labels from a table that has gold labels in columns; ``notes`` receives what was assumed."""
    parts = []
    for name, column in columns.items():
        if name not in study.label_sets:
            raise InputError(
                f"{source}: study {study.name} has no labels '{name}'{did_you_mean(name, study.label_sets)}; "
                f"name one of {listed(study.label_sets)}."
            )
        table = lines if name == LINE and lines is not None else frame
        table = rename_columns(table, study, keep=[column])
        require_columns(table, ["item_id", column, *([LINE] if name == LINE else [])], source)
        rows = table[table[column].notna()]
        sets = f"{LINE}_" + as_text(rows[LINE]) if name == LINE else name
        parts.append(
            pd.DataFrame({"item_id": rows["item_id"], "label_set": sets, "label": as_text(rows[column])})
        )
    if not parts:
        raise InputError(f"{source}: no column of gold labels is named; name one, as joke_type=COLUMN.")
    return _labels_by_id(
        validate(pd.concat(parts, ignore_index=True), "labels", source), study, source, notes
    )


def majority_labels(
    judgments: pd.DataFrame, dimension: str, *, covers: Mapping[str, Sequence[str]] | None = None
) -> pd.DataFrame:
    """Find the label that more than half of the people gave each item."""
    # Labels that count as one class are counted together; the label is the one of that class with most votes,
    # of equals the one that `covers` names first (`level_tied`).
    votes = _votes(judgments, dimension)
    items = pd.Index(dict.fromkeys(votes["item_id"]), name="item_id")
    counts = votes.dropna(subset="value").groupby(["item_id", "value"], observed=True, sort=True).size()
    table = counts.rename("n").reset_index()
    owner = {level: name for name, levels in (covers or {}).items() for level in levels}
    table["class"] = [owner.get(value, value) for value in table["value"]]
    total = table.groupby("item_id", observed=True)["n"].sum().reindex(items, fill_value=0)
    classes = table.groupby(["item_id", "class"], observed=True)["n"].sum()
    most = classes.groupby(level="item_id", observed=True).max()
    leading = classes.eq(classes.groupby(level="item_id", observed=True).transform("max"))
    tied = leading.groupby(level="item_id", observed=True).sum().reindex(items, fill_value=0) > 1
    levels = _levels_of_majority(table, total, list(owner))
    majorities = pd.DataFrame({"label_set": dimension, "label": levels["value"].reindex(items)}, index=items)
    majorities = majorities.assign(
        n_votes=total,
        share=most.reindex(items) / total.where(total > 0),
        tied=tied.to_numpy(dtype=bool),
        level_tied=levels["tied"].reindex(items, fill_value=False).to_numpy(dtype=bool),
    )
    return majorities.reset_index().astype(dict.fromkeys(("item_id", "label_set", "label"), "string"))


def _levels_of_majority(table: pd.DataFrame, total: pd.Series[int], order: list[str]) -> pd.DataFrame:
    """By item, the label with most votes in the class of more than half, and whether others have as many."""
    of_class = table.groupby(["item_id", "class"], observed=True)["n"].transform("sum")
    majority_rows = table[2 * of_class > table["item_id"].map(total)]
    first = majority_rows[
        majority_rows["n"] == majority_rows.groupby("item_id", observed=True)["n"].transform("max")
    ]
    places = first["value"].map({level: place for place, level in enumerate(order)}).fillna(len(order))
    first = first.assign(place=places, tied=first["item_id"].duplicated(keep=False))
    return first.sort_values(["item_id", "place", "value"]).drop_duplicates("item_id").set_index("item_id")


def notes_of_majority(votes: pd.DataFrame) -> list[str]:
    """State how many items have no majority, and in how many it has several labels with as many votes."""
    without, tied = votes["label"].isna(), votes["tied"]
    notes = []
    if without.any():
        notes.append(
            f"{int(without.sum()):,} of {len(votes):,} items have no label of more than half of the votes, "
            f"and no gold label: {int((without & tied).sum()):,} have a tied vote, "
            f"{int((without & ~tied & (votes['n_votes'] > 0)).sum()):,} a label with most votes that is no "
            "majority."
        )
    if votes["level_tied"].any():
        notes.append(
            f"{int(votes['level_tied'].sum()):,} of {len(votes):,} items have a majority for a class of "
            "labels, but as many votes for several of its labels; the first that the study names is gold."
        )
    return notes


def _votes(judgments: pd.DataFrame, dimension: str) -> pd.DataFrame:
    """One row an item and person, with the label of the first sample that is ok; missing where none is."""
    needed = ["judge_id", "judge_kind", "item_id", "dimension", "value", "status"]
    require_columns(judgments, needed, "judgments")
    of_people = judgments[(judgments["judge_kind"].astype(str) == "human").to_numpy(dtype=bool)]
    names = of_people["dimension"].astype(str).unique()
    if dimension not in names:
        raise InputError(
            f"judgments: no person labelled '{dimension}'{did_you_mean(dimension, names)}; people labelled "
            f"{listed(names) or 'nothing'}."
        )
    rows = of_people[(of_people["dimension"].astype(str) == dimension).to_numpy(dtype=bool)]
    rows = rows.sort_values("sample", kind="stable") if "sample" in rows else rows
    valid = (rows["status"].astype(str) == "ok").to_numpy(dtype=bool)
    rows = rows.assign(value=rows["value"].where(valid))
    first = rows.groupby(["item_id", "judge_id"], observed=True, sort=False)["value"].first()
    return first.reset_index()


def _labels_by_id(
    labels: pd.DataFrame, study: ItemStudy, source: str, notes: list[str] | None
) -> pd.DataFrame:
    """Write labels by their ids; the table is valid already, and may contain ids already."""
    raw = as_text(labels[RAW if RAW in labels else "label"]).fillna("")
    tasks = labels["label_set"].str.replace(rf"^{LINE}_[1-9]\d*$", LINE, regex=True)
    label_sets = study.label_sets
    bad = ~tasks.isin(list(label_sets)).to_numpy(dtype=bool)
    if bad.any():
        name = str(labels["label_set"].iloc[int(bad.argmax())])
        sets = [f"{LINE}_1, {LINE}_2, ..." if task == LINE else task for task in label_sets]
        refuse(
            source,
            "label_set",
            bad,
            f"contains '{name}'{did_you_mean(name, label_sets)}",
            f"use {listed(sets)}",
        )
    names = {task: _names(study, task) for task in label_sets}
    pairs = list(zip(tasks, raw, strict=True))
    ids = {pair: names[pair[0]].get(label_key(pair[1])) for pair in dict.fromkeys(pairs)}
    label = [ids[pair] if ids[pair] is not None else pair[1].strip() for pair in pairs]
    unknown_labels = pd.Series(
        [f"{pair[0]} '{pair[1]}'" for pair in pairs if ids[pair] is None], dtype="string"
    )
    counts = unknown_labels.value_counts()
    if len(unknown_labels) and notes is not None:
        notes.append(
            f"{source}: {len(unknown_labels):,} gold labels are none of the study's and stay as they are: "
            + listed((f"{name} ({n:,})" for name, n in counts.items()), 8)
        )
    return labels.assign(label=pd.array(label, dtype="string"), **{RAW: raw})


def _names(study: ItemStudy, task: str) -> dict[str, str]:
    levels: list[LabelLevel] = study.gold.levels if study.gold is not None else []
    return {
        label_key(name): level.id
        for level in levels or study.label_sets[task].labels
        for name in (level.id, level.label, *level.aliases)
    }
