"""Rows that are there twice, beyond what the contract of tables refuses."""

from __future__ import annotations

import re

import pandas as pd

from conjury.inference.errors import counted, listed
from conjury.inference.tables.columns import as_text, fold
from conjury.inference.tables.schema import INSTRUMENT, KEYS, PAIR_KIND

from ...frames.notes import Note
from ...frames.rounding import percentage
from ...frames.sentences import agreeing
from ..registry import Check, Question, check, highest

REPEATED_KEYS = Question(
    code="CJ405",
    name="repeated_keys",
    title="Repeated rows",
    text="Do rows of the same judge, item, prompt and sample occur twice, under the same or nearly the same "
    "names?",
    consequence="Such rows count twice, so standard errors are too small, and where their values differ, "
    "one of them is wrong.",
    remedy="Keep one of these rows, number true repetitions in the column sample, and spell each name in "
    "one way.",
    alarms="never",
)
NOTHING = "There are no tables of answers, items or labels."
VALUES = {"judgments": "value", "choices": "chosen", "labels": "label", "responses": "text"}
ASKED = ("judge_id", "prompt_id", "item_id", "task_id", "sample")
_SPACES = re.compile(r"\s+")
_WHOLE = re.compile(r"^(-?\d+)\.0+$")


@check(REPEATED_KEYS)
def repeated_keys(
    judgments: pd.DataFrame | None = None,
    choices: pd.DataFrame | None = None,
    responses: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    labels: pd.DataFrame | None = None,
    respondents: pd.DataFrame | None = None,
) -> Check:
    """Count rows whose keys are those of an earlier row, but for case, spaces and forms of numbers."""
    tables = {
        "judgments": judgments,
        "choices": choices,
        "responses": responses,
        "items": items,
        "labels": labels,
        "respondents": respondents,
    }
    counts, parts = [], []
    for name, table in tables.items():
        if table is None or table.empty:
            continue
        key = key_of(name, table)
        if not key:
            continue
        repeats = repeated_rows(table, key, VALUES.get(name))
        row = {"judge": "", "prompt": "", "table": name, "n": len(table), "repeated": len(repeats)}
        row |= {"conflicting": int(repeats["conflict"].sum()), "spelling": int(repeats["spelling"].sum())}
        counts.append(row)
        parts.append(repeats.assign(table=name))
    if not counts:
        return REPEATED_KEYS.not_applicable(NOTHING)
    numbers = pd.DataFrame(counts)
    numbers = numbers.assign(label=numbers["table"], estimate=numbers["repeated"] / numbers["n"])
    rows = pd.concat(parts, ignore_index=True)
    if rows.empty:
        return REPEATED_KEYS.answer(
            numbers, "pass", Note.of("No row of {names} occurs twice.", names=listed(numbers["table"]))
        )
    worst = highest(numbers, numbers["repeated"])
    first = rows[rows["table"] == worst["table"]].iloc[0]
    conflict, spelling = int(rows["conflict"].sum()), int(rows["spelling"].sum())
    finding = Note.of(
        "{rows} of {tables} {verb} the key of an earlier row, the largest number in {table}, "
        "{repeated:,} of {n:,} ({share}); {conflict:,} of them have another value than the "
        "earlier row, and {spelling:,} another spelling of a name. The first is row {row:,}, "
        "like row {earlier:,}.",
        rows=counted(len(rows), "row"),
        tables=counted(len(numbers), "table"),
        verb=agreeing(len(rows), "has", "have"),
        table=worst["table"],
        repeated=int(worst["repeated"]),
        n=int(worst["n"]),
        share=percentage(worst["estimate"], 1),
        conflict=conflict,
        spelling=spelling,
        row=int(first["row"]),
        earlier=int(first["earlier"]),
    )
    return REPEATED_KEYS.answer(numbers, "error" if conflict else "warning", finding, rows=rows)


def key_of(name: str, table: pd.DataFrame) -> list[str]:
    """Columns that name a row of a table."""
    if name == "respondents":
        return ["judge_id"] if "judge_id" in table else []
    if (
        name == "responses"
    ):  # the contract's key is that of requests, which two requests of one question differ in
        further = ["arrangement", "round", "occasion"]
        return [column for column in (*ASKED, *further) if column in table]
    further = [column for column in INSTRUMENT if column != PAIR_KIND]
    if name == "judgments":
        further += ["condition", "rule"]
    return [column for column in (*KEYS[name], *further) if column in table]


def repeated_rows(table: pd.DataFrame, key: list[str], value: str | None) -> pd.DataFrame:
    """Rows whose folded key is that of an earlier row: ``row, earlier``, names, ``conflict, spelling``."""
    folded_keys = pd.DataFrame({name: _folded_values(table[name]) for name in key})
    exact = pd.DataFrame({name: as_text(table[name]).fillna("") for name in key}).reset_index(drop=True)
    number = folded_keys.groupby(key, sort=False).ngroup().to_numpy()
    first = pd.Series(range(len(table))).groupby(number).transform("first").to_numpy()
    is_duplicate = first != range(len(table))
    places, earlier = is_duplicate.nonzero()[0], first[is_duplicate]
    names = [name for name in ASKED if name in table]
    repeats: pd.DataFrame = table.iloc[places][names].reset_index(drop=True)
    repeats.insert(0, "earlier", earlier + 1)
    repeats.insert(0, "row", places + 1)
    repeats["spelling"] = (exact.iloc[places].to_numpy() != exact.iloc[earlier].to_numpy()).any(axis=1)
    if value is None or value not in table:
        return repeats.assign(conflict=False)
    values = as_text(table[value]).fillna("").to_numpy()
    return repeats.assign(conflict=values[places] != values[earlier])


def _folded_values(values: pd.Series) -> pd.Series[str]:
    """Values without case, spaces and forms of numbers, by distinct value."""
    codes, distinct = pd.factorize(as_text(values).fillna(""))
    folded = [_WHOLE.sub(r"\1", _SPACES.sub(" ", fold(str(value))).strip()) for value in distinct]
    return pd.Series(pd.array(folded, dtype="string").take(codes))
