"""Judgments and gold labels of the multi-turn jokes of the shared folder, read by a small reader here."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
from shared_folder import SHARED

from conjury.analysis.audit.multiturn import JOKE_TYPES, LINE_PURPOSES
from conjury.analysis.benchmark import Scored, score
from conjury.inference.parsing.label_rules import joke_type, line_purpose

FOLDER = SHARED / "data" / "multiturn"
KEYS = {1: "category", 2: "ANSWER"}
TYPES = {1: str, 2: list}
PROMPTS = {1: "joke", 2: "lines"}


@cache
def items() -> pd.DataFrame:
    return pd.read_parquet(FOLDER / "items.parquet")[["item_id", "language", "aligned"]]


@cache
def labels(column: str = "raw") -> pd.DataFrame:
    """Gold labels as they were written (``raw``), or as classes, "NA" where they are none (``clean``)."""
    jokes, lines = pd.read_parquet(FOLDER / "items.parquet"), pd.read_parquet(FOLDER / "lines.parquet")
    jokes, lines = jokes[jokes["gold_task1"].notna()], lines[lines["gold_purpose"].notna()]
    names = ("gold_task1_raw", "gold_purpose_raw") if column == "raw" else ("gold_task1", "gold_purpose")
    of_jokes = pd.DataFrame({"item_id": jokes["item_id"], "label_set": "joke_type", "label": jokes[names[0]]})
    of_lines = pd.DataFrame(
        {
            "item_id": lines["item_id"],
            "label_set": "line_" + lines["line_no"].astype(str),
            "label": lines[names[1]],
        }
    )
    return (
        pd.concat([of_jokes, of_lines], ignore_index=True).astype({"label": "string"}).fillna({"label": ""})
    )


@cache
def judgments(protocol: str) -> pd.DataFrame:
    """Strings from the first to the last brace (``published``); those of them that are labels (``aligned``);
    labels of the first object that holds the key with a value of its type (``lenient``)."""
    read = {"published": greedy, "aligned": greedy, "lenient": first_object}[protocol]
    rows: list[tuple[Any, ...]] = []
    for name in ("completions_en", "completions_es"):
        table = pd.read_parquet(FOLDER / f"{name}.parquet")
        for row in table.itertuples(index=False):
            value = read(str(row.raw_completion).strip(), KEYS[int(row.task)], TYPES[int(row.task)])
            head = (row.model, PROMPTS[int(row.task)], row.item_id, row.language, row.run, row.prompt_no)
            if row.task == 1:
                rows.append((*head, "joke_type", value))
                continue
            given = [entry if isinstance(entry, str) else None for entry in value or []] or [None]
            rows += [(*head, f"line_{line}", entry) for line, entry in enumerate(given, 1)]
    columns = ["judge_id", "prompt_id", "item_id", "language", "sample", "position", "dimension", "value"]
    frame = pd.DataFrame(rows, columns=columns)
    value = frame["value"].astype("string")
    if protocol != "published":
        of_joke = frame["dimension"] == "joke_type"
        value = known(value, JOKE_TYPES, joke_type).where(of_joke, known(value, LINE_PURPOSES, line_purpose))
    status = value.isna().map({True: "unparsed", False: "ok"})
    return frame.assign(judge_kind="model", value=value, status=status)


def known(values: pd.Series[str], classes: tuple[str, ...], name: Callable[[str], str]) -> pd.Series[str]:
    named = {value: name(value) for value in values.dropna().unique()}
    found = values.map(named)
    return found.where(found.isin(classes)).astype("string")


@cache
def scored(protocol: str) -> Scored:
    gold = labels("clean")
    classes = {"joke_type": JOKE_TYPES, "line": LINE_PURPOSES}
    return score(judgments(protocol), gold[gold["label"] != "NA"], classes=classes, items=items())


def greedy(text: str, key: str, of: type) -> Any:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        held = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    value = held.get(key) if isinstance(held, dict) else None
    return value if isinstance(value, of) else None


def first_object(text: str, key: str, of: type) -> Any:
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            held, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            held = None
        if isinstance(held, dict) and isinstance(held.get(key), of):
            return held[key]
        start = text.find("{", start + 1)
    return None
