"""Answers with their references: gold labels, or what the other judges gave to the same item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import as_text, plain

from ..benchmark.data.units import bases, with_copies
from .item_texts import conditions
from .judge_shares import judge_and_prompt
from .judged import NotApplicableError

if TYPE_CHECKING:
    from conjury.inference.study.models import ItemStudy

NO_GOLD = ("", "na", "n/a", "nan", "none", "null", "<na>", "missing", "-")


def answers_of(judgments: pd.DataFrame) -> pd.DataFrame:
    """Judgments with ``judge, prompt, task, item_id, sample, value, status, place`` as text and numbers."""
    # `value` is missing unless the status is ok. `place` is the order in which items were asked: the column
    # `position` where it tells the items of each run apart, else the order of appearance.
    status = as_text(judgments["status"]) if "status" in judgments else "ok"
    frame = judge_and_prompt(judgments).assign(
        kind=as_text(judgments["judge_kind"]),
        task=as_text(judgments["dimension"]),
        item_id=as_text(judgments["item_id"]),
        sample=judgments.get("sample", 1),
        status=status,
    )
    frame["value"] = as_text(judgments["value"]).where(frame["status"].eq("ok"))
    place = pd.factorize(frame["item_id"])[0].astype(float)
    if "position" in judgments and pd.api.types.is_numeric_dtype(judgments["position"]):
        position = judgments["position"].to_numpy(dtype=float, na_value=np.nan)
        # positions may start again in each file of items; then they do not give the order of a run
        of_run = frame[["judge", "prompt", "task", "sample"]].assign(position=position)
        if not of_run.assign(item_id=frame["item_id"]).drop_duplicates().duplicated([*of_run.columns]).any():
            place = position
    return frame.assign(place=place, condition=conditions(judgments))[frame["item_id"].notna()]


def canonical(values: pd.Series[str], study: ItemStudy | None, task: str) -> pd.Series[str]:
    """Labels by their ids, where the study knows the spelling; else as they are."""
    if study is None:
        return values
    spellings = spellings_of(study, task)
    finer = gold_spellings(study) if spellings else {}
    names = {plain(text): name for name, texts in {**finer, **spellings}.items() for text in texts}
    ids = {value: names.get(plain(str(value)), str(value)) for value in values.dropna().unique()}
    return values.map(ids).astype("string")


def spellings_of(study: ItemStudy, task: str) -> dict[str, tuple[str, ...]]:
    """Id, label and aliases of each label of a task, by its id; empty where the task has no labels."""
    sets = study.label_sets
    label_set = sets.get(task) or (sets.get("line") if re.fullmatch(r"line(_\d+)?", task) else None)
    if label_set is None:
        return {}
    return {level.id: (level.id, level.label, *level.aliases) for level in label_set.labels}


def gold_spellings(study: ItemStudy) -> dict[str, tuple[str, ...]]:
    """Id, label and aliases of gold labels where they are finer than those of answers."""
    levels = study.gold.levels if study.gold is not None else []
    return {level.id: (level.id, level.label, *level.aliases) for level in levels}


def labelled(judgments: pd.DataFrame, labels: pd.DataFrame, study: ItemStudy | None = None) -> pd.DataFrame:
    """Answers to items with a gold label, as `answers_of`, with ``gold``; blank gold labels are missing."""
    # Copies without labels of their own have those of their original.
    answers = answers_of(judgments)
    gold = pd.DataFrame(
        {
            "item_id": as_text(labels["item_id"]),
            "task": as_text(labels["label_set"]),
            "gold": as_text(labels["label"]).fillna(""),
        }
    ).drop_duplicates(["item_id", "task"])
    gold = with_copies(gold, "task", bases(judgments, None))
    table = answers.merge(gold, on=["item_id", "task"], how="inner")
    if table.empty:
        raise NotApplicableError("No judged item has a gold label of the same name as a dimension.")
    table["gold"] = table["gold"].mask(table["gold"].str.strip().str.casefold().isin(NO_GOLD))
    parts = []
    for task, rows in table.groupby("task", sort=False):
        columns = {name: canonical(rows[name], study, str(task)) for name in ("value", "gold")}
        covers = study.gold.covers if study is not None and study.gold is not None else {}
        classes = {finer: label for label, levels in covers.items() for finer in levels}
        parts.append(rows.assign(**{name: column.replace(classes) for name, column in columns.items()}))
    return pd.concat(parts, ignore_index=True)


def numeric(answers: pd.DataFrame) -> pd.DataFrame:
    """Answers whose values are numbers, in ``number``; NotApplicableError where there are none."""
    number = pd.to_numeric(answers["value"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    ratings: pd.DataFrame = answers.assign(number=number)[~np.isnan(number)]
    share = len(ratings) / max(int(answers["value"].notna().sum()), 1)
    if ratings.empty or share < 0.5:
        raise NotApplicableError("The judgments are not numeric ratings.")
    return ratings


def mean_of_others(answers: pd.DataFrame) -> np.ndarray:
    """Mean rating that other judges gave to the same item on the same task, shape (n,); NaN without any."""
    by_judge = answers.groupby(["task", "item_id", "judge"], sort=False)["number"].mean()
    total = by_judge.groupby(level=["task", "item_id"], sort=False).agg(["sum", "size"])
    keys = pd.MultiIndex.from_frame(answers[["task", "item_id"]])
    means = by_judge.reindex(pd.MultiIndex.from_frame(answers[["task", "item_id", "judge"]])).to_numpy()
    sums, sizes = (total[name].reindex(keys).to_numpy(dtype=float) for name in ("sum", "size"))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sizes > 1, (sums - means) / (sizes - 1), np.nan)
