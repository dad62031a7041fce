"""Conjoint exports of Qualtrics, with levels in columns such as K-1-2-1, by their importer."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pandas as pd

from ...errors import InputError, listed
from ...inference_wings import WINGS
from ...tables.columns import as_text
from ...tables.frames import any_frame
from ...tables.reading import ReadingRules
from ...tables.reading.account import AccountEntry
from ..programs.record_shapes import response_column

LEVEL = re.compile(r"\w+-\d+-\d+-\d+")
RESPONSE = "ResponseId"
OPTIONS = (  # of the importer, and of commands that read any conjoint
    ("or name --first and --second", "or give --relabel 'TEXT=1' and --relabel 'TEXT=2'"),
    ("with --outcomes", "with --outcome COLUMN,COLUMN,..."),
    ("(--first and --second)", "(--relabel 'TEXT=1' --relabel 'TEXT=2')"),
    ("give both --first and --second", "give both --relabel 'TEXT=1' and --relabel 'TEXT=2'"),
)
# Of its notes: what the account says of all reasons together, and what is as expected.
UNSAID = ("Excluded as ", "Excluded respondents ", "No task is repeated")
ID_CELL = r"R_[0-9A-Za-z]{8,}"  # of a response
INTERNAL = (
    "judge_kind",
    "pair_id",
    "profile_id",
    "attribute_order",
    "repeated_task",
    "repeat_of",
    "status",
    "repeat",
)


@any_frame
def has_drawn_levels(frame: pd.DataFrame) -> bool:
    """Whether columns have the levels of tasks that a survey drew, as Qualtrics stores them.

    Parameters
    ----------
    frame : DataFrame
        A table as it was read.

    Returns
    -------
    bool
        Whether levels are in columns such as ``K-1-2-1``.

    Examples
    --------
    >>> has_drawn_levels(pd.DataFrame({"ResponseId": ["R_1"], "K-1-1-1": ["red"]}))
    True
    """
    return any(LEVEL.fullmatch(str(name)) for name in frame)


def respondents_of(table: pd.DataFrame) -> str:
    """The column of ids of responses: by its name, which changed over the years, else by its cells."""
    as_named = response_column(map(str, table))
    if as_named is not None:
        return as_named
    for name in table:
        cells = as_text(table[name]).dropna()
        if len(cells) and cells.is_unique and bool(cells.str.fullmatch(ID_CELL).all()):
            return str(name)
    return RESPONSE


def read_qualtrics_export(
    source: Any, table: pd.DataFrame, id: str, outcome: str | None, rules: ReadingRules
) -> tuple[pd.DataFrame, tuple[str, ...], list[AccountEntry]]:
    """One row per profile of an export, its attributes by their labels, and what the importer assumed."""
    columns = None if outcome is None else [name.strip() for name in outcome.split(",")]
    answers = {label: text for text, label in rules.relabel.items()}
    first, second = answers.get("1"), answers.get("2")
    try:
        survey = WINGS.find("conjoint_exports")(
            source,
            id=id,
            outcomes=columns,
            first=first,
            second=second,
            rules=replace(rules, id=None, relabel={}),
        )
    except InputError as error:
        text = str(error)
        for option, option_here in OPTIONS:
            text = text.replace(option, option_here)
        raise InputError(text) from None
    choices = survey.choices
    is_used = ~choices["repeat"].fillna(False).astype(bool)
    entries = [AccountEntry("roles", note) for note in survey.notes if not note.startswith(UNSAID)]
    if not is_used.all():
        number = int((~is_used).sum())
        entries.append(
            AccountEntry("repeated", f"{number:,} rows of repeated tasks are excluded.", count=number)
        )
    if "excluded" in choices:
        is_excluded = choices["excluded"].notna()
        entries.append(_exclusion(choices, is_excluded))
        is_used &= ~is_excluded
    frame = choices[is_used].reset_index(drop=True)
    labels: list[str] = []
    for key, rows in survey.labels.groupby("attribute_id", sort=False):
        label = str(rows["attribute"].iloc[0])
        label = label if label not in frame else str(key)
        texts = as_text(frame[str(key)]).map(dict(zip(rows["level_id"], rows["level"], strict=True)))
        frame = frame.drop(columns=str(key)).assign(**{label: texts})
        labels.append(label)
    return frame.drop(columns=[column for column in INTERNAL if column in frame]), tuple(labels), entries


def _exclusion(choices: pd.DataFrame, is_excluded: pd.Series[bool]) -> AccountEntry:
    """How many respondents are excluded for which reason, and how many remain."""
    reasons = choices[is_excluded].drop_duplicates("judge_id")["excluded"].str.split("; ").explode()
    texts = [f"{number:,} as {reason}" for reason, number in reasons.value_counts(sort=False).items()]
    total, out = (int(part["judge_id"].nunique()) for part in (choices, choices[is_excluded]))
    sentence = f"Respondents excluded: {listed(texts)}; {total - out:,} of {total:,} remain."
    return AccountEntry("excluded", sentence, "excluded", count=int(is_excluded.sum()))
