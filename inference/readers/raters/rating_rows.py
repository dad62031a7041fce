"""Tables with one row per rating, or with lists of ratings, as judgments: which columns are which."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InputError, counted, listed
from ...tables.columns import as_text, by_distinct, plain, refuse
from ...tables.items import ITEM, LAST
from ...tables.reading.account import AccountEntry
from ...tables.reading.answers.compared_answers import read_answers
from ...tables.reading.cell_rules import key_of, number_of
from ...tables.reading.column_kinds import FEW_LABELS, has_lists, kind_of_column
from ...tables.reading.reading_rules import ReadingRules
from ...tables.reading.table_reading import require_named
from ...tables.row_numbers import of_rows, row_words
from ...tables.schema import JUDGE_KINDS, SYNONYMS, TABLES
from ..aliases import ACCEPTED_SUBMISSIONS, EXCLUDED, REFUSED_SUBMISSIONS, is_used
from ..model_names import like_models

ENDING = re.compile(r"s?(ids?|nrs?|no|num|numbers?|nummer|codes?|names?)?$")  # of a name of raters


def rater_key(name: object) -> str:
    """The name of a column in letters and digits, without a plural, "id", "nr." and the like at the end."""
    return ENDING.sub("", "".join(filter(str.isalnum, plain(str(name)))), count=1)


RATERS = frozenset(map(rater_key, SYNONYMS["judge_id"])) | {
    *("coder", "labeler", "labeller", "evaluator", "reviewer", "respondent", "contributor"),
    *("uniquecontributor", "user", "expert", "subject", "person", "assessor", "grader", "prolific"),
    *("prolificp", "crowdworker", "completedby"),
    # German, French, Spanish, Portuguese, Italian, Dutch.
    *("bewerter", "bewerterin", "kodierer", "codierer", "gutachter", "annotateur", "evaluateur", "codeur"),
    *("anotador", "evaluador", "codificador", "avaliador", "annotatore", "valutatore", "codificatore"),
    *("beoordelaar", "annotateuse", "evaluadora", "anotadora", "avaliadora"),
}
SURE = ("rater", "annotator", "coder", "worker", "participant")  # which are no columns of one rater each
VALUES = {*SYNONYMS["value"], "value", "judgment", "judgement", "grade", "vote", "annotation"}
DIMENSIONS = frozenset(
    ("dimension", "criterion", "aspect", "quality", "scale", "facet", "attribute", "metric", "question")
)
KINDS = {
    **dict.fromkeys(("human", "person", "people", "crowd", "expert"), "human"),
    **dict.fromkeys(("model", "llm", "ai", "machine"), "model"),
}
RUNS = {  # names of columns that number a rater's ratings of one item
    *("sample", "run", "repeat", "repetition", "replicate", "replication", "iteration", "epoch"),
    *("lauf", "durchlauf", "durchgang", "wiederholung"),
}
KIND_NAMES = ("judge kind", "rater kind", "rater type", "annotator type", "judge type", "kind", "type")
NO_RATINGS = frozenset(  # words in the names of further columns that differ from rating to rating
    (
        *("id", "uid", "index", "time", "seconds", "secs", "ms", "duration", "timestamp", "date", "created"),
        *("order", "position", "session", "page", "trial", "started", "ended", "submitted", "updated", "url"),
        *("status", "comment", "comments", "reason", "explanation", "batch", "count", "age", "weight"),
        *RUNS,
    )
)
RESERVED = frozenset(TABLES["judgments"]) - {"prompt_id"}
RATED = ("labels", "ordered labels", "whole numbers", "numbers")  # kinds of columns of ratings
ITEM_OF_ROW = " item"
STRUCTURAL = 0.2  # share of repeats above which one column alone names no items
SHARED = 0.75  # distinct items by rows, of a table whose items several people rated


@dataclass(frozen=True)
class RatingColumns:
    """Columns of a table with one row per rating; ``guessed`` has what was not stated."""

    rater: str
    items: tuple[str, ...]  # those that name the item together
    ratings: tuple[str, ...]
    dimension: str | None = None
    kind: str | None = None
    run: str | None = None  # numbers the ratings of an item by one rater
    guessed: list[AccountEntry] = field(default_factory=list)
    rows: Sequence[int] | None = None  # of the table from whose lists each rating is

    def source(self, source: str, n: int) -> str:
        """The name of the table with one row per rating, of one with n rows."""
        return source if self.rows is None else of_rows(source, self.rows, n)

    def rules(self, rules: ReadingRules) -> ReadingRules:
        """The rules for judgments: the order of a single column of ratings is that of their values."""
        single = self.ratings[0] if len(self.ratings) == 1 else None
        levels, value_labels = (
            {"value" if name == single else name: order for name, order in orders.items()}
            for orders in (rules.levels, rules.value_labels)
        )
        return replace(rules, levels=levels, value_labels=value_labels, id=None)


def has_judgments(frame: pd.DataFrame) -> bool:
    """Whether a table is one of judgments, with the names that these have here."""
    return {"judge_id", "judge_kind", "item_id", "value"} <= set(map(str, frame.columns))


def rating_columns(frame: pd.DataFrame, rules: ReadingRules, source: str) -> RatingColumns | None:
    """The columns of a table with one row per rating; None where none looks like raters of shared items."""
    options: dict[str | None, str] = {
        rules.rater_column: "--rater-column",
        rules.dimension_column: "--dimension-column",
        rules.id: "--id",
        rules.judge_kind: "--judge-kind",
        **dict.fromkeys(rules.rating_column, "--rating-column"),
    }
    require_named(frame, {name: option for name, option in options.items() if name is not None}, source)
    names = [str(name) for name in frame if not has_lists(frame[name])]
    rater = rules.rater_column or next((name for name in names if _names_raters(frame, name)), None)
    if rater is None:
        return None
    kind = rules.judge_kind or next((name for name in names if _is_kind(frame, name, rater)), None)
    usual = tuple(rules.rating_column) or tuple(
        name for name in names if name != rater and plain(name) in VALUES and _few(frame[name])
    )
    free = [name for name in names if name not in (rater, kind, *usual)]
    dimension = rules.dimension_column or next((name for name in free if _is_dimension(frame, name)), None)
    run = _run_of(frame, free, [rater, *filter(None, [dimension])])
    items = (rules.id,) if rules.id else _items_of(frame, free, rater, dimension, run)
    if (
        not rules.dimension_column
        and items
        and not frame.duplicated([rater, *items, *filter(None, [run])]).any()
    ):
        dimension = None
    if run != "sample" and not frame.duplicated([rater, *items, *filter(None, [dimension])]).any():
        run = None
    remaining = [name for name in free if name not in (*items, dimension, run)]
    ratings = tuple(rules.rating_column)
    if items and not ratings:
        ratings = _ratings_of(frame, usual, remaining, rater, items)
    if dimension is not None and len(ratings) > 1:
        raise InputError(
            f"{source}: '{dimension}' says what was rated, and there are several columns of ratings "
            f"({listed(ratings)}); name one with --rating-column."
        )
    if items and ratings and (rules.rater_column or _are_raters(frame, rater, items, ratings)):
        columns = RatingColumns(rater, items, ratings, dimension, kind, run)
        columns.guessed.extend(_guesses(columns, rules))
        return columns
    if rules.rater_column is None:
        return None
    what, option = ("ratings", "--rating-column") if items else ("the items of ratings", "--id")
    nested = [str(name) for name in frame if str(name) not in names]
    remedy = f"write each value of {listed(map(repr, nested))} into a cell of its own, or " if nested else ""
    raise InputError(
        f"{source}: no column looks like {what} by '{rater}'; {remedy}name it with {option} (there are: "
        f"{listed(names)})."
    )


def _are_raters(frame: pd.DataFrame, rater: str, items: Sequence[str], ratings: Sequence[str]) -> bool:
    """Whether items have several raters, who are not called like ratings, as the verdicts of a judge are."""
    if len(frame[[rater, *items]].drop_duplicates()) == len(frame[list(items)].drop_duplicates()):
        return False
    if plain(rater) not in ("judge", "grader"):
        return True
    raters, answers = (
        {key_of(str(cell)) for name in columns for cell in frame[name].dropna().unique()}
        for columns in ([rater], ratings)
    )
    return not raters <= answers


def _guesses(columns: RatingColumns, rules: ReadingRules) -> Iterator[AccountEntry]:
    """What was guessed of the columns, with the option that states it."""
    rows = (
        ("raters", (columns.rater,), rules.rater_column, "--rater-column"),
        ("items", columns.items, rules.id, "--id"),
        ("ratings", columns.ratings, rules.rating_column, "--rating-column"),
        ("dimensions", (columns.dimension,), rules.dimension_column, "--dimension-column"),
        ("numbers of repeats", (columns.run,), columns.run == "sample", "--rename COLUMN=sample"),
    )
    parts = [
        (f"{noun} in {listed(repr(name) for name in names if name)}", option)
        for noun, names, stated_name, option in rows
        if not stated_name and any(names)
    ]
    if parts:
        sentence = f"Each row is one rating: {'; '.join(part for part, _ in parts)}."
        yield AccountEntry("roles", sentence, option=" ".join(option for _, option in parts))


def judgments_of_rows(
    frame: pd.DataFrame,
    columns: RatingColumns,
    rules: ReadingRules,
    source: str,
    models: Sequence[str] = (),
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """One row per item, rater and dimension, with cells as the table has them, and what was guessed."""
    raters = as_text(frame[columns.rater])
    for name, cells in ((columns.rater, raters), *((name, frame[name]) for name in columns.items)):
        empty = cells.isna().to_numpy(dtype=bool)
        if empty.any():
            refuse(source, name, empty, "is empty", "name rater and item of each rating, or omit the row")
    item = _item_of(frame, columns.items)
    entries = list(columns.guessed)
    kinds, of_kinds = _kinds(frame, columns, raters, models, source)
    excluded, of_status = _refused(frame)
    entries += [*of_kinds, *of_status]
    roles = {columns.rater, *columns.items, *columns.ratings, columns.dimension, columns.kind, columns.run}
    further = frame[[name for name in frame if name not in roles]]
    further = further.rename(columns={name: f"their {name}" for name in further if name in RESERVED})
    long = further.assign(judge_id=raters, judge_kind=kinds, item_id=item, **excluded)
    if columns.run is not None:
        long["sample"] = pd.to_numeric(as_text(frame[columns.run])).fillna(1).astype("int64")
    if columns.dimension is not None:
        long["dimension"] = as_text(frame[columns.dimension])
    _refuse_repeats(long, columns, source)
    _refuse_doubtful(frame, columns, is_used(long), rules, source)
    if len(columns.ratings) == 1:
        return long.assign(value=frame[columns.ratings[0]].array).reset_index(drop=True), entries
    parts = [long.assign(dimension=name, value=frame[name].array) for name in columns.ratings]
    return pd.concat(parts, ignore_index=True), entries


def _refuse_doubtful(
    frame: pd.DataFrame, columns: RatingColumns, mask: np.ndarray, rules: ReadingRules, source: str
) -> None:
    """Refuse what may be no answer while cells still have the columns and rows of the table."""
    rows = np.flatnonzero(mask)
    groups = [rows]
    if columns.dimension is not None:
        groups = [rows[at] for at in frame.iloc[rows].groupby(columns.dimension).indices.values()]
    for name in columns.ratings:
        for group in groups:
            read_answers({name: frame[name].iloc[group]}, rules, source=source, rows=group)


def _refuse_repeats(long: pd.DataFrame, columns: RatingColumns, source: str) -> None:
    """Refuse two ratings of one item by one rater, unless they are numbered as samples."""
    keys = [name for name in ("judge_id", "item_id", "dimension", "prompt_id", "sample") if name in long]
    repeated = long.duplicated(keys).to_numpy(dtype=bool)
    if not repeated.any():
        return
    row = int(repeated.argmax())
    same = (long[keys] == long[keys].iloc[row]).all(axis=1).to_numpy(dtype=bool)
    rater, item = (long[name].iloc[row] for name in ("judge_id", "item_id"))
    raise InputError(
        f"{source}: row {row_words(source, row)} rates item '{item}' of "
        f"{listed(map(repr, columns.items))} by '{rater}' again (first in row "
        f"{row_words(source, same.argmax())}); keep one row for each, number them from 1 in a column "
        "'sample', or name what tells them apart: --dimension-column for what was rated, --id for items."
    )


def _kinds(
    frame: pd.DataFrame, columns: RatingColumns, raters: pd.Series[Any], models: Sequence[str], source: str
) -> tuple[Any, list[AccountEntry]]:
    """Whether each rating is by a person or a model: as a column says, as stated, else by names."""
    names = list(map(str, raters.unique()))
    absent = [name for name in models if name not in names]
    if absent:
        raise InputError(
            f"{source}: no rater is called '{absent[0]}', which --models names; there are {listed(names)}."
        )
    if columns.kind is not None:
        words = by_distinct(as_text(frame[columns.kind]), lambda word: KINDS.get(key_of(word)))
        stray = words.isna().to_numpy(dtype=bool)
        if stray.any():
            refuse(source, columns.kind, stray, "is no kind", f"write {' or '.join(JUDGE_KINDS)}")
        return words.astype("string"), []
    lookalikes = [] if models else like_models(names)
    kinds = raters.isin([*models, *lookalikes]).map({True: "model", False: "human"}).astype("string")
    if models:
        return kinds, []
    if not lookalikes:
        return kinds, [
            AccountEntry("roles", f"No rater is called like a model: all {len(names):,} are people.")
        ]
    sentence = f"Models by their names: {listed(lookalikes)}; the other raters are people."
    return kinds, [AccountEntry("roles", sentence, cells=tuple(lookalikes[:12]), option="--models")]


def _refused(frame: pd.DataFrame) -> tuple[dict[str, Any], list[AccountEntry]]:
    """Why rows are excluded, of a table with the statuses of Prolific's submissions."""
    for name in frame.columns if EXCLUDED not in frame else ():
        if "status" not in plain(str(name)).split():
            continue
        words = by_distinct(as_text(frame[name]), lambda cell: key_of(cell).replace("_", "-"))
        statuses = set(words.dropna().unique())
        if not statuses & set(REFUSED_SUBMISSIONS) or statuses - {
            *REFUSED_SUBMISSIONS,
            *ACCEPTED_SUBMISSIONS,
        }:
            continue
        reasons = ("Prolific: " + words).where(words.isin(REFUSED_SUBMISSIONS))
        n_rows = counted(int(reasons.notna().sum()), "row")
        sentence = f"{n_rows} of submissions that Prolific did not accept excluded, by '{name}'."
        return {EXCLUDED: reasons.astype("string")}, [AccountEntry("excluded", sentence, str(name))]
    return {}, []


def is_long(names: Sequence[str]) -> bool:
    """Whether a column is called as raters or values of a table with one row per rating are."""
    return bool({"judge_id", "value"} & set(names)) or any(rater_key(name) in SURE for name in names)


def _names_raters(frame: pd.DataFrame, name: str) -> bool:
    """Whether a column is called as raters are, and has two or more of them, each in several rows."""
    if rater_key(name) not in RATERS:
        return False
    distinct = frame[name].nunique()
    return 1 < distinct < frame[name].notna().sum()


def _is_kind(frame: pd.DataFrame, name: str, rater: str) -> bool:
    """Whether a column says of each rater whether it is a person or a model."""
    if plain(name) not in KIND_NAMES or not _few(frame[name]):
        return False
    words = {KINDS.get(key_of(str(cell))) for cell in frame[name].unique()}
    return None not in words and frame[[rater, name]].drop_duplicates()[rater].is_unique


def _is_dimension(frame: pd.DataFrame, name: str) -> bool:
    return plain(name) in DIMENSIONS and 1 < frame[name].nunique() <= FEW_LABELS


def _few(column: pd.Series[Any]) -> bool:
    return kind_of_column(column) in RATED


def _run_of(frame: pd.DataFrame, free: Sequence[str], keys: Sequence[str]) -> str | None:
    """The column that numbers the ratings of an item by one rater, and does not name items with the rater."""
    for name in (name for name in free if plain(name) in RUNS):
        numbers = [number_of(text) for text in as_text(frame[name]).dropna().unique()]
        are_whole = all(number is not None and number >= 0 and number % 1 == 0 for number in numbers)
        if numbers and are_whole and frame.duplicated([name, *keys]).any():
            return name
    return None


def _items_of(
    frame: pd.DataFrame, free: Sequence[str], rater: str, dimension: str | None, run: str | None
) -> tuple[str, ...]:
    """The columns that with the rater name each row, and that repeat between raters: one, else two."""
    keys = [rater, *(name for name in (dimension, run) if name is not None)]
    candidates = sorted(
        (name for name in free if name not in keys and not _is_about(frame, name, rater)), key=_rank
    )
    shares: dict[str, float] = {}
    for name in (name for name in candidates if _is_shared(frame, [name])):
        shares[name] = float(frame.duplicated([name, *keys]).mean())
        if not shares[name]:
            return (name,)
    ids = [name for name in shares if is_id(name)] or list(shares)
    for first in (name for name in ids if shares[name] > STRUCTURAL):
        for second in (name for name in candidates if name != first):
            pair = [first, second]
            if _is_shared(frame, pair) and not frame.duplicated([*pair, *keys]).any():
                return first, second
    return (min(ids, key=shares.__getitem__),) if ids else ()


def is_id(name: str) -> bool:
    """Whether a column is called as ids are."""
    return _rank(name)[0] < 2


def _rank(name: str) -> tuple[int, int]:
    """How surely a column is called as items are."""
    words = plain(name).split()
    if plain(name) in ITEM:
        return 0, ITEM.index(plain(name))
    if words and (words[-1] in LAST or words[-1].endswith("id")):
        return 1, 0
    return (3, 0) if NO_RATINGS & set(words) else (2, 0)


def _is_about(frame: pd.DataFrame, name: str, of: str) -> bool:
    """Whether a column has one value for each of another."""
    pairs = pd.DataFrame({"of": as_text(frame[of]), "value": as_text(frame[name])}).dropna().drop_duplicates()
    return bool(pairs["of"].is_unique)


def _is_shared(frame: pd.DataFrame, names: list[str]) -> bool:
    """Whether rows of the same item repeat in most of the table."""
    return 0 < len(frame[names].drop_duplicates()) <= SHARED * len(frame)


def _ratings_of(
    frame: pd.DataFrame, usual: Sequence[str], remaining: Sequence[str], rater: str, items: Sequence[str]
) -> tuple[str, ...]:
    """The columns that differ between raters of an item: the usual ones, else all of labels or numbers."""
    table = frame.assign(**{ITEM_OF_ROW: _item_of(frame, items)})

    def varies(name: str) -> bool:
        return (
            _few(frame[name])
            and not frame[name].is_unique
            and not any(_is_about(table, name, of) for of in (ITEM_OF_ROW, rater))
        )

    ratings = [name for name in usual if varies(name)]
    names = [name for name in remaining if not NO_RATINGS & {*plain(name).split()}]
    return tuple(ratings or [name for name in names if varies(name)])


def _item_of(frame: pd.DataFrame, items: Sequence[str]) -> pd.Series[Any]:
    """The item of each row, by one column or several."""
    item: pd.Series[Any] = as_text(frame[items[0]])
    for name in items[1:]:
        item = item + " / " + as_text(frame[name])
    return item
