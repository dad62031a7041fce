"""Counts: who rated what, what is excluded and why, and how often each rating was given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...results import Result
from ...vocabulary import HUMAN
from ..items import names_of
from ..ratings import Judgments, read_dimensions
from .scores import item_scores, ordered, stratum_names


def coverage(judgments: Judgments) -> Result:
    """Count judges, items and ratings of each group and dimension, and the judgments that are excluded.

    Parameters
    ----------
    judgments : DataFrame, Ratings or sequence of Ratings
        As :func:`conjury.analysis.raters.read_ratings` takes it, with any number of dimensions.

    Returns
    -------
    Result
        ``frame`` has one row per dimension and group: ``dimension, group, kind, n_judges, n_items,
        n_ratings, per_item`` (ratings per item, on average) and ``least`` (of any item that has one);
        ``extra["exclusions"]`` has ``dimension, reason, n_rows, n_judges, n_items``.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"],
    ...     "item_id": "joke", "value": [3, None, 2]})
    >>> coverage(table).frame[["group", "n_ratings"]].to_numpy().tolist()
    [['human', 1], ['gpt', 1]]
    """
    counted, excluded, notes = [], [], []
    for ratings in read_dimensions(judgments):
        by = ratings.frame.groupby(["group", "kind"], sort=False)
        each = by.agg(n_judges=("judge", "nunique"), n_items=("item", "nunique"), n_ratings=("item", "size"))
        per = ratings.frame.groupby(["group", "item"], sort=False).size().groupby("group", sort=False)
        each = each.reset_index()
        each["per_item"] = each["n_ratings"] / each["n_items"]
        each["least"] = each["group"].map(per.min())
        each.insert(0, "dimension", ratings.dimension)
        counted.append(each)
        excluded.append(ratings.exclusions.assign(dimension=ratings.dimension))
        notes += [ratings.note(note) for note in ratings.notes]
    frame = pd.concat(counted, ignore_index=True)
    people_first = frame["kind"].ne(HUMAN).argsort(kind="stable")
    exclusions = pd.concat(excluded, ignore_index=True)
    exclusions = exclusions[["dimension", "reason", "n_rows", "n_judges", "n_items"]]
    frame = frame.iloc[people_first].reset_index(drop=True)
    return Result(frame, "coverage", tuple(notes), {}, {"exclusions": exclusions})


def distributions(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
) -> Result:
    """Count single ratings by value, repeated ones included, for people together and for each model.

    Parameters
    ----------
    judgments, items, by, dimensions, scale
        As in :func:`means`.

    Returns
    -------
    Result
        ``dimension, group, *by, value, estimate`` (share of the ratings of that group), ``n_ratings``;
        every value of the scale has a row.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"],
    ...     "item_id": "a", "value": [1, 2, 2]})
    >>> distributions(table).frame[["group", "value", "estimate"]].values.tolist()
    [['human', 1.0, 0.5], ['human', 2.0, 0.5], ['gpt', 1.0, 0.0], ['gpt', 2.0, 1.0]]
    """
    by = names_of(by)
    scores = item_scores(judgments, items, by, dimensions=dimensions, scale=scale, people=False)
    rows = []
    for ratings in scores.ratings:
        item = scores.item_of(ratings)
        group = np.array(ratings.groups)[ratings.judge]
        for name in scores.groups:
            of_group = ratings.is_human if name == HUMAN else group == name
            for level, inside in scores.cells(by):
                here = of_group & inside[item]
                counts = np.bincount(ratings.category[here], minlength=len(ratings.categories))
                keys = {"dimension": ratings.dimension, "group": name, **stratum_names(by, level)}
                if counts.sum():
                    rows += [
                        {**keys, "value": value, "estimate": n / counts.sum(), "n_ratings": int(n)}
                        for value, n in zip(ratings.categories, counts, strict=True)
                    ]
    frame = ordered(pd.DataFrame(rows), ["dimension", "group", *by])
    return Result(frame, "distributions", scores.notes, {"by": by})
