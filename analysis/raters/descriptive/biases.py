"""How models differ from people as raters: leniency, narrow scale, own responses, neglect of context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text, listed

from ...numerics.bootstrap import (
    FIXED_PEOPLE,
    Draws,
    cluster_weights,
    few_clusters,
    intervals,
    without_spread,
)
from ...numerics.intervals import check_alpha, check_draws
from ...numerics.multiplicity import adjusted
from ...results import Result
from ..items import names_of
from ..ratings import HUMAN
from .bias_parts import Row, context, keys_of, positivity, range_of_scale
from .means import columns_of
from .scores import Flags, Scores, item_scores, ordered
from .self_preference import ADJUSTMENTS, SELF, Authors, self_preference

CEILING = 0.4  # share of ratings at one end of the scale
UNADJUSTED = "p is not adjusted for the number of rows; p_holm is, over all rows of its table."


def biases(
    judgments: pd.DataFrame,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    generator: str | None = None,
    author: str = HUMAN,
    unrelated: tuple[str, str] | None = None,
    set_aside: Mapping[str, Sequence[str]] | None = None,
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Compare each model with people as a rater.

    Parameters
    ----------
    judgments, items
        As in `means`.
    by : str or sequence of str
        Columns whose combinations of levels get rows of positivity of their own.
    generator : str, optional
        Column of items that says who wrote an item; without it there is no test of self-preference.
    author : str
        What that column holds for items that people wrote.
    unrelated : (column, level), optional
        Items that do not belong to their topic; without it there is no test of neglect of context.
    set_aside : mapping of str to sequence of str, optional
        Further levels, by column, left out of self-preference and of the items that unrelated ones are
        compared with, such as responses that are not meant to be funny.
    dimensions, cluster, scale, alpha, draws, seed
        As in `means`.

    Returns
    -------
    Result
        ``dimension, judge, bias, quantity, *by, estimate, std_error, lower, upper, null, p, p_holm, n_items,
        n_clusters``, where ``p`` is unadjusted and ``p_holm`` adjusted over all rows of the table:

        - ``positivity``: ``difference``, the mean of model minus people over items that both rated.
        - ``range``: ``sd_ratio``, standard deviation over items of the model's rating by that of the people's
          mean; ``sd_ratio_one_person``, by that of single ratings by people, which are as noisy as one
          rating by a model; ``scale_used``, exp(entropy) of the single ratings by the number of values of the
          scale, also for people (``judge`` "human"); missing for more than 101 values.
        - ``self_preference``: ``own`` and ``other_models``, how much higher a model rates what it or other
          models wrote than what people wrote of equal human quality (see `matching`), and
          ``own_minus_other``.
        - ``context``: ``unrelated``, model minus people on unrelated items; ``unrelated_net``, the same minus
          model minus people on the other items that people wrote; ``drop_ratio``, how much the model marks
          unrelated items down, as a share of how much people do (1: as much, 0: not at all); missing where
          people do so by less than four standard errors (without draws, not at all).

        ``extra["adjustments"]`` holds self-preference without adjustment, adjusted for the observed human
        mean, and corrected; the rows of ``one person`` show what comparing at equal observed means finds
        for a human rater who wrote none of the items: regression to the mean, and nothing else.
        ``extra["generators"]`` holds the corrected difference for every author.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"] * 2, "judge_kind": ["human", "human", "model"]
    ...     * 2, "item_id": list("aaabbb"), "value": [1, 2, 3, 3, 4, 4]})
    >>> made = biases(table, draws=20).frame
    >>> made[made["bias"] == "positivity"][["judge", "estimate"]].values.tolist()
    [['gpt', 1.0]]
    """
    check_alpha(alpha)
    check_draws(draws, seed)
    by = names_of(by)
    aside = dict(set_aside or {})
    columns = [*by, *([generator] if generator else []), *([unrelated[0]] if unrelated else []), *aside]
    made = item_scores(judgments, items, columns=columns, dimensions=dimensions, cluster=cluster, scale=scale)
    off_topic = _flagged(made, {unrelated[0]: [unrelated[1]]}) if unrelated else None
    put_by = _flagged(made, aside)
    plain = ~put_by if off_topic is None else ~put_by & ~off_topic
    written = as_text(made.strata[generator]).fillna("").to_numpy(dtype=object) if generator else None
    by_people = plain if written is None else plain & (written == author)
    if written is not None and not by_people.any():
        raise InputError(
            f"items: no judged item has '{author}' in column '{generator}' ({listed(np.unique(written))}); "
            "name what it holds for items that people wrote."
        )
    drawn = Draws(cluster_weights(made.n_clusters, draws, seed), made.cluster)
    found: list[Row] = []
    detail: list[Row] = []
    for dimension in made.dimensions:
        found += positivity(made, dimension, by, drawn)
        found += range_of_scale(made, dimension, by, drawn)
        if written is not None:
            machine = plain & (written != author) & (written != "")
            compared = self_preference(made, dimension, Authors(written, by_people, machine), drawn)
            found += _corrected(compared, by)
            detail += compared
        if off_topic is not None:
            found += context(made, dimension, by, off_topic, by_people, drawn)
    keys = ["dimension", "judge", "bias", "quantity", *by]
    extra = {}
    if detail:
        table = _table(detail, made, alpha).drop(columns="alike")
        columns = ["dimension", "judge", "quantity", "adjustment", "generator"]
        is_author = table["generator"] != ""
        extra = {
            "adjustments": ordered(table[~is_author].drop(columns="generator"), columns[:-1]),
            "generators": ordered(
                table[is_author].drop(columns=["quantity", "adjustment"]), ["dimension", "judge", "generator"]
            ),
        }
        extra = {name: shown.reset_index(drop=True) for name, shown in extra.items()}
    notes = [FIXED_PEOPLE, UNADJUSTED, *made.notes, *_told(detail)]
    if detail:
        notes += _ceilings(made)
    settings = {
        "by": by, "generator": generator, "author": author, "alpha": alpha, "draws": draws,
        "seed": seed, "unrelated": list(unrelated) if unrelated else None,
        "set_aside": {name: list(levels) for name, levels in aside.items()}, "cluster": cluster,
    }  # fmt: skip
    frame = ordered(_table(found, made, alpha), keys)
    notes += few_clusters(frame["n_clusters"], draws) + without_spread(frame.pop("alike"))
    return Result(frame, "biases", tuple(notes), settings, extra)


def _flagged(made: Scores, levels: Mapping[str, Sequence[str]]) -> Flags:
    flagged = np.zeros(len(made.items), dtype=bool)
    for column, names in levels.items():
        for name in names:
            here = made.at(column, name)
            if not here.any():
                raise InputError(
                    f"items: no judged item has '{name}' in column '{column}'; there are "
                    f"{listed(made.levels(column))}."
                )
            flagged |= here
    return flagged


def _corrected(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """Corrected comparisons with all authors of a kind together, as rows of the main table."""
    return [
        replace(
            row, keys=keys_of(by, str(keys["dimension"]), str(keys["judge"]), SELF, str(keys["quantity"]))
        )
        for row in rows
        if (keys := row.keys)["adjustment"] == ADJUSTMENTS[2] and not keys["generator"]
    ]


def _table(rows: Sequence[Row], made: Scores, alpha: float) -> pd.DataFrame:
    parts = []
    n_clusters = np.array([len(np.unique(made.cluster[row.used])) for row in rows])
    for null in dict.fromkeys(str(row.null) for row in rows):
        at = [k for k, row in enumerate(rows) if str(row.null) == null]
        drawn = np.column_stack([rows[k].drawn for k in at])
        found = intervals(drawn, alpha, rows[at[0]].null, clusters=n_clusters[at])
        own = {**columns_of(found), "null": rows[at[0]].null, "p": found.p, "alike": found.alike}
        parts.append(pd.DataFrame(own, index=at))
    keys = pd.DataFrame([row.keys for row in rows])
    counts = pd.DataFrame(
        {
            "n_items": [int(row.used.sum()) for row in rows],
            "n_clusters": n_clusters,
        }
    )
    numbers = pd.concat(parts).sort_index()
    numbers["p_holm"] = adjusted(numbers["p"].to_numpy(dtype=float), "holm")
    return pd.concat([keys, numbers, counts], axis=1)


def _ceilings(made: Scores) -> list[str]:
    """Models that give one end of the scale to so many items that no straight line fits them."""
    told = []
    for dimension, ratings in zip(made.dimensions, made.ratings, strict=True):
        for judge in made.models:
            values = made.of(dimension, judge)
            ends = (float(min(ratings.categories)), float(max(ratings.categories)))
            share = max(float(np.mean(values[np.isfinite(values)] == end)) for end in ends)
            if share > CEILING:
                told.append(f"{judge}{f' on {dimension}' if dimension else ''} ({share:.0%})")
    return (
        [
            "Comparisons at equal human quality assume a straight line, which ratings at one end of the "
            f"scale bend: {listed(told)}."
        ]
        if told
        else []
    )


def _told(detail: Sequence[Row]) -> list[str]:
    undefined = sum(
        bool(np.isnan(row.drawn[0])) for row in detail if row.keys["adjustment"] == ADJUSTMENTS[2]
    )
    return (
        [
            f"{undefined:,} comparisons at equal human quality are missing: items need two raters, and human "
            "means that differ by more than their noise."
        ]
        if undefined
        else []
    )
