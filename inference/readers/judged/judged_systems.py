"""Which column of a table names the systems that answered, and which has targets of prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from ...errors import InputError, listed
from ...tables.columns import plain
from ...tables.items import prompt_column
from ...tables.reading.account import AccountEntry
from .judged_table import Judged

SYSTEM = ("system", "system id", "system name", "model", "model id", "model name", "assistant")
FEWEST = 10  # prompts in which several systems have the same cell, as labels of people hardly are
NAME = "system of a file"


def columns_of_systems(frame: pd.DataFrame) -> list[str]:
    """The columns that are called as systems are, several of which answered a prompt."""
    prompt = prompt_column(frame)
    names = [str(name) for name in frame if plain(str(name)) in SYSTEM and name != prompt]
    if prompt is None:
        return []
    return [name for name in names if (frame.groupby(prompt)[name].nunique() > 1).any()]


def system_column(judged: Judged) -> str:
    """The one column of systems in a table, by its name."""
    names = columns_of_systems(judged.frame)
    if len(names) != 1:
        which = f" ({listed(names)})" if names else ""
        raise InputError(
            f"{judged.source}: name the column of the systems{which} with --system, or give a file for each."
        )
    if judged.table is not None:
        sentence = f"{judged.source}: systems are in column '{names[0]}'"
        judged.table.account.adding([AccountEntry("roles", sentence, option="--system")])
    return names[0]


def refuse_targets(tables: Mapping[str, Judged], people: Sequence[str], system: str | None) -> None:
    """Refuse a column with one cell for all systems of a prompt, which no label of an answer has."""
    first = next(iter(tables.values()))
    prompt = first.reading.rules.id or first.id or prompt_column(first.frame)
    frames = [table.frame.assign(**{NAME: table.frame.get(system, name)}) for name, table in tables.items()]
    for name in people:
        if prompt is None or not all({prompt, name} <= set(frame) for frame in frames):
            continue
        cells = pd.concat([frame[[prompt, NAME, name]] for frame in frames]).dropna()
        by_prompt = cells.groupby(prompt)
        distinct = by_prompt[name].nunique()[by_prompt[NAME].nunique() > 1]
        varies = cells[name].nunique() > 1 or bool(first.scores)
        if varies and len(distinct) >= FEWEST and distinct.max() == 1:
            raise InputError(
                f"{first.source}: '{name}' is the same for all systems in each of {len(distinct):,} prompts, "
                "so it is a target and no label of an answer; name the column that says whether an answer is "
                "right with --judge, and people's labels, or none, with --human."
            )
