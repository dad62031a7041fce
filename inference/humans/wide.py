"""Ratings in tables: one row per person with a column per rating, one per assignment, or one per rating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..readers.model_names import like_models
from ..tables.columns import by_distinct, refuse
from ..tables.items import parts_of_item, with_joined
from ..tables.reading.cell_rules import key_of
from ..tables.row_numbers import row_words
from ..tables.schema import JUDGE_KINDS
from .exclusion_rules import Rules, row_exclusions
from .imported_ratings import PERSON, TAKEN, Imported, finish_import
from .rating_columns import Layout, RatingColumn, find_places, odd_columns, rename_ids
from .text_tables import numbers_or_text, require_column, to_numbers

HUMAN, MODEL = JUDGE_KINDS
KIND_WORDS = {
    **dict.fromkeys(("human", "humans", "person", "people", "annotator", "participant", "worker"), HUMAN),
    **dict.fromkeys(("respondent", "crowd", "expert"), HUMAN),
    **dict.fromkeys(("model", "models", "llm", "ai", "machine", "bot", "lm", "language model"), MODEL),
}
KIND_COLUMN = "judge_kind"


@dataclass(frozen=True)
class WideExport:
    """An export as its program wrote it."""

    source: str
    table: pd.DataFrame  # one row per person, assignment or rating; empty cells are missing
    # column that identifies the judge
    judge: str | None
    reasons: pd.DataFrame  # one column per reason of the program to exclude rows, true where it applies
    times: pd.DataFrame  # `duration` in seconds, `started` and `ended` in UTC, where they are known
    # columns that contain no ratings whatever their names
    technical: set[str] = field(default_factory=set)
    # whether judges may be people or models
    mixed: bool = False
    notes: tuple[str, ...] = ()


def to_judgments(answers: WideExport, layout: Layout, rules: Rules) -> Imported:
    """Find the ratings of an export and turn them into judgments."""
    # A person's item without any rating counts as not shown and has no row, unless `layout.all_shown`; an
    # item that a column of the export names was shown, and what is empty there is missing.
    answers = replace(answers, table=with_items(answers.table, layout.item, answers.source))
    source, table = answers.source, answers.table
    places = _places(answers, layout)
    _check_columns(answers, layout, places)
    long, notes = _drop_unseen(_long(answers, layout, places), layout, places, source)
    notes = [*answers.notes, *odd_columns(places, layout), *notes]
    row = long.pop("_row").to_numpy()
    if answers.mixed:
        if layout.kind is not None and any(place.judge for place in places):
            raise InputError(
                "--judge-kind names a column of rows, and --ratings takes judges from the names of columns; "
                "use --models NAME."
            )
        long["judge_kind"], assumed = _kinds(long["judge_id"], row, table, layout, source)
        notes += assumed
    of_rows = _row_columns(answers, layout, rules)
    for name in of_rows:
        long[name] = of_rows[name].iloc[row].array
    silent = np.flatnonzero(np.bincount(row, minlength=len(table)) == 0)
    if len(silent):
        notes.append(
            f"Rows of the export without any rating: {len(silent):,} (the first is "
            f"{row_words(source, silent[0])})."
        )
    return finish_import(long, rules, source, notes)


def with_items(table: pd.DataFrame, item: str | None, source: str) -> pd.DataFrame:
    """The table with a column of items that several columns name together."""
    parts = parts_of_item(item, table)
    for part in parts:
        require_column(table, part, source, "--item")
    return with_joined(table, parts, str(item)) if parts else table


def _places(answers: WideExport, layout: Layout) -> list[RatingColumn]:
    if layout.value and layout.ratings:
        raise InputError("--value and --ratings both name rating columns; use one of them.")
    if layout.value:
        for column in layout.value.values():
            require_column(answers.table, column, answers.source, "--value")
        if layout.dimension is not None and len(layout.value) > 1:
            raise InputError("--dimension names a column, so there is one --value; give one of them.")
        return [
            RatingColumn(column, None if layout.dimension is not None else name)
            for name, column in layout.value.items()
        ]
    named = (answers.judge, layout.item, layout.dimension, layout.sample, layout.panel, layout.duration)
    role_columns = {*named, layout.person, layout.kind, *layout.covariates}
    ignored = answers.technical | {name for name in role_columns if name is not None}
    return find_places(answers.table, layout, ignored, answers.source)


def _check_columns(answers: WideExport, layout: Layout, places: Sequence[RatingColumn]) -> None:
    table, source = answers.table, answers.source
    named = {"--dimension": layout.dimension, "--sample": layout.sample, "--panel-column": layout.panel}
    for option, column in named.items():
        if column is not None:
            require_column(table, column, source, option)
    if any(place.dimension is None for place in places) and layout.dimension is None:
        column = next(place.column for place in places if place.dimension is None)
        raise InputError(
            f"{source}: the dimension of column '{column}' is unknown; put {{dimension}} into --ratings, "
            "or write --ratings 'NAME=PATTERN', such as 'funniness=Q{item}'."
        )
    if any(place.item is None for place in places) and layout.item is None:
        column = next(place.column for place in places if place.item is None)
        raise InputError(
            f"{source}: the item of column '{column}' is unknown; put {{item}} into --ratings, or name "
            f"the column that contains it with --item (there are: {listed(table.columns)})."
        )
    if layout.item is not None and any(place.item is not None for place in places):
        raise InputError("--item and {item} in --ratings both name the item; use one of them.")
    if answers.judge is None and any(place.judge is None for place in places):
        raise InputError(
            f"{source}: no column identifies the judge; name it with --judge (there are: "
            f"{listed(table.columns)})."
        )


def _long(answers: WideExport, layout: Layout, places: Sequence[RatingColumn]) -> pd.DataFrame:
    """One row per cell of the rating columns, respondent by respondent; ``_row`` is the row of the table."""
    table, n, width = answers.table, len(answers.table), len(places)
    row = np.repeat(np.arange(n), width)
    named = pd.DataFrame([vars(place) for place in places], dtype=object)
    named = named.iloc[np.tile(np.arange(width), n)].reset_index(drop=True)
    long = pd.DataFrame(
        {
            "_row": row,
            "row": row + 1,
            "column": named["column"],
            "judge_id": named["judge"],
            "judge_kind": HUMAN,
            "item_id": named["item"],
            "dimension": named["dimension"],
            "raw": _row_by_row([table[place.column] for place in places]),
        }
    )
    if layout.dimension is not None:
        long["dimension"] = _names_in_column(answers, layout.dimension)[row]
    if answers.judge is not None:
        judge = _names_in_column(answers, answers.judge)[row]
        unnamed = long["judge_id"].isna()
        long["judge_id"] = judge if unnamed.all() else long["judge_id"].mask(unnamed, judge)
    if layout.item is not None:
        long["item_id"] = _row_by_row([table[_item_column(answers, layout.item, place)] for place in places])
    if layout.sample is not None:
        long["sample"] = _whole_numbers(answers, layout.sample).to_numpy()[row]
    elif any(place.sample for place in places):
        long["sample"] = named["sample"].fillna(1).astype(int)
    long["raw"] = long["raw"].astype("string")
    return rename_ids(long, layout, answers.source)


def _row_by_row(columns: Sequence[pd.Series[Any]]) -> Any:
    """Cells of columns, row by row; of one column as it is, since texts take six times as much as objects."""
    if len(columns) == 1:
        return columns[0].array
    return np.stack([column.to_numpy(dtype=object) for column in columns], axis=1).reshape(-1)


def _item_column(answers: WideExport, item: str, place: RatingColumn) -> str:
    """Column that names the item of a place."""
    column = item
    if "{" in item:
        if place.place is None or item.replace("{place}", "").count("{"):
            raise InputError(
                f"--item '{item}' needs the number of the place; write {{place}} in it and in --ratings, "
                "such as --ratings 'Q{place}_{dimension}' --item 'item_{place}'."
            )
        column = item.replace("{place}", place.place)
    require_column(answers.table, column, answers.source, "--item")
    return column


def _names_in_column(answers: WideExport, column: str) -> Any:
    empty = answers.table[column].isna().to_numpy()
    if empty.any():
        refuse(answers.source, column, empty, "is empty", "fill it in, or name another column")
    return answers.table[column].array


def _whole_numbers(answers: WideExport, column: str) -> pd.Series[Any]:
    numbers = to_numbers(answers.table[column])
    bad = (numbers.isna() | (numbers % 1 != 0)).fillna(True).to_numpy(dtype=bool)
    if bad.any():
        refuse(answers.source, column, bad, "is not a whole number", "number the samples from 1")
    return numbers.astype("Int64")


def _drop_unseen(
    long: pd.DataFrame, layout: Layout, places: Sequence[RatingColumn], source: str
) -> tuple[pd.DataFrame, list[str]]:
    """Drop what was not shown: items that are not named, or that have no rating at all."""
    unseen = long["item_id"].isna()
    rated = (unseen & long["raw"].notna()).to_numpy(dtype=bool)
    if rated.any():
        row = long.iloc[int(rated.argmax())]
        column = (
            f"column '{layout.item}'" if layout.item and "{" not in layout.item else "the column of its item"
        )
        raise InputError(
            f"{source}: row {row_words(source, row['row'] - 1)} rates in column '{row['column']}', but "
            f"{column} is empty; name the item there, or empty the rating."
        )
    named_by_column = all(place.item is not None for place in places)
    if named_by_column and not layout.all_shown:
        group = [long["_row"], long["judge_id"], long["item_id"]]
        unseen = unseen | ~long["raw"].notna().groupby(group).transform("any")
    if unseen.all():
        raise InputError(
            f"{source}: the rating columns ({listed(long['column'].unique(), 6)}) are all empty; export the "
            "answers, or correct --ratings."
        )
    notes = []
    if named_by_column and unseen.any():
        count = len(long.loc[unseen, ["_row", "item_id"]].drop_duplicates())
        notes = [
            f"Items without any rating in a row are treated as not shown: {count:,} (--all-shown treats "
            "them as missing)."
        ]
    return long[~unseen].reset_index(drop=True), notes


def _row_columns(answers: WideExport, layout: Layout, rules: Rules) -> pd.DataFrame:
    """Marks, times and further columns of each row of the export."""
    table, source = answers.table, answers.source
    columns = {"excluded": row_exclusions(table, answers.reasons, rules, source)}
    times = answers.times
    if layout.duration is not None:
        require_column(table, layout.duration, source, "--duration")
        times = times.assign(duration=read_seconds(table[layout.duration], source))
    columns |= {str(name): times[name] for name in times if times[name].notna().any()}
    if layout.panel is not None:
        columns["panel"] = table[layout.panel].astype("string")
    if layout.person is not None:
        require_column(table, layout.person, source, "--prolific-id")
        columns[PERSON] = table[layout.person].astype("string")
    for name in layout.covariates:
        require_column(table, name, source, "--covariates")
        columns[f"respondent_{name}" if name in TAKEN else name] = numbers_or_text(table[name])
    return pd.DataFrame(columns)


def read_seconds(cells: pd.Series[Any], source: str) -> pd.Series[Any]:
    """Seconds of a column; InputError where a cell is no number."""
    numbers = to_numbers(cells)
    bad = (numbers.isna() & cells.notna()).to_numpy(dtype=bool)
    if bad.any():
        value = cells.iloc[int(bad.argmax())]
        refuse(source, str(cells.name), bad, f"contains '{value}', which is not a number", "give seconds")
    return numbers


def _kinds(
    judges: pd.Series[Any], rows: np.ndarray[Any, Any], table: pd.DataFrame, layout: Layout, source: str
) -> tuple[pd.Series[Any], list[str]]:
    """Kind of the judge of each rating, as options or a column state it: it is never guessed."""
    options = {"--judge-kind": layout.kind, "--models": layout.models, "--all-people": layout.people}
    choices = [option for option, value in options.items() if value]
    if len(choices) > 1:
        raise InputError(
            f"{choices[0]} and {choices[1]} both state which judges are models; use one of them."
        )
    names = judges.dropna().astype(str).unique().tolist()
    people = pd.Series(HUMAN, index=judges.index)
    if layout.models:
        for name in layout.models:
            if name not in names:
                raise InputError(
                    f"{source}: there is no judge '{name}'{did_you_mean(name, names)}; correct --models ("
                    f"there are: {listed(names)})."
                )
        lookalikes = like_models([name for name in names if name not in layout.models])
        notes = [f"Judges with names like those of models that are treated as people: {listed(lookalikes)}."]
        return people.mask(judges.isin(list(layout.models)), MODEL), notes if lookalikes else []
    if layout.people:
        return people, []
    column = layout.kind or (KIND_COLUMN if KIND_COLUMN in table else None)
    if column is not None:
        return _kinds_of_column(judges, rows, table, column, source), []
    _refuse_if_mixed(names, judges, table.iloc[rows], source)
    return people, [f"All {len(names):,} judges are treated as people (--models NAME marks a model)."]


def _kinds_of_column(
    judges: pd.Series[Any], rows: np.ndarray[Any, Any], table: pd.DataFrame, column: str, source: str
) -> pd.Series[Any]:
    require_column(table, column, source, "--judge-kind")
    words = by_distinct(table[column], lambda cell: KIND_WORDS.get(key_of(cell)))
    unknown = words.isna().to_numpy()
    if unknown.any():
        cell = table[column].iloc[int(unknown.argmax())]
        problem = "is empty" if pd.isna(cell) else f"contains '{cell}'"
        refuse(source, column, unknown, problem, f"write {HUMAN} or {MODEL}, or use --models NAME")
    kinds = pd.Series(words.array[rows], index=judges.index)
    several = kinds.groupby(judges).nunique()
    clashes = several.index[several > 1]
    if len(clashes):
        raise InputError(
            f"{source}: judge '{clashes[0]}' is a {HUMAN} and a {MODEL} in column '{column}'; give the two "
            "different names."
        )
    return kinds


def _refuse_if_mixed(names: Sequence[str], judges: pd.Series[Any], rated: pd.DataFrame, source: str) -> None:
    """Refuse to guess where a name looks like a model's, or a column may say who is one."""
    hits = like_models(names)
    if hits:
        raise InputError(
            f"{source}: {listed(hits, 4)} may be {'a model' if len(hits) == 1 else 'models'}; mark models "
            "with --models NAME (once per model) or --judge-kind COLUMN, or give --all-people if all are "
            "people."
        )
    for column in map(str, rated):
        words = {key_of(cell) for cell in rated[column].dropna().unique()[:100]}
        if (
            words
            and words <= KIND_WORDS.keys()
            and MODEL in {KIND_WORDS[word] for word in words}
            and rated[column].groupby(judges.to_numpy()).nunique().max() <= 1
        ):
            raise InputError(
                f"{source}: column '{column}' ({listed(sorted(words), 4)}) may state which judges are "
                f"models; give --judge-kind {column} if it does, --models NAME, or --all-people if all "
                "judges are people."
            )
