"""Ratings as the arrays of the ordinal rater model: groups, strata, cells that items share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.items import refuse_two_values

from ....frames.notes import Note
from ....frames.vocabulary import HUMAN
from ....numerics.types import Codes, Floats
from ...ratings import Ratings

FEW_PEOPLE = 10  # up to which a panel is small
INFORMATIVE = {"severity": 8, "discrimination": 60}  # ratings that inform as much as the panel
OF_FEW = {"severity": 8, "discrimination": 20}  # as does one of few people
REPEATED = 20  # items rated more than once by a judge of a group, from which own effects are estimated


@dataclass(frozen=True)
class OrdinalData:
    """n ratings of I items by J judges in G groups on K categories."""

    # Groups of people come first; each model is a group of its own.

    judges: tuple[str, ...]  # length J
    groups: tuple[str, ...]  # length G
    n_panels: int  # How many groups are of people
    group: Codes  # (J,); group of each judge
    categories: tuple[float, ...]  # length K; those that occur
    items: tuple[str, ...]  # length I
    levels: dict[str, tuple[str, ...]]  # Levels of each covariate
    # (S, E); levels of covariates in each stratum: one column a level, in the order of ``levels``
    effects: Floats
    stratum: Codes  # (I,); combination of levels that each item has
    judge: Codes  # (n,); of each rating
    item: Codes  # (n,); of each rating
    category: Codes  # (n,); of each rating
    sample: Codes  # (n,); of each rating
    # (G,); whether a group's own effects of items are estimated, since its judges rated items repeatedly
    own: NDArray[np.bool_]
    notes: tuple[str, ...] = ()

    @property
    def n_categories(self) -> int:
        """K."""
        return len(self.categories)

    @property
    def models(self) -> tuple[str, ...]:
        """Groups that are models."""
        return self.groups[self.n_panels :]

    @property
    def people(self) -> Codes:
        """Positions of judges who are people."""
        return np.flatnonzero(self.group < self.n_panels)

    @cached_property
    def size(self) -> Codes:
        """Judges in each group, shape (G,)."""
        return np.bincount(self.group, minlength=len(self.groups))

    @cached_property
    def first_samples(self) -> NDArray[np.bool_]:
        """Whether a rating is the first of its judge and item, shape (n,)."""
        units = pd.Series(self.sample).groupby([self.judge, self.item])
        return np.asarray(self.sample == units.transform("min").to_numpy())

    @cached_property
    def share(self) -> Floats:
        """Share of items in each stratum, shape (S,)."""
        return np.bincount(self.stratum, minlength=len(self.effects)) / len(self.stratum)


@dataclass(frozen=True)
class RatingCells:
    """P pairs of judge and stratum, C cells, and I items, as ``kernel.log_likelihood`` takes them."""

    pair_judge: Codes  # (P,)
    pair_stratum: Codes  # (P,)
    pair_group: Codes  # (P,)
    cell_start: Codes  # (P + 1,)
    rating_start: Codes  # (C + 1,)
    rating: Codes
    item_start: Codes  # (I + 1,)
    # (I,); where the cells of models begin among those of each item, which follow those of people
    item_models: Codes
    item_cell: Codes
    item_weight: Floats  # (I,); items with the same cells and stratum are one, with their number
    item_stratum: Codes  # (I,)
    item: Codes  # (number of items,); which of the I each item is

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arguments of the kernel, by name, in its order."""
        names = ("pair_judge", "pair_stratum", "pair_group", "cell_start", "rating_start", "rating",
                 "item_start", "item_models", "item_cell", "item_weight", "item_stratum")  # fmt: skip
        return {name: getattr(self, name) for name in names}


def ordinal_data(ratings: Ratings, covariates: Sequence[str] = ()) -> OrdinalData:
    """Arrange ratings for the model, and refuse what it cannot say anything about."""
    if not ratings.ordered:
        raise InputError(
            f"These judgments are labels ({listed(ratings.categories)}); rater_model needs ordered ratings, "
            "so state their order as read_ratings(judgments, scale=[...]), or use label_model."
        )
    panels = list(dict.fromkeys(g for g, kind in zip(ratings.groups, ratings.kinds, strict=True)
                                if kind == HUMAN))  # fmt: skip
    groups = (*panels, *ratings.models)
    group = np.array([groups.index(name) for name in ratings.groups], dtype=np.int64)
    positions, category = np.unique(ratings.category, return_inverse=True)
    sample = ratings.frame["sample"].to_numpy(dtype=np.int64)
    levels, effects, stratum = _strata(ratings, covariates)
    notes = list(ratings.notes)
    if len(positions) < len(ratings.categories):
        names = [f"{value:g}" if ratings.numeric else str(value) for value in ratings.categories]
        unused = [name for number, name in enumerate(names) if number not in positions]
        notes.append(
            f"No rating is {listed(unused)}; the model excludes {'it' if len(unused) == 1 else 'them'}."
        )
    arrays = OrdinalData(
        judges=ratings.judges,
        groups=tuple(groups),
        n_panels=len(panels),
        group=group,
        categories=tuple(
            float(ratings.categories[number]) if ratings.numeric else number + 1.0 for number in positions
        ),
        items=ratings.items,
        levels=levels,
        effects=effects,
        stratum=stratum,
        judge=ratings.judge,
        item=ratings.item,
        category=category.astype(np.int64),
        sample=sample,
        own=np.zeros(len(groups), dtype=bool),
        notes=tuple(notes),
    )
    _check_identification(arrays)
    return _with_repeats(arrays)


def centring(data: OrdinalData, number: int, what: str) -> float:
    """How far a panel's deviations are sampled as themselves (1) or in units of their SD (0)."""
    # The more ratings members gave, the more is known of each without the panel; in between, the sampler
    # meets least correlation.
    members = data.group == number
    each = members[data.judge].sum() / members.sum()
    prior_counts = OF_FEW if members.sum() <= FEW_PEOPLE else INFORMATIVE
    return float(each / (each + prior_counts[what]))


def cells(data: OrdinalData) -> RatingCells:
    """Find the cells: ratings of an item by a judge, alike in judge, ratings and, for models, stratum."""
    tilted = data.group >= data.n_panels
    order = np.lexsort((data.category, data.judge, tilted[data.judge], data.item))
    judge, item, category = data.judge[order], data.item[order], data.category[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(judge) != 0) | (np.diff(item) != 0)])
    length = np.diff(np.r_[begins, len(order)])
    units = [
        (
            int(judge[at]),
            int(tilted[judge[at]] * data.stratum[item[at]]),
            tuple(category[at : at + n].tolist()),
        )
        for at, n in zip(begins, length, strict=True)
    ]
    unique_cells = sorted(set(units))
    number = {cell: at for at, cell in enumerate(unique_cells)}
    pairs = sorted({cell[:2] for cell in unique_cells})
    pair_number = {pair: at for at, pair in enumerate(pairs)}
    of_cell = np.array([pair_number[cell[:2]] for cell in unique_cells])
    cell = np.array([number[unit] for unit in units], dtype=np.int64)
    starts = np.searchsorted(item[begins], np.arange(len(data.items) + 1))
    alike: dict[tuple[int, ...], int] = {}
    of_item = np.array(
        [
            alike.setdefault((int(data.stratum[i]), *cell[starts[i] : starts[i + 1]].tolist()), len(alike))
            for i in range(len(data.items))
        ],
        dtype=np.int64,
    )
    lists = list(alike)
    item_start = np.cumsum([0] + [len(pattern) - 1 for pattern in lists]).astype(np.int64)
    item_cell = np.array([c for pattern in lists for c in pattern[1:]], dtype=np.int64)
    by_people = ~tilted[[pair[0] for pair in pairs]][of_cell][item_cell]
    return RatingCells(
        pair_judge=np.array([pair[0] for pair in pairs], dtype=np.int64),
        pair_stratum=np.array([pair[1] for pair in pairs], dtype=np.int64),
        pair_group=data.group[[pair[0] for pair in pairs]],
        cell_start=np.searchsorted(of_cell, np.arange(len(pairs) + 1)).astype(np.int64),
        rating_start=np.cumsum([0] + [len(cell[2]) for cell in unique_cells]).astype(np.int64),
        rating=np.array([k for cell in unique_cells for k in cell[2]], dtype=np.int64),
        item_start=item_start,
        item_models=item_start[:-1] + np.add.reduceat(by_people.astype(np.int64), item_start[:-1]),
        item_cell=item_cell,
        item_weight=np.bincount(of_item, minlength=len(lists)).astype(np.float64),
        item_stratum=np.array([pattern[0] for pattern in lists], dtype=np.int64),
        item=of_item,
    )


def levels_of_items(first: pd.DataFrame, name: str) -> tuple[pd.Series[Any], tuple[str, ...]]:
    """A covariate of items as text, and its levels in their order; InputError where it is uninformative."""
    if name not in first:
        names = [str(column) for column in first.columns]
        raise InputError(
            f"There is no column '{name}'{did_you_mean(name, names)} in the judgments or items; add it, or "
            "omit the covariate."
        )
    text = as_text(first[name])
    missing = text.isna().to_numpy(dtype=bool)
    if missing.any():
        raise InputError(
            f"Covariate '{name}' is missing for {int(missing.sum()):,} items, such as "
            f"'{first.index[missing][0]}'; fill it in."
        )
    dtype = first[name].dtype
    if isinstance(dtype, pd.CategoricalDtype):
        order = [str(level) for level in dtype.categories]
    else:
        order = sorted(text.unique())
    values = set(text)
    present = tuple(level for level in order if level in values)
    if len(present) < 2:
        raise InputError(f"Covariate '{name}' is '{present[0]}' for every item; omit it.")
    return text, present


def _strata(ratings: Ratings, covariates: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], Floats, Codes]:
    refuse_two_values(ratings.frame, "item", covariates, "judgments")
    first = ratings.frame.drop_duplicates("item").set_index("item").loc[list(ratings.items)]
    levels: dict[str, tuple[str, ...]] = {}
    columns = []
    for name in covariates:
        text, levels[name] = levels_of_items(first, name)
        columns.append(
            text.map({level: at for at, level in enumerate(levels[name])}).to_numpy(dtype=np.int64)
        )
    if not columns:
        return {}, np.zeros((1, 0)), np.zeros(len(ratings.items), dtype=np.int64)
    combined, stratum = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    effects = [np.eye(len(level_names))[combined[:, at]] for at, level_names in enumerate(levels.values())]
    return levels, np.concatenate(effects, axis=1), stratum.astype(np.int64)


def _check_identification(data: OrdinalData) -> None:
    people = data.people
    if len(people) < 2:
        raise InputError(
            f"The judgments are by {len(people) or 'no'} {'person' if len(people) == 1 else 'people'}; the "
            "human consensus needs two or more who rate the same items."
        )
    if data.n_categories < 2:
        raise InputError(f"Every rating is {data.categories[0]:g}, so there is no variation to model.")
    human = np.isin(data.judge, people)
    pairs = pd.DataFrame({"item": data.item[human], "judge": data.judge[human]}).drop_duplicates()
    several = int((pairs.groupby("item").size() > 1).sum())
    if several == 0:
        raise InputError(
            "No item is rated by two people, so consensus and error cannot be separated; give items "
            "rated by several."
        )
    for number, name in enumerate(data.groups):
        categories = np.unique(data.category[data.group[data.judge] == number])
        if len(categories) == 1:
            raise InputError(
                f"'{name}' gave {data.categories[categories[0]]:g} for every item; exclude it, since its "
                "ratings contain no information."
            )


def _with_repeats(data: OrdinalData) -> OrdinalData:
    """Decide where own effects of items can be estimated, and state what is not identified."""
    notes = list(data.notes)
    unit = pd.DataFrame({"judge": data.judge, "item": data.item, "group": data.group[data.judge]})
    count = unit.groupby(["judge", "item", "group"], sort=False).size().reset_index(name="n")
    repeated = np.bincount(count.loc[count["n"] > 1, "group"], minlength=len(data.groups))
    has_item_effect = repeated >= REPEATED
    first = data.first_samples
    keep = np.ones(len(data.judge), dtype=bool)
    for number, name in enumerate(data.groups):
        if 0 < repeated[number] < REPEATED:
            keep &= first | (unit["group"] != number).to_numpy(dtype=bool)
            notes.append(
                Note.of(
                    "{judge} rated {n:,} items more than once, too few (under {few}) to estimate individual "
                    "effects of items; only the first rating of each is used.",
                    judge=name,
                    n=repeated[number],
                    few=REPEATED,
                )
            )
    single = [
        name
        for name, is_estimable in zip(data.models, has_item_effect[data.n_panels :], strict=True)
        if not is_estimable
    ]
    if single:
        notes.append(
            Note.of(
                "{judges}: one rating per item, so its stable judgment of the item and the noise of single "
                "answers cannot be separated; the latent correlation is that of a single rating.",
                judges=single,
            )
        )
    for number in range(data.n_panels):
        if data.size[number] == 1:
            notes.append(
                f"Panel '{data.groups[number]}' is one person: severity is part of the thresholds, and no "
                "spread within the panel is estimated."
            )
    each = pd.DataFrame({"judge": data.judge, "value": data.category}).groupby("judge")["value"]
    kinds = each.nunique()
    constant = [data.judges[j] for j in data.people if kinds.get(j, 0) == 1]
    if constant:
        notes.append(
            Note.of(
                "{judges:6} gave the same rating to every item; estimates of their severity and "
                "discrimination depend on those of the panel.",
                judges=constant,
            )
        )
    human = np.isin(data.judge, data.people)
    lonely = int((np.bincount(data.item[human], minlength=len(data.items)) < 2).sum())
    if lonely:
        notes.append(f"{lonely:,} of {len(data.items):,} items have fewer than two ratings by people.")
    return replace(
        data, own=has_item_effect, notes=tuple(notes), judge=data.judge[keep], item=data.item[keep],
        category=data.category[keep], sample=data.sample[keep],
    )  # fmt: skip
