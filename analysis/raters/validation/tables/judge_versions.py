"""Which version of a judge gave the answers of a table: scores of two versions are of two judges."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd

from conjury.inference.errors import InputError, counted, listed
from conjury.inference.tables.columns import as_text

# Columns that name what scored a row. `model` alone names what answered.
VERSION = re.compile(
    r"(judge|grader|scorer|evaluator|rater|verifier)[ _.-]?"
    r"(model|version|model[ _.-]?(version|name|id)|prompt[ _.-]?(version|id|hash)|checkpoint|revision)",
    re.IGNORECASE,
)
MOST_VERSIONS = 30  # values above which a column has something else in it, such as ids of requests


def refuse_versions(table: pd.DataFrame, source: str) -> None:
    """Refuse a table that several versions of a judge scored."""
    for name, counts in version_counts(table):
        example = str(counts.index[0])
        raise InputError(
            f"{source}: column '{name}' has {counted(len(counts), 'value')} ({_named(counts)}), and scores "
            f"of two versions of a judge are those of two judges; choose one with --where {name}={example} "
            "or give the scores of each version in a column."
        )


def notes_on_versions(table: pd.DataFrame) -> list[str]:
    """Say that several versions of a judge gave the answers of a table."""
    return [
        f"Column '{name}' has {counted(len(counts), 'value')} ({_named(counts)}): agreement is that of all "
        f"versions together, and holds for none of them; choose one with --where, or compare them with "
        f"--by {name}."
        for name, counts in version_counts(table)
    ]


def version_counts(table: pd.DataFrame) -> Iterator[tuple[str, pd.Series[int]]]:
    """Columns of versions with several values, and how many rows have each."""
    for name in map(str, table.columns):
        if VERSION.fullmatch(name.strip()) and not isinstance(table[name], pd.DataFrame):
            counts = as_text(table[name]).str.strip().value_counts()
            if 1 < len(counts) <= MOST_VERSIONS:
                yield name, counts


def version_of(table: pd.DataFrame, version: str) -> str:
    """The version of the judge: the one value of a column of that name, else the text itself."""
    if version not in table:
        return version
    column = as_text(table[version]).str.strip()
    values = list(dict.fromkeys(column.dropna()))
    if len(values) != 1 or column.isna().any():
        what = listed(map(repr, values), 4) if values else "no value"
        end = " and empty cells" if values and column.isna().any() else ""
        raise InputError(
            f"Column '{version}' of the judge's version has {what}{end}; a map is of one version, so choose "
            "its rows with --where, or state it as text."
        )
    return str(values[0])


def _named(counts: pd.Series[int]) -> str:
    return listed((f"'{value}' in {counted(int(n), 'row')}" for value, n in counts.items()), 4)
