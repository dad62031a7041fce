"""Ratings of one dimension in codes, which every analysis of raters takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, listed, unknown_name
from conjury.inference.tables.reading.table_reading import TableReading

from ..frames.notes import note_under
from ..frames.vocabulary import HUMAN
from ..numerics.types import Codes, Floats
from .scales import (
    item_clusters,
    ranks,
)

GIVEN = ", as given"  # ends the name of a column of the user that is called like one that coding adds


@dataclass(frozen=True)
class Ratings:
    """Usable ratings of items by judges on one dimension: n ratings, I items, J judges.

    Parameters
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
    ordered : bool
        Whether the order of ``categories`` means something: numbers, and labels whose order is declared.
    real_judges : tuple of str, optional
        As in `conjury.analysis.results.Result`.

    Examples
    --------
    >>> from conjury.analysis.raters import read_ratings
    >>> ratings = read_ratings(pd.DataFrame({"judge_id": ["ann", "gpt"], "judge_kind": ["human", "model"],
    ...     "item_id": "joke", "value": [3, 4]}))
    >>> ratings.models, ratings.value.tolist()
    (['gpt'], [3.0, 4.0])
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
    ordered: bool = True
    real_judges: tuple[str, ...] | None = None

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
                raise unknown_name("judge", name, self.judges)
        return self.where(self.frame["judge"].isin(list(judges)).to_numpy(dtype=bool))

    def where(self, mask: NDArray[np.bool_]) -> Ratings:
        """The ratings where ``mask``, shape (n,), is true, in the same categories."""
        return with_codes(self, self.frame[mask].reset_index(drop=True), self.category[mask])

    def completed(self, value: float) -> Ratings:
        """The ratings with every unanswered judgment at one value of the scale."""
        missing_rows = self.unanswered
        if missing_rows.empty:
            return self
        keys = ["judge", "item", "sample"]
        answered = pd.MultiIndex.from_frame(missing_rows[keys]).isin(
            pd.MultiIndex.from_frame(self.frame[keys])
        )
        missing_rows = missing_rows[~answered].drop_duplicates(keys).assign(value=value)
        frame = pd.concat([self.frame, missing_rows], ignore_index=True)
        category = np.append(self.category, np.full(len(missing_rows), self.categories.index(value)))
        return with_codes(replace(self, unanswered=self.unanswered[:0]), frame, category)

    def valued(self, value: Floats, scale: Sequence[float]) -> Ratings:
        """The same answers with other values, shape (n,), on a scale."""
        categories = tuple(float(number) for number in scale)
        category = np.searchsorted(np.array(categories), value).astype(np.int64)
        coded = replace(self, categories=categories, scale=categories, numeric=True)
        return with_codes(coded, self.frame.assign(value=value), category)

    def note(self, text: str) -> str:
        """A note with the dimension in front."""
        return note_under({"dimension": self.dimension}, text)


Judgments = pd.DataFrame | TableReading | Ratings | Sequence[Ratings] | str | Path  # or a table of Ibis


def with_codes(result: Ratings, frame: pd.DataFrame, category: Codes) -> Ratings:
    """Ratings with the rows and categories of a frame, and its judges and items in order of appearance."""
    item, items = pd.factorize(frame["item"])
    judge, judges = pd.factorize(frame["judge"])
    if not len(frame):
        raise InputError("No judgments remain for the analysis; choose other judges or items.")
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
