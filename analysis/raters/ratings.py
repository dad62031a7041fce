"""Ratings of one dimension in codes, read once from a judgments table, for every analysis of raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, counted, did_you_mean, listed
from conjury.inference.readers.aliases import MARKED, exclusion_reasons
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import require_columns

from ..numerics.types import Codes, Floats
from ..vocabulary import HUMAN
from .scales import (
    SOURCE,
    check_kinds,
    dimension_names,
    item_clusters,
    names_of,
    of_dimension,
    ranks,
    refuse_repeated,
    sample_numbers,
    scale_hints,
    scale_of,
    values_of,
    with_items,
)

EXCLUDED = "excluded"  # column of importers: why a row is excluded, missing where it is not; or a flag
REQUIRED = ["judge_id", "judge_kind", "item_id", "value"]
CODED = ("judge", "kind", "group", "item")  # columns that coding adds
GIVEN = ", as given"  # ends the name of a column of the user that is called like one of them


@dataclass(frozen=True)
class Ratings:
    """n usable ratings of I items by J judges on one dimension.

    Attributes
    ----------
    frame : DataFrame of n rows
        ``judge`` (id; with its prompt where a model has several), ``kind`` ("human" or "model"), ``group``
        (the panel of a person, by default "human", or the model), ``item``, ``sample``, ``value`` (float,
        or text for labels), and every further column of the judgments.
    category : ndarray, shape (n,)
        Position of the value in ``categories``.
    item, judge : ndarray, shape (n,)
        Positions in ``items`` and ``judges``.
    categories : tuple
        Numbers in rising order, or labels; those of the scale where one is given, else those that occur.
    items, judges : tuple of str
        In order of appearance; only those with a usable rating.
    kinds, groups : tuple of str, length J
        Of each judge.
    numeric : bool
        Whether values are numbers.
    exclusions : DataFrame
        ``reason, n_rows, n_judges, n_items`` of excluded judgments.
    notes : tuple of str
        What readers of these ratings should know.
    dimension : str
        Name; "" where judgments have none.
    scale : tuple of float, optional
        The ratings that are allowed, where they were stated.
    unused : dict of str to str
        Kinds of the judges without a usable rating, by ``judge_id``.
    unanswered : DataFrame
        Judgments without a usable value that were not excluded, with the columns of ``frame``.
    """

    frame: pd.DataFrame
    category: Codes
    item: Codes
    judge: Codes
    categories: tuple[Any, ...]
    items: tuple[str, ...]
    judges: tuple[str, ...]
    kinds: tuple[str, ...]
    groups: tuple[str, ...]
    numeric: bool
    exclusions: pd.DataFrame
    notes: tuple[str, ...] = ()
    dimension: str = ""
    scale: tuple[float, ...] | None = None
    unused: Mapping[str, str] = field(default_factory=dict)
    unanswered: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def value(self) -> Floats:
        """Ratings as numbers, shape (n,); InputError for labels."""
        if not self.numeric:
            raise InputError(
                f"These judgments are labels ({listed(self.categories)}); this analysis needs numbers."
            )
        return self.frame["value"].to_numpy(dtype=float)

    @property
    def humans(self) -> list[str]:
        """Judges who are people."""
        return [name for name, kind in zip(self.judges, self.kinds, strict=True) if kind == HUMAN]

    @property
    def models(self) -> list[str]:
        """Judges that are models."""
        return [name for name, kind in zip(self.judges, self.kinds, strict=True) if kind != HUMAN]

    @cached_property
    def is_human(self) -> NDArray[np.bool_]:
        """Whether each rating is by a person, shape (n,)."""
        return np.array([kind == HUMAN for kind in self.kinds], dtype=bool)[self.judge]

    @cached_property
    def first_samples(self) -> NDArray[np.bool_]:
        """Whether each rating is the first that its judge gave of its item, shape (n,)."""
        sample = self.frame["sample"].to_numpy(dtype=np.int64)
        first = pd.Series(sample).groupby([self.judge, self.item]).transform("min").to_numpy()
        return np.asarray(sample == first)

    def column(self, name: str) -> pd.Series[Any]:
        """A column of the judgments, also where its name is one of the coded columns."""
        column: pd.Series[Any] = self.frame[f"{name}{GIVEN}" if f"{name}{GIVEN}" in self.frame else name]
        return column

    def clusters(self, column: str | None) -> Codes:
        """Cluster of each item, shape (I,), by a column of the frame; without one each item is its own."""
        if column is None:
            return ranks(self.items)
        return item_clusters(self.item, self.column(column), self.items)

    def of(self, judges: Sequence[str]) -> Ratings:
        """The ratings of some judges, in the same categories; InputError for an unknown judge."""
        for name in judges:
            if name not in self.judges:
                raise InputError(
                    f"There is no judge '{name}'{did_you_mean(name, self.judges)}; there are "
                    f"{listed(self.judges)}."
                )
        return self.where(self.frame["judge"].isin(list(judges)).to_numpy(dtype=bool))

    def where(self, kept: NDArray[np.bool_]) -> Ratings:
        """The ratings where ``kept``, shape (n,), is true, in the same categories."""
        return _coded(self, self.frame[kept].reset_index(drop=True), self.category[kept])

    def completed(self, value: float) -> Ratings:
        """The ratings with every unanswered judgment at one value of the scale."""
        lost = self.unanswered
        if lost.empty:
            return self
        keys = ["judge", "item", "sample"]
        answered = pd.MultiIndex.from_frame(lost[keys]).isin(pd.MultiIndex.from_frame(self.frame[keys]))
        lost = lost[~answered].drop_duplicates(keys).assign(value=value)
        frame = pd.concat([self.frame, lost], ignore_index=True)
        category = np.append(self.category, np.full(len(lost), self.categories.index(value)))
        return _coded(replace(self, unanswered=self.unanswered[:0]), frame, category)

    def valued(self, value: Floats, scale: Sequence[float]) -> Ratings:
        """The same answers with other values, shape (n,), on a scale."""
        categories = tuple(float(one) for one in scale)
        category = np.searchsorted(np.array(categories), value).astype(np.int64)
        coded = replace(self, categories=categories, scale=categories, numeric=True)
        return _coded(coded, self.frame.assign(value=value), category)

    def note(self, text: str) -> str:
        """A note with the dimension in front."""
        return f"{self.dimension}: {text}" if self.dimension else text


Judgments = pd.DataFrame | Ratings | Sequence[Ratings]


def read_dimensions(
    judgments: Judgments,
    dimensions: str | Sequence[str] | None = None,
    *,
    items: pd.DataFrame | None = None,
    columns: Sequence[str] = (),
    scale: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    numeric: bool | None = None,
) -> list[Ratings]:
    """Bring judgments of one or more dimensions into codes, once for all analyses.

    Every analysis of raters accepts the result in place of the judgments, and does not read them again.

    Parameters
    ----------
    judgments : DataFrame, Ratings or sequence of Ratings
        As :func:`read_ratings` takes it; ratings are returned as they are, and keep their scale.
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

    Returns
    -------
    list of Ratings

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "ann", "judge_kind": "human", "item_id": ["a", "a"],
    ...     "dimension": ["wit", "clarity"], "value": [3, 4]})
    >>> [ratings.dimension for ratings in read_dimensions(table)]
    ['wit', 'clarity']
    """
    coded = [judgments] if isinstance(judgments, Ratings) else judgments
    if isinstance(coded, pd.DataFrame) or not all(isinstance(one, Ratings) for one in coded):
        table = with_items(cast(pd.DataFrame, judgments), items, columns)
        scales = scale if isinstance(scale, Mapping) else None
        return [
            read_ratings(
                table,
                dimension=name,
                scale=scale if scales is None else scales.get(name or ""),  # type: ignore[arg-type]
                numeric=numeric,
            )
            for name in dimension_names(table, dimensions)
        ]
    known = {one.dimension: one for one in coded}
    names = list(known) if dimensions is None else names_of(dimensions)
    for name in names:
        if name not in known:
            raise InputError(
                f"There is no dimension '{name}'{did_you_mean(name, known)}; there are {listed(known)}."
            )
    return [replace(known[name], frame=with_items(known[name].frame, items, columns)) for name in names]


def only_dimension(judgments: Judgments, dimension: str | None) -> Ratings:
    """The ratings of one dimension; InputError where there are several and none is named."""
    if isinstance(judgments, pd.DataFrame):
        return read_ratings(judgments, dimension=dimension)
    coded = read_dimensions(judgments, dimension)
    if len(coded) != 1:
        names = listed(one.dimension for one in coded)
        raise InputError(f"There are several dimensions ({names}); name one.")
    return coded[0]


def read_ratings(
    judgments: pd.DataFrame,
    *,
    dimension: str | None = None,
    scale: Sequence[float] | None = None,
    numeric: bool | None = None,
) -> Ratings:
    """Check judgments and bring one dimension of them into codes.

    Parameters
    ----------
    judgments : DataFrame
        One row per judgment: ``judge_id, judge_kind`` ("human" or "model"), ``item_id, value``, and, where
        there are any, ``dimension, prompt_id, sample, status, panel, excluded``; further columns are kept.
        ``excluded`` contains reasons, or true and false, yes and no, 1 and 0; rows with a reason or true are
        excluded. Prompts of a model are judges of their own; ``sample`` (whole numbers) numbers repeated
        ratings.
    dimension : str, optional
        Which dimension; needed where the table has several.
    scale : sequence of float, optional
        The ratings that are allowed, such as ``range(5)``; by default those that occur.
    numeric : bool, optional
        Whether values are numbers; by default they are where most can be read as numbers.

    Returns
    -------
    Ratings

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
    require_columns(judgments, REQUIRED, SOURCE)
    if judgments.empty:
        raise InputError(f"{SOURCE}: there are no rows; give judgments.")
    chosen, row = of_dimension(judgments.reset_index(drop=True), dimension)
    check_kinds(chosen, row)
    frame = _named(chosen, row)
    usable, exclusions = _usable(frame)
    unused = _without_rating(frame, usable)
    asked = exclusion_reasons(frame[EXCLUDED]).isna().to_numpy(dtype=bool) if EXCLUDED in frame else ~usable
    unanswered = frame[~usable & asked]
    frame, row = frame[usable].reset_index(drop=True), row[usable]
    value, labels = values_of(frame["value"], numeric, row)
    frame = frame.assign(value=value)
    refuse_repeated(frame, row)
    categories: Any  # a tuple of ratings or of labels
    if labels is None:
        categories = scale_of(frame, scale, row)
        category = np.searchsorted(np.array(categories), frame["value"].to_numpy(dtype=float))
    elif scale is not None:
        raise InputError(f"{SOURCE}: column 'value' contains labels, which have no scale; omit it.")
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
        scale=None if scale is None else categories,
        unused=unused,
        unanswered=unanswered,
    )
    coded = _coded(blank, frame, category.astype(np.int64))
    ranges = scale_hints(frame) if labels is None and scale is None else []
    return replace(coded, notes=(*_notes(coded, chosen), *ranges))


def _without_rating(frame: pd.DataFrame, usable: NDArray[np.bool_]) -> dict[str, str]:
    """Kind of each judge without a usable rating."""
    lost = frame[~usable & ~frame["judge_id"].isin(frame["judge_id"][usable]).to_numpy(dtype=bool)]
    return dict(zip(as_text(lost["judge_id"]), as_text(lost["judge_kind"]), strict=True))


def _named(frame: pd.DataFrame, row: Codes) -> pd.DataFrame:
    """Add judge, kind, group, item and sample; prompts of a model are judges of their own."""
    judge, kind = as_text(frame["judge_id"]), as_text(frame["judge_kind"])
    if "prompt_id" in frame:
        prompt = as_text(frame["prompt_id"]).fillna("")
        several = (prompt.groupby(judge).transform("nunique") > 1) & (kind != HUMAN)
        judge = judge.mask(several.to_numpy(dtype=bool), judge + " (" + prompt + ")")
    panel = as_text(frame["panel"]).fillna(HUMAN) if "panel" in frame else HUMAN
    given = {f"{name}{GIVEN}": frame[name] for name in CODED if name in frame}
    return frame.assign(
        **given,
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


def _coded(result: Ratings, frame: pd.DataFrame, category: Codes) -> Ratings:
    item, items = pd.factorize(frame["item"])
    judge, judges = pd.factorize(frame["judge"])
    if not len(frame):
        raise InputError("No judgment is left to analyse; choose other judges or items.")
    first = frame.drop_duplicates("judge")
    return replace(
        result,
        frame=frame,
        category=category,
        item=item.astype(np.int64),
        judge=judge.astype(np.int64),
        items=tuple(str(name) for name in items),
        judges=tuple(str(name) for name in judges),
        kinds=tuple(str(kind) for kind in first["kind"]),
        groups=tuple(str(group) for group in first["group"]),
    )


def _notes(ratings: Ratings, chosen: pd.DataFrame) -> list[str]:
    """Say what readers should know: what was excluded, raters with one rating, constant raters."""
    notes = [
        f"{counted(row['n_rows'], 'judgment')} by {counted(row['n_judges'], 'judge')} not used "
        f"({row['reason']})."
        for _, row in ratings.exclusions.iterrows()
    ]
    lost = chosen["item_id"].nunique() - len(ratings.items)
    if lost:
        notes.append(f"{counted(lost, 'item')} without a rating that can be used.")
    each = ratings.frame.groupby("judge", sort=False)["value"].agg(["size", "nunique"])
    single = each.index[each["size"] == 1]
    if len(single):
        notes.append(f"{listed(single, 6)}: one rating each.")
    constant = each.index[(each["size"] > 1) & (each["nunique"] == 1)]
    if len(constant):
        notes.append(f"{listed(constant, 6)}: the same rating for every item.")
    return notes
