"""Ratings on several dimensions as the arrays of the model: one row a rating, one column a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.items import refuse_two_values
from conjury.inference.tables.schema import require_columns

from ....frames.notes import excluding, note_under
from ....frames.vocabulary import HUMAN
from ....numerics.types import Codes, Floats
from ...ratings import Ratings
from ...reading import read_ratings
from ..ordinal.ordinal_data import levels_of_items

KEYS = ["judge", "item", "sample"]
REPEATED = 20  # items with two or more ratings from which effects of items can be separated from the rest


@dataclass(frozen=True)
class GroupRatings:
    """n ratings of I items by the J judges of one group, each on up to D dimensions."""

    group: str  # "human" or the panel of people, or the model
    human: bool
    dimensions: tuple[str, ...]  # length D; those on which the group's ratings differ
    y: Codes  # (D, n); position of the rating among ``values`` of the dimension, -1 where it is missing
    values: tuple[tuple[float, ...], ...]  # length D; ratings that the group uses, in rising order
    item: Codes  # (n,); positions
    judge: Codes  # (n,); positions
    x: Floats  # (I, C); covariates of items, each with mean 0
    terms: tuple[str, ...]  # length C
    items: tuple[str, ...]  # length I
    judges: tuple[str, ...]  # length J
    n_repeated: int  # Items with two or more ratings

    @property
    def n_items(self) -> int:
        """I."""
        return len(self.items)

    @property
    def n_judges(self) -> int:
        """J."""
        return len(self.judges)

    @property
    def n_ratings(self) -> int:
        """Rows: a judge's ratings of an item on all dimensions are one."""
        return len(self.item)

    @property
    def has_items(self) -> bool:
        """Whether what ratings of one item share can be separated from what is each rating's own."""
        return self.n_repeated >= REPEATED

    @property
    def has_judges(self) -> bool:
        """Whether there are severities of several judges."""
        return self.n_judges > 1

    @property
    def n_cuts(self) -> Codes:
        """Cut-points of each dimension, shape (D,)."""
        return np.array([len(levels) - 1 for levels in self.values], dtype=np.int64)


@dataclass(frozen=True)
class DimensionData:
    """Groups, people first, and what was excluded: ``left_out`` has ``group, dimension, reason``."""

    groups: tuple[GroupRatings, ...]
    dimensions: tuple[str, ...]
    left_out: pd.DataFrame
    notes: tuple[str, ...]


def dimension_data(
    judgments: pd.DataFrame,
    dimensions: Sequence[str] | None = None,
    covariates: Sequence[str] = (),
    scale: Sequence[float] | None = None,
) -> DimensionData:
    """Bring judgments on several dimensions into arrays, group by group."""
    require_columns(judgments, ["dimension"], "judgments")
    all_names = [str(name) for name in as_text(judgments["dimension"]).dropna().unique()]
    names = all_names if dimensions is None else [str(name) for name in dimensions]
    if len(set(names)) < 2:
        raise InputError(
            f"There is one dimension ({listed(names)}); correlations need two or more, rater_model takes one."
        )
    read = {name: read_ratings(judgments, dimension=name, scale=scale) for name in dict.fromkeys(names)}
    for name, ratings in read.items():
        if not ratings.numeric:
            raise InputError(f"Ratings of '{name}' are labels ({listed(ratings.categories)}), not numbers.")
    notes: list[str] = list(dict.fromkeys(r.note(note) for r in read.values() for note in r.notes))
    wide, about = _wide_tables(read)
    wide, about = _first_samples_of_people(wide, about, notes)
    order = _groups_in_order(about)
    design, terms = _covariates(judgments, covariates, about)
    groups, exclusions = [], []
    for name in order:
        rows = (about["group"] == name).to_numpy(dtype=bool)
        group, group_exclusions = _ratings_of_group(name, wide[rows], about[rows], design, terms)
        exclusions += group_exclusions
        if group is not None:
            groups.append(group)
    left_out = pd.DataFrame(exclusions, columns=["group", "dimension", "reason"])
    notes += [
        note_under({"judge": row.group, "dimension": row.dimension}, str(row.reason))
        for row in left_out.itertuples()
    ]
    if not groups:
        raise InputError(
            "No group of judges has ratings that differ on two dimensions, so no correlations can be "
            "estimated."
        )
    return DimensionData(tuple(groups), tuple(read), left_out, tuple(notes))


def _wide_tables(read: dict[str, Ratings]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values, one column a dimension, and judge, item, sample, kind and group of the same rows."""
    tables = [
        ratings.frame.set_index(KEYS)[["value", "kind", "group"]].assign(dimension=name)
        for name, ratings in read.items()
    ]
    long = pd.concat(tables).reset_index()
    about = long.drop_duplicates(KEYS)[[*KEYS, "kind", "group"]].reset_index(drop=True)
    rows = pd.MultiIndex.from_frame(about[KEYS])
    wide = pd.DataFrame(
        {
            name: ratings.frame.set_index(KEYS)["value"].reindex(rows).to_numpy(dtype=float)
            for name, ratings in read.items()
        }
    )
    return wide, about


def _first_samples_of_people(
    wide: pd.DataFrame, about: pd.DataFrame, notes: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Keep a person's first rating of an item: a second one is not the view of somebody else."""
    order = about["sample"].argsort(kind="stable")
    repeated = about.iloc[order].duplicated(["judge", "item"]).sort_index().to_numpy(dtype=bool)
    dropped = repeated & (about["kind"] == HUMAN).to_numpy(dtype=bool)
    if dropped.any():
        text = "{n:,} repeated ratings of an item by the same person are excluded."
        notes.append(excluding(text, n=dropped.sum()))
    return wide[~dropped].reset_index(drop=True), about[~dropped].reset_index(drop=True)


def _groups_in_order(about: pd.DataFrame) -> list[str]:
    human = (about["kind"] == HUMAN).to_numpy(dtype=bool)
    return [*map(str, about["group"][human].unique()), *map(str, about["group"][~human].unique())]


def _ratings_of_group(
    name: str, wide: pd.DataFrame, about: pd.DataFrame, design: pd.DataFrame, terms: tuple[str, ...]
) -> tuple[GroupRatings | None, list[tuple[str, str, str]]]:
    dimensions, y, values, exclusions = [], [], [], []
    for dimension in wide:
        column = wide[dimension].to_numpy(dtype=float)
        levels = np.unique(column[~np.isnan(column)])
        if len(levels) < 2:
            reason = "no ratings." if not len(levels) else (
                f"every rating is {levels[0]:g}, so it has no correlations; the dimension is excluded for "
                f"this group."
            )  # fmt: skip
            exclusions.append((name, str(dimension), reason))
            continue
        dimensions.append(str(dimension))
        values.append(tuple(float(value) for value in levels))
        y.append(np.where(np.isnan(column), -1, np.searchsorted(levels, column)))
    if len(dimensions) < 2:
        problem = "fewer than two dimensions have ratings that differ; the group is excluded."
        return None, [*exclusions, *((name, dimension, problem) for dimension in dimensions)]
    codes = np.stack(y).astype(np.int64)
    rated = (codes >= 0).any(axis=0)
    item, items = pd.factorize(about["item"].to_numpy()[rated])
    judge, judges = pd.factorize(about["judge"].to_numpy()[rated])
    x = design.loc[items].to_numpy(dtype=float) if terms else np.zeros((len(items), 0))
    ratings = GroupRatings(
        group=name,
        human=bool((about["kind"] == HUMAN).iloc[0]),
        dimensions=tuple(dimensions),
        y=codes[:, rated],
        values=tuple(values),
        item=item.astype(np.int64),
        judge=judge.astype(np.int64),
        x=x - x.mean(axis=0),
        terms=terms,
        items=tuple(str(name) for name in items),
        judges=tuple(str(name) for name in judges),
        n_repeated=int((np.bincount(item) > 1).sum()),
    )
    return ratings, exclusions


def _covariates(
    judgments: pd.DataFrame, covariates: Sequence[str], about: pd.DataFrame
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Design matrix of items: numbers standardised, other columns as levels against their first."""
    refuse_two_values(judgments, "item_id", covariates, "judgments")
    first = judgments.assign(item=as_text(judgments["item_id"])).drop_duplicates("item").set_index("item")
    first = first.loc[list(about["item"].unique())]
    columns: dict[str, Floats] = {}
    for name in covariates:
        text, present = levels_of_items(first, name)
        column = first[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            numbers = column.to_numpy(dtype=float)
            columns[name] = (numbers - numbers.mean()) / numbers.std()
            continue
        for level in present[1:]:
            columns[f"{name}={level}"] = np.asarray(text == level, dtype=float)
    return pd.DataFrame(columns, index=first.index), tuple(columns)
