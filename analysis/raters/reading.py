"""Ratings read once from a judgments table: what is excluded, named and coded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, counted, listed, unknown_name
from conjury.inference.readers.aliases import EXCLUDED, MARKED, exclusion_reasons
from conjury.inference.readers.judged.judged_shapes import refuse_unclear_judges
from conjury.inference.readers.raters.rater_columns import judgments_of_table, raters_of, rows_of_ratings
from conjury.inference.readers.raters.rating_rows import has_judgments
from conjury.inference.tables.columns import as_text, names_of
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.items import item_column
from conjury.inference.tables.reading.reading_rules import ReadingRules
from conjury.inference.tables.reading.table_reading import TableReading
from conjury.inference.tables.row_numbers import TableName
from conjury.inference.tables.schema import require_columns

from ..frames.notes import Note, excluding
from ..frames.stored import fetched, is_file, is_stored, open_stored
from ..frames.vocabulary import HUMAN
from ..numerics.types import Codes
from .label_provenance import reasons_of_judgments
from .ratings import GIVEN, Judgments, Ratings, with_codes
from .scale_hints import label_hints, name_hints, scale_hints
from .scales import (
    SOURCE,
    blank_values,
    dimension_names,
    refuse_repeated,
    rows_of_dimension,
    sample_numbers,
    scale_of,
    value_rules,
    values_of,
    with_items,
)

REQUIRED = ["judge_id", "judge_kind", "item_id", "value"]
OPTIONAL = ("dimension", "prompt_id", "sample", "status", "panel", EXCLUDED)
ORDERED = ("dimension", "item_id", "judge_id", "prompt_id", "sample")  # a table of an engine has no order
MOST_ROWS = 20_000_000  # judgments of a table of an engine that are read
CONSTANT = "{judges:6}: the same rating for every item."
CODED = ("judge", "kind", "group", "item")  # columns that coding adds


@any_frame
def read_dimensions(
    judgments: Judgments,
    dimensions: str | Sequence[str] | None = None,
    *,
    items: pd.DataFrame | None = None,
    columns: Sequence[str] = (),
    scale: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    numeric: bool | None = None,
    missing: Sequence[str] = (),
    raters: Sequence[str] = (),
) -> list[Ratings]:
    """Bring judgments of one or more dimensions into codes, once for all analyses.

    Every analysis of raters accepts the result in place of the judgments, and does not read them again.

    Parameters
    ----------
    judgments : DataFrame, path, Ratings, sequence of Ratings, or table of an engine
        As :func:`read_ratings` takes it, or what `conjury.read` gives, whose rules may name its columns;
        ratings are returned as they are, and keep their scale. Of a table of Ibis, or a folder, glob or
        address of Parquet, the columns that are needed are read.
    dimensions : str or sequence of str, optional
        Which dimensions, in this order; by default all.
    items : DataFrame, optional
        Table of items, from which ``columns`` are joined.
    columns : sequence of str
        Columns of items or judgments that the analysis needs.
    scale : sequence of float, or mapping of dimensions to sequences, optional
        The ratings that are allowed.
    numeric : bool, optional
        As in :func:`read_ratings`.
    missing : sequence of str
        As in :func:`read_ratings`.
    raters : sequence of str
        Columns with one rater each, of a table without ``judge_id``; by default all that share one scale.

    Returns
    -------
    list of Ratings
        One for each dimension, in the order of ``dimensions`` or of their appearance.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "ann", "judge_kind": "human", "item_id": ["a", "a"],
    ...     "dimension": ["wit", "clarity"], "value": [3, 4]})
    >>> [ratings.dimension for ratings in read_dimensions(table)]
    ['wit', 'clarity']
    """
    if is_file(judgments):
        from conjury.inference.readers.any_file import read

        judgments = read(judgments)
    elif isinstance(judgments, str | Path) or is_stored(judgments):
        judgments = _fetch_columns(judgments, dimensions, columns)
    is_other = isinstance(judgments, pd.DataFrame) and not has_judgments(judgments)
    if isinstance(judgments, TableReading) or (is_other and isinstance(judgments, pd.DataFrame)):
        long, notes = _with_judges(judgments, value_rules(None, numeric, missing), raters)
        coded_dimensions = read_dimensions(
            long, dimensions, items=items, columns=columns, scale=scale, numeric=numeric, missing=missing
        )
        return [replace(ratings, notes=(*notes, *ratings.notes)) for ratings in coded_dimensions]
    coded = [judgments] if isinstance(judgments, Ratings) else judgments
    if isinstance(coded, pd.DataFrame) or not all(isinstance(ratings, Ratings) for ratings in coded):
        table = with_items(cast(pd.DataFrame, judgments), items, columns)
        scales = scale if isinstance(scale, Mapping) else None
        return [
            read_ratings(
                table,
                dimension=name,
                scale=scale if scales is None else scales.get(name or ""),  # type: ignore[arg-type]
                numeric=numeric,
                missing=missing,
            )
            for name in dimension_names(table, dimensions)
        ]
    by_name = {ratings.dimension: ratings for ratings in coded}
    names = list(by_name) if dimensions is None else names_of(dimensions)
    for name in names:
        if name not in by_name:
            raise unknown_name("dimension", name, by_name)
    return [replace(by_name[name], frame=with_items(by_name[name].frame, items, columns)) for name in names]


def _with_judges(
    table: pd.DataFrame | TableReading, rules: ReadingRules, raters: Sequence[str] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Judgments of a table with one row per rating or a column per rater, and what was guessed."""
    frame = table.frame if isinstance(table, TableReading) else table
    raters = raters if set(raters) <= set(map(str, frame.columns)) else ()
    if isinstance(table, TableReading):
        from conjury.inference.readers.judgments import load_judgments  # which loads study files

        notes: list[str] = []
        return load_judgments(table, notes=notes, raters=raters), tuple(notes)
    if not (raters or rows_of_ratings(table, rules, SOURCE) or raters_of(table, item_column(table))):
        require_columns(table, REQUIRED, SOURCE)
    long, entries, *_ = judgments_of_table(table, rules, SOURCE, raters)
    return long, tuple(entry.sentence for entry in entries if entry.subject != "types")


def _fetch_columns(data: Any, dimensions: str | Sequence[str] | None, columns: Sequence[str]) -> pd.DataFrame:
    """Read the columns that are needed of judgments that stay in their engine, in an order of their own."""
    stored = open_stored(data)
    stored.require(REQUIRED)
    table = stored.table
    named = [*REQUIRED, *(name for name in (*OPTIONAL, *columns) if name in table.columns)]
    table = table.select(*dict.fromkeys(named))
    if dimensions is not None and "dimension" in named:
        table = table.filter(table["dimension"].isin(names_of(dimensions)))
    n_rows = int(table.count().to_pyarrow().as_py())
    if n_rows > MOST_ROWS:
        raise InputError(
            f"{SOURCE}: {n_rows:,} judgments exceed the {MOST_ROWS:,} that are read into memory; give "
            "one dimension, or the judgments of a random sample of items (`.filter` of Ibis)."
        )
    return fetched(table.order_by([name for name in ORDERED if name in named]))


def only_dimension(judgments: Judgments, dimension: str | None) -> Ratings:
    """The ratings of one dimension; InputError where there are several and none is named."""
    if isinstance(judgments, pd.DataFrame):
        return read_ratings(judgments, dimension=dimension)
    coded = read_dimensions(judgments, dimension)
    if len(coded) != 1:
        names = listed(ratings.dimension for ratings in coded)
        raise InputError(f"There are several dimensions ({names}); name one.")
    return coded[0]


@any_frame
def read_ratings(
    judgments: pd.DataFrame,
    *,
    dimension: str | None = None,
    scale: Sequence[float] | Sequence[str] | None = None,
    numeric: bool | None = None,
    missing: Sequence[str] = (),
) -> Ratings:
    """Check judgments and bring one dimension of them into codes.

    Parameters
    ----------
    judgments : DataFrame
        One row per judgment: ``judge_id, judge_kind`` ("human" or "model"), ``item_id, value``, and, where
        there are any, ``dimension, prompt_id, sample, status, panel, excluded``; further columns are kept.
        Or one row per rating with columns such as rater, item and rating, or one column per rater, all on
        one scale; raters with names like those of models count as models.
        ``excluded`` contains reasons, or true and false, yes and no, 1 and 0; rows with a reason or true are
        excluded. Prompts of a model are judges of their own; ``sample`` (whole numbers) numbers repeated
        ratings.
    dimension : str, optional
        Which dimension; needed where the table has several.
    scale : sequence of float or str, optional
        The ratings that are allowed, such as ``range(5)``, or labels from the lowest to the highest; by
        default those that occur, labels in the order that their column declares, else in alphabetical order.
    numeric : bool, optional
        Whether values are numbers; by default they are where nearly all can be read as numbers.
    missing : sequence of str
        Values that are no answer, such as ``["-99"]``.

    Returns
    -------
    Ratings
        The judgments of one dimension, checked and coded.

    Raises
    ------
    InputError
        For missing columns, an unknown dimension, text among numbers, ratings outside the scale, raters on
        different scales, the same judgment twice, or nothing to analyse.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"],
    ...     "item_id": "joke", "value": [3, 4, 2]})
    >>> read_ratings(table).groups
    ('human', 'human', 'gpt')
    """
    if not has_judgments(judgments):
        long, notes = _with_judges(judgments, value_rules(None, numeric, missing))
        ratings = read_ratings(long, dimension=dimension, scale=scale, numeric=numeric, missing=missing)
        return replace(ratings, notes=(*notes, *ratings.notes))
    require_columns(judgments, REQUIRED, SOURCE)
    if judgments.empty:
        raise InputError(f"{SOURCE}: the table has no rows; give judgments.")
    chosen, row = rows_of_dimension(judgments.reset_index(drop=True), dimension)
    refuse_unclear_judges(chosen, SOURCE, row)
    frame = _with_keys(chosen, row)
    rules = value_rules(scale, numeric, missing)
    frame = frame.assign(value=blank_values(frame["value"], rules))
    frame, of_labels = _without_others_labels(frame, row)
    usable, exclusions = _usable(frame)
    unused = _without_rating(frame, usable)
    is_included = (
        exclusion_reasons(frame[EXCLUDED]).isna().to_numpy(dtype=bool) if EXCLUDED in frame else ~usable
    )
    unanswered = frame[~usable & is_included]
    frame, row = frame[usable].reset_index(drop=True), row[usable]
    values = values_of(frame["value"], rules, row)
    labels = values.labels
    frame = frame.assign(value=values.value)
    refuse_repeated(frame, row)
    categories: Any  # a tuple of ratings or of labels
    if labels is None:
        categories = scale_of(frame, cast("Sequence[float] | None", scale), row)
        category = np.searchsorted(np.array(categories), frame["value"].to_numpy(dtype=float))
    elif scale is not None and not values.ordered:
        raise InputError(
            f"{SOURCE}: column 'value' contains labels, which have no scale of numbers; omit it."
        )
    else:
        categories = labels
        category = pd.Index(labels).get_indexer(pd.Index(frame["value"]))
    none, empty = (), np.zeros(0, dtype=np.int64)
    blank = Ratings(
        frame,
        empty,
        empty,
        empty,
        categories,
        none,
        none,
        none,
        none,
        labels is None,
        exclusions,
        dimension=dimension or "",
        scale=None if scale is None or labels is not None else categories,
        ordered=values.ordered,
        unused=unused,
        unanswered=unanswered,
    )
    coded = with_codes(blank, frame, category.astype(np.int64))
    is_free = labels is None and scale is None
    hints = scale_hints(frame) if is_free else label_hints(coded) if labels is not None else []
    hints = [*name_hints(coded.judges), *hints]
    return replace(coded, notes=(*values.notes, *of_labels, *_notes(coded, chosen), *hints))


def _without_others_labels(frame: pd.DataFrame, row: Codes) -> tuple[pd.DataFrame, list[str]]:
    """Mark labels that are no people's as excluded, as `judge` sets them aside, and what is said of it."""
    is_label = (frame["kind"] == HUMAN).to_numpy(dtype=bool) & frame["value"].notna().to_numpy(dtype=bool)
    marks = exclusion_reasons(frame[EXCLUDED]) if EXCLUDED in frame else None
    if marks is not None:
        is_label &= marks.isna().to_numpy(dtype=bool)
    reasons, notes = reasons_of_judgments(frame, is_label, TableName(SOURCE, row + 1))
    if not reasons.notna().any():
        return frame, notes
    return frame.assign(**{EXCLUDED: reasons if marks is None else marks.fillna(reasons)}), notes


def _without_rating(frame: pd.DataFrame, usable: NDArray[np.bool_]) -> dict[str, str]:
    """Kind of each judge without a usable rating."""
    unusable = frame.loc[~usable, ["judge_id", "judge_kind"]].drop_duplicates()
    rows = unusable[~unusable["judge_id"].isin(frame["judge_id"][usable].unique()).to_numpy(dtype=bool)]
    return dict(zip(as_text(rows["judge_id"]), as_text(rows["judge_kind"]), strict=True))


def _with_keys(frame: pd.DataFrame, row: Codes) -> pd.DataFrame:
    """Add judge, kind, group, item and sample; prompts of a model are judges of their own."""
    judge, kind = as_text(frame["judge_id"]), as_text(frame["judge_kind"])
    if "prompt_id" in frame:
        prompt = as_text(frame["prompt_id"]).fillna("")
        several = (prompt.groupby(judge).transform("nunique") > 1) & (kind != HUMAN)
        judge = judge.mask(several.to_numpy(dtype=bool), judge + " (" + prompt + ")")
    panel = as_text(frame["panel"]).fillna(HUMAN) if "panel" in frame else HUMAN
    originals = {f"{name}{GIVEN}": frame[name] for name in CODED if name in frame}
    return frame.assign(
        **originals,
        judge=judge,
        kind=kind,
        group=judge.mask((kind == HUMAN).to_numpy(dtype=bool), panel),
        item=as_text(frame["item_id"]),
        sample=sample_numbers(frame["sample"], row) if "sample" in frame else 1,
    )


def _usable(frame: pd.DataFrame) -> tuple[NDArray[np.bool_], pd.DataFrame]:
    """Flag the rows that hold a rating to be used; count the others by reason."""
    reason = pd.Series(pd.NA, index=frame.index, dtype="string")
    if "status" in frame:
        status = as_text(frame["status"])
        reason = reason.mask((status != "ok").fillna(False).to_numpy(dtype=bool), "answer: " + status)
    reason = reason.mask((frame["value"].isna() & reason.isna()).to_numpy(dtype=bool), "no value")
    if EXCLUDED in frame:
        marked = exclusion_reasons(frame[EXCLUDED])
        marks = ("excluded: " + marked).mask(marked == MARKED, "excluded")
        reason = reason.mask(marked.notna().to_numpy(dtype=bool), marks)
    usable = reason.isna().to_numpy(dtype=bool)
    if not usable.any():
        raise InputError(f"{SOURCE}: no judgment has a value to use ({listed(reason.unique())}).")
    counted = frame.assign(reason=reason)[~usable].groupby("reason", sort=False)
    exclusions = counted.agg(
        n_rows=("judge", "size"), n_judges=("judge", "nunique"), n_items=("item", "nunique")
    )
    return usable, exclusions.reset_index()


def _notes(ratings: Ratings, chosen: pd.DataFrame) -> list[str]:
    """Say what readers should know: what was excluded, raters with one rating, constant raters."""
    notes: list[str] = [
        excluding(
            "{judgments} by {n_judges} not used ({reason}).",
            judgments=counted(row["n_rows"], "judgment"),
            n_judges=counted(row["n_judges"], "judge"),
            reason=row["reason"],
        )
        for _, row in ratings.exclusions.iterrows()
    ]
    n_excluded = chosen["item_id"].nunique() - len(ratings.items)
    if n_excluded:
        items = counted(n_excluded, "item")
        notes.append(excluding("{items} without a rating that can be used.", items=items))
    each = ratings.frame.groupby("judge", sort=False)["value"].agg(["size", "nunique"])
    single = each.index[each["size"] == 1]
    if len(single):
        notes.append(Note.of("{judges:6}: one rating each.", judges=list(single)))
    constant = each.index[(each["size"] > 1) & (each["nunique"] == 1)]
    if len(constant):
        notes.append(Note.of(CONSTANT, judges=list(constant)))
    return notes
