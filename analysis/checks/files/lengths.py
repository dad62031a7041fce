"""Judgments, gold labels and items that do not cover each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text

from ..registry import Check, Question, Verdict, check, highest
from ..shares import MOST

LENGTHS = Question(
    "CJ401",
    "lengths",
    "Numbers of items, lines and labels",
    "Do judgments, gold labels and items cover the same items, and lines the same number of labels?",
    "Labels are compared with other lines or items than their own, and judges are scored on different items.",
    "Correct the tables; score only units that have both a text and a gold label, and all judges on the same "
    "items.",
    "never",
)
MANY = 0.05


@check(LENGTHS)
def lengths(
    judgments: pd.DataFrame | None = None,
    labels: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
) -> Check:
    """Count items that one table has and another lacks, and items whose lines and labels differ in number."""
    rows = list(_differences(judgments, labels, items))
    if not rows:
        return LENGTHS.not_applicable(
            "There are no two tables of items, judgments and gold labels to compare."
        )
    table = pd.DataFrame(rows, columns=["judge", "prompt", "label", "n", "of", "example"])
    table = table.assign(estimate=table["n"] / table["of"].clip(lower=1)).astype(
        {"judge": "string", "prompt": "string"}
    )
    if not table["n"].any():
        return LENGTHS.answer(
            table.drop(columns="example"), "pass", "Judgments, gold labels and items cover each other."
        )
    most = highest(table, table["estimate"])
    found = table[table["n"] > 0]
    finding = (
        f"{counted(len(found), 'comparison finds', 'comparisons find')} a difference; the largest: "
        f"{int(most['n']):,} of "
        f"{int(most['of']):,} ({most['label']}, "
        f"{' '.join(filter(None, (str(most['judge']), str(most['prompt']))))}; for "
        f"example {most['example']})."
    )
    verdict: Verdict = "error" if float(most["estimate"]) > MANY else "warning"
    return LENGTHS.answer(table.drop(columns="example"), verdict, finding, rows=found.head(MOST))


Row = tuple[str, str, str, int, int, str]


def _differences(
    judgments: pd.DataFrame | None, labels: pd.DataFrame | None, items: pd.DataFrame | None
) -> Iterator[Row]:
    known = None if items is None else pd.Index(as_text(items["item_id"]).dropna().unique())
    gold = None if labels is None else as_text(labels["item_id"]).dropna()
    if known is not None and gold is not None:
        yield _absent("gold", "", "gold labels of unknown items", pd.Index(gold.unique()), known)
    if gold is not None and labels is not None and items is not None:
        yield from _lines_and_labels(labels, items)
    if judgments is None or "item_id" not in judgments:
        return
    answers = judgments.assign(item=as_text(judgments["item_id"])).dropna(subset=["item"])
    models = answers[as_text(answers["judge_kind"]).ne("human").to_numpy(dtype=bool)]
    keys = [
        as_text(models["judge_id"]),
        as_text(models["prompt_id"]).fillna("")
        if "prompt_id" in models
        else pd.Series("", index=models.index),
    ]
    if known is not None and len(answers):
        yield _absent(
            "all judges", "", "judgments of unknown items", pd.Index(answers["item"].unique()), known
        )
    by_run = {}
    for (judge, prompt), own in models.groupby(keys, sort=False):
        for sample, run in own.groupby("sample", sort=False):
            by_run[(str(judge), str(prompt), sample)] = pd.Index(run["item"].unique())
    for prompt in dict.fromkeys(prompt for _, prompt, _ in by_run):
        runs = {key: found for key, found in by_run.items() if key[1] == prompt}
        every = pd.Index(np.unique(np.concatenate([found.to_numpy(dtype=object) for found in runs.values()])))
        for (judge, _, sample), found in runs.items():
            yield _absent(judge, prompt, f"items that sample {sample} lacks and others have", every, found)
    if {"labels_given", "lines_shown"} <= set(models):
        yield from _lines_given(models, keys)


def _absent(judge: str, prompt: str, label: str, wanted: pd.Index, known: pd.Index) -> Row:
    absent = wanted[~wanted.isin(known)]
    return judge, prompt, label, len(absent), len(wanted), f"item {absent[0]}" if len(absent) else ""


def _lines_and_labels(labels: pd.DataFrame, items: pd.DataFrame) -> Iterator[Row]:
    """Items whose text has another number of lines than there are gold labels of lines."""
    line = as_text(labels["label_set"]).str.extract(r"^line_(\d+)$", expand=False)
    if line.isna().all() or "text" not in items:
        return
    given = pd.to_numeric(line).groupby(as_text(labels["item_id"])).max().dropna()
    texts = items["text"].map(
        lambda text: "\n".join(map(str, text)) if isinstance(text, list | np.ndarray) else text
    )
    shown = pd.Series(
        as_text(texts).fillna("").map(lambda text: len(text.splitlines())).to_numpy(),
        index=as_text(items["item_id"]),
    )
    both = pd.DataFrame({"given": given, "shown": shown[~shown.index.duplicated()]}).dropna()
    differs = both.index[both["given"] != both["shown"]]
    yield (
        "gold",
        "",
        "gold labels of another number than lines",
        len(differs),
        len(both),
        f"item {differs[0]}" if len(differs) else "",
    )


def _lines_given(models: pd.DataFrame, keys: list[pd.Series[str]]) -> Iterator[Row]:
    """Answers that label another number of lines than were shown."""
    first = models.drop_duplicates(["judge_id", "prompt_id", "item_id", "sample"]).dropna(
        subset=["labels_given", "lines_shown"]
    )
    differs = (first["labels_given"] != first["lines_shown"]).to_numpy(dtype=bool)
    for (judge, prompt), own in first.assign(differs=differs).groupby(
        [key.loc[first.index] for key in keys], sort=False
    ):
        bad = own[own["differs"]]
        example = f"item {bad['item'].iloc[0]}" if len(bad) else ""
        yield (
            str(judge),
            str(prompt),
            "answers with another number of labels than lines",
            len(bad),
            len(own),
            example,
        )
