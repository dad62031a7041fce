"""Ratings in tables: one row a person with a column a rating, one row an assignment, or one row a rating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError
from ..tables.columns import did_you_mean, listed, refuse
from .checks import failed_checks, joined
from .imported import PERSON, TAKEN, Imported, Rules, finish
from .kinds import kinds_of
from .layout import Layout, Place, find_places, renamed, told_odd
from .texts import require_column, to_number, typed


@dataclass(frozen=True)
class Answers:
    """An export as its program wrote it.

    Attributes
    ----------
    source : str
        What errors call the file.
    table : DataFrame of n rows of text
        One row a person, an assignment or a rating; empty cells are missing.
    judge : str or None
        Column that tells who answered.
    reasons : DataFrame of n rows
        One column a reason of the program to leave rows out, true where it holds.
    times : DataFrame of n rows
        ``duration`` in seconds, ``started`` and ``ended`` in UTC, as far as the program tells.
    technical : set of str
        Columns that hold no ratings whatever their names.
    mixed : bool
        Whether judges may be people or models.
    notes : tuple of str
    """

    source: str
    table: pd.DataFrame
    judge: str | None
    reasons: pd.DataFrame
    times: pd.DataFrame
    technical: set[str] = field(default_factory=set)
    mixed: bool = False
    notes: tuple[str, ...] = ()


def to_judgments(answers: Answers, layout: Layout, rules: Rules) -> Imported:
    """Find the ratings of an export and bring them to judgments.

    A person's item without any rating counts as not shown and has no row, unless ``layout.all_shown``; an
    item that a column of the export names was shown, and what is empty there is missing.

    Raises
    ------
    InputError
        With file, column, row and remedy.
    """
    source, table = answers.source, answers.table
    places = _places(answers, layout)
    _check_columns(answers, layout, places)
    long = _long(answers, layout, places)
    long, told = _without_unseen(long, layout, places, source)
    told = [*told_odd(places, layout), *told]
    if answers.mixed:
        if layout.kind is not None and any(place.judge for place in places):
            raise InputError(
                "--judge-kind names a column of rows, and --ratings takes judges from the names of columns; "
                "use --models NAME."
            )
        long["judge_kind"], assumed = kinds_of(
            long["judge_id"], long["_row"].to_numpy(), table, layout, source
        )
        told += assumed
    person = _of_rows(answers, layout, rules)
    for name in person:
        long[name] = person[name].iloc[long["_row"].to_numpy()].array
    silent = sorted(set(range(len(table))) - set(long["_row"]))
    if silent:
        told.append(f"Rows of the export without any rating: {len(silent):,} (the first is {silent[0] + 1}).")
    return finish(long.drop(columns="_row"), rules, source, (*answers.notes, *told))


def _places(answers: Answers, layout: Layout) -> list[Place]:
    if layout.value and layout.ratings:
        raise InputError("--value and --ratings both name rating columns; use one of them.")
    if layout.value:
        for column in layout.value.values():
            require_column(answers.table, column, answers.source, "--value")
        if layout.dimension is not None and len(layout.value) > 1:
            raise InputError("--dimension names a column, so there is one --value; give one of them.")
        return [
            Place(column, None if layout.dimension is not None else name)
            for name, column in layout.value.items()
        ]
    named = (answers.judge, layout.item, layout.dimension, layout.sample, layout.panel, layout.duration)
    used = {*named, layout.person, layout.kind, *layout.covariates}
    ignored = answers.technical | {name for name in used if name is not None}
    return find_places(answers.table, layout, ignored, answers.source)


def _check_columns(answers: Answers, layout: Layout, places: Sequence[Place]) -> None:
    table, source = answers.table, answers.source
    named = {"--dimension": layout.dimension, "--sample": layout.sample, "--panel": layout.panel}
    for option, column in named.items():
        if column is not None:
            require_column(table, column, source, option)
    if any(place.dimension is None for place in places) and layout.dimension is None:
        column = next(place.column for place in places if place.dimension is None)
        raise InputError(
            f"{source}: nothing tells the dimension of column '{column}'; put {{dimension}} into --ratings, "
            "or write --ratings 'NAME=PATTERN', such as 'funniness=Q{item}'."
        )
    if any(place.item is None for place in places) and layout.item is None:
        column = next(place.column for place in places if place.item is None)
        raise InputError(
            f"{source}: nothing tells the item of column '{column}'; put {{item}} into --ratings, or name "
            f"the column that holds it with --item (there are: {listed(table.columns)})."
        )
    if layout.item is not None and any(place.item is not None for place in places):
        raise InputError("--item and {item} in --ratings both name the item; use one of them.")
    if answers.judge is None and any(place.judge is None for place in places):
        raise InputError(
            f"{source}: nothing tells who rated; name the column with --judge (there are: "
            f"{listed(table.columns)})."
        )


def _long(answers: Answers, layout: Layout, places: Sequence[Place]) -> pd.DataFrame:
    """One row a cell of the rating columns, respondent by respondent; ``_row`` is the row of the table."""
    table, n, width = answers.table, len(answers.table), len(places)
    row = np.repeat(np.arange(n), width)
    column = np.tile(np.arange(width), n)

    def each(of: Any) -> Any:
        return np.array([of(place) for place in places], dtype=object)[column]

    dimension = each(lambda place: place.dimension)
    if layout.dimension is not None:
        dimension = _filled(answers, layout.dimension)[row]
    judge = each(lambda place: place.judge)
    if answers.judge is not None:
        judge = np.where(pd.isna(judge), _filled(answers, answers.judge)[row], judge)
    item = each(lambda place: place.item)
    if layout.item is not None:
        cells = [table[_item_column(answers, layout.item, place)].to_numpy(dtype=object) for place in places]
        item = np.stack(cells, axis=1).reshape(-1)
    long = pd.DataFrame(
        {
            "_row": row,
            "row": row + 1,
            "column": each(lambda place: place.column),
            "judge_id": judge,
            "judge_kind": "human",
            "item_id": item,
            "dimension": dimension,
            "raw": table[[place.column for place in places]].to_numpy(dtype=object).reshape(-1),
        }
    )
    if layout.sample is not None:
        long["sample"] = _whole(answers, layout.sample).to_numpy()[row]
    elif any(place.sample for place in places):
        long["sample"] = each(lambda place: int(place.sample or 1)).astype(int)
    long["raw"] = long["raw"].astype("string")
    return renamed(long, layout, answers.source)


def _item_column(answers: Answers, item: str, place: Place) -> str:
    if "{" not in item:
        require_column(answers.table, item, answers.source, "--item")
        return item
    if place.place is None or item.replace("{place}", "").count("{"):
        raise InputError(
            f"--item '{item}' needs the number of the place; write {{place}} in it and in --ratings, such as "
            "--ratings 'Q{place}_{dimension}' --item 'item_{place}'."
        )
    column = item.replace("{place}", place.place)
    require_column(answers.table, column, answers.source, "--item")
    return column


def _filled(answers: Answers, column: str) -> Any:
    empty = answers.table[column].isna().to_numpy()
    if empty.any():
        refuse(answers.source, column, empty, "is empty", "fill it in, or name another column")
    return answers.table[column].to_numpy(dtype=object)


def _whole(answers: Answers, column: str) -> pd.Series[Any]:
    cells = answers.table[column]
    numbers = cells.map(to_number, na_action="ignore")
    bad = (numbers.isna() | (numbers.astype("Float64") % 1 != 0)).fillna(True).to_numpy(dtype=bool)
    if bad.any():
        refuse(answers.source, column, bad, "is no whole number", "number the samples from 1")
    return numbers.astype("Int64")


def _without_unseen(
    long: pd.DataFrame, layout: Layout, places: Sequence[Place], source: str
) -> tuple[pd.DataFrame, list[str]]:
    """Leave out what was not shown: items that are not named, or that have no rating at all."""
    nameless = long["item_id"].isna()
    rated = (nameless & long["raw"].notna()).to_numpy(dtype=bool)
    if rated.any():
        row = long.iloc[int(rated.argmax())]
        column = layout.item if layout.item and "{" not in layout.item else "of its item"
        raise InputError(
            f"{source}: row {row['row']} rates in column '{row['column']}', but its column '{column}' is "
            "empty; name the item there, or empty the rating."
        )
    unseen = nameless
    named_by_column = all(place.item is not None for place in places)
    if named_by_column and not layout.all_shown:
        group = [long["_row"], long["judge_id"], long["item_id"]]
        answered = long["raw"].notna().groupby(group).transform("any")
        unseen = unseen | ~answered
    if unseen.all():
        raise InputError(
            f"{source}: the rating columns ({listed(long['column'].unique(), 6)}) are all empty; export the "
            "answers, or correct --ratings."
        )
    groups = long[unseen][["_row", "column"] if not named_by_column else ["_row", "item_id"]]
    count = len(groups.drop_duplicates())
    notes = (
        [
            f"Items without any rating in a row, taken as not shown: {count:,} (--all-shown counts them as "
            "missing)."
        ]
        if count and named_by_column
        else []
    )
    return long[~unseen].reset_index(drop=True), notes


def _of_rows(answers: Answers, layout: Layout, rules: Rules) -> pd.DataFrame:
    """Marks, times and further columns of each row of the export."""
    table, source = answers.table, answers.source
    known = [str(name) for name in answers.reasons]
    for name in rules.ignore:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(
                f"--ignore '{name}' is no reason of this export{hint}; use {listed(known) or 'none'}."
            )
    reasons = [
        pd.Series(pd.NA, index=table.index, dtype="string").mask(answers.reasons[name].to_numpy(), name)
        for name in known
        if name not in rules.ignore
    ]
    made = pd.DataFrame(
        {"excluded": joined([*reasons, failed_checks(table, rules.checks, source)], table.index)}
    )
    times = answers.times
    if layout.duration is not None:
        require_column(table, layout.duration, source, "--duration")
        times = times.assign(duration=_seconds(table[layout.duration], source))
    for name in map(str, times):
        if times[name].notna().any():
            made[name] = times[name]
    if layout.panel is not None:
        made["panel"] = table[layout.panel].astype("string")
    if layout.person is not None:
        require_column(table, layout.person, source, "--prolific-id")
        made[PERSON] = table[layout.person].astype("string")
    for name, column in _covariates(answers, layout).items():
        made[name] = column
    return made


def _seconds(cells: pd.Series[Any], source: str) -> pd.Series[Any]:
    numbers = cells.map(to_number, na_action="ignore").astype("Float64")
    bad = (numbers.isna() & cells.notna()).to_numpy(dtype=bool)
    if bad.any():
        value = cells.iloc[int(bad.argmax())]
        refuse(source, str(cells.name), bad, f"holds '{value}', which is no number", "give seconds")
    return numbers


def _covariates(answers: Answers, layout: Layout) -> Mapping[str, pd.Series[Any]]:
    made: dict[str, pd.Series[Any]] = {}
    for name in layout.covariates:
        require_column(answers.table, name, answers.source, "--covariates")
        own = f"respondent_{name}" if name in TAKEN else name
        made[own] = typed(answers.table[name])
    return made
