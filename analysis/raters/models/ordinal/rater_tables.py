"""Draws of the ordinal rater model as tidy tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....frames.notes import Note
from ....frames.rounding import percentage
from ....numerics.intervals import draw_limits
from ....numerics.linear import is_constant
from ....numerics.types import Codes, Floats
from ..model_checks import frequency_check, named_statistic_check, posterior_table
from .expected_agreement import Agreement
from .ordinal_data import OrdinalData, RatingCells
from .ordinal_draws import ParameterDraws, QuadratureGrid, category_chances, log_weights, moments

FAR_BELOW = 1 / 2  # of a typical person's discrimination, under which a person does not follow the panel
AT_END = 0.8  # share of one extreme rating from which on latent correlations are not identified
ITEMS_IN_STATISTICS = 2  # ratings by people that an item needs for their spread
DRAWS = 60  # evenly spaced draws: each is averaged over for every item


def group_table(
    draws: ParameterDraws,
    agreement: Agreement,
    agreeing: ParameterDraws,
    data: OrdinalData,
    shape: tuple[int, int],
    alpha: float,
) -> pd.DataFrame:
    """All quantities of each group; of a panel, those of a typical or a random member."""
    keys: list[tuple[str, str]] = []
    columns: list[Floats] = []

    def add(group: str, quantity: str, values: Floats) -> None:
        keys.append((group, quantity))
        columns.append(values)

    some, ends = _shape_by_chain(shape, len(agreement.same)), groups_at_ends(data)
    for g, name in enumerate(data.groups):
        panel = g < data.n_panels
        add(name, "discrimination", agreeing.of_group[:, g])
        if panel and data.size[g] > 1:
            add(name, "discrimination_sd", agreeing.slope_sd[:, g])
            add(name, "severity_sd", agreeing.severity_sd[:, g])
        if not panel:
            add(name, "severity_points", agreement.strict[:, data.group == g][:, 0])
        if data.own[g]:
            add(name, "own_sd", agreeing.own[:, g])
            add(name, "latent_correlation", _latent_correlation(agreeing, data, g, noise=0.0))
        if name in ends:
            add(name, "correlation", agreement.correlation[:, g])
        add(name, "latent_correlation_rating", _latent_correlation(agreeing, data, g, noise=1.0))
        if data.levels:
            noise = 0.0 if data.own[g] else 1.0
            slope = agreeing.of_group[:, g]
            within = slope / np.sqrt(slope**2 + agreeing.own[:, g] ** 2 + noise)
            add(name, "latent_correlation_within", within)
        add(name, "same_rating", agreement.same[:, g])
        add(name, "distance", agreement.distance[:, g])
        if name not in ends:
            add(name, "correlation", agreement.correlation[:, g])
        if not panel:
            add(name, "better_than_human", agreement.better[:, g])
            add(name, "closer_than_human", agreement.closer[:, g])
    values = np.stack(columns, axis=1).reshape(*some, -1)
    table = posterior_table(pd.DataFrame(keys, columns=["group", "quantity"]), values, alpha)
    kinds = dict(zip(data.groups, ["human"] * data.n_panels + ["model"] * len(data.models), strict=True))
    table.insert(1, "judge_kind", table["group"].map(kinds))
    each = data.group[data.judge]
    table["n_judges"] = table["group"].map(dict(zip(data.groups, data.size, strict=True)))
    table["n_ratings"] = table["group"].map(
        dict(zip(data.groups, np.bincount(each, minlength=len(data.groups)), strict=True))
    )
    equal = dict(zip(data.groups, equal_shares(data.category, data), strict=True))
    table["observed"] = table["group"].map(equal).where(table["quantity"] == "same_rating")
    return table


def judge_table(
    draws: ParameterDraws, agreement: Agreement, data: OrdinalData, shape: tuple[int, int], alpha: float
) -> pd.DataFrame:
    """Severity (latent, of people in panels of several; and in points) and discrimination of each judge."""
    keys, columns = [], []
    for j, name in enumerate(data.judges):
        g = int(data.group[j])
        if g < data.n_panels and data.size[g] > 1:
            keys.append((name, data.groups[g], "severity"))
            columns.append(draws.severity[:, j])
        keys.append((name, data.groups[g], "discrimination"))
        columns.append(draws.slope[:, j])
    table = posterior_table(
        pd.DataFrame(keys, columns=["judge", "group", "quantity"]),
        np.stack(columns, axis=1).reshape(*shape, -1),
        alpha,
    )
    points = posterior_table(
        pd.DataFrame({
            "judge": data.judges,
            "group": [data.groups[g] for g in data.group],
            "quantity": "severity_points",
        }),
        agreement.strict.reshape(*_shape_by_chain(shape, len(agreement.strict)), -1),
        alpha,
    )  # fmt: skip
    rows = pd.concat([table, points], ignore_index=True)
    counts = dict(zip(data.judges, np.bincount(data.judge, minlength=len(data.judges)), strict=True))
    rows["n_ratings"] = rows["judge"].map(counts)
    return rows


def threshold_table(
    draws: ParameterDraws, data: OrdinalData, shape: tuple[int, int], alpha: float
) -> pd.DataFrame:
    """Thresholds of each group, in standard deviations of the noise, around items of average quality."""
    names = [f"{a:g}|{b:g}" for a, b in zip(data.categories[:-1], data.categories[1:], strict=True)]
    keys = pd.MultiIndex.from_product([data.groups, names], names=["group", "threshold"]).to_frame(
        index=False
    )
    return posterior_table(keys, draws.cut.reshape(*shape, -1), alpha)


def covariate_tables(
    posterior: Any, agreement: Agreement, data: OrdinalData, shape: tuple[int, int], alpha: float
) -> dict[str, pd.DataFrame]:
    """``quality``: effects of levels on the consensus; ``bias``: of models towards levels, net of quality."""
    # bias, in standard deviations of the noise, is additive in the covariates; bias_points, in points of the
    # scale, averages over the strata of a level.
    quality, bias = [], []
    for name, levels in data.levels.items():
        keys = pd.DataFrame({"covariate": name, "level": levels})
        quality.append(posterior_table(keys, np.asarray(posterior[f"quality_{name}"]), alpha))
        if not data.models:
            continue
        pairs = pd.MultiIndex.from_product([data.models, levels], names=["group", "level"]).to_frame(
            index=False
        )
        pairs.insert(1, "covariate", name)
        latent = np.asarray(posterior[f"bias_{name}"]).reshape(*shape, -1)
        bias.append(posterior_table(pairs.assign(quantity="bias"), latent, alpha))
        start = sum(len(names) for names in list(data.levels.values())[: list(data.levels).index(name)])
        weight = data.effects[:, start : start + len(levels)] * data.share[:, None]
        points = agreement.tilt[:, data.n_panels :] @ (weight / weight.sum(axis=0))
        flat = points.reshape(*_shape_by_chain(shape, len(points)), -1)
        bias.append(posterior_table(pairs.assign(quantity="bias_points"), flat, alpha))
    tables = {"quality": pd.concat(quality, ignore_index=True)} if quality else {}
    return tables | ({"bias": pd.concat(bias, ignore_index=True)} if bias else {})


def predictive_tables(replications: Codes, data: OrdinalData, alpha: float) -> dict[str, pd.DataFrame]:
    """Observed against replicated ratings: ``frequencies`` by group, ``by_judge``, and ``statistics``."""
    judge = np.array(data.judges, dtype=object)[data.judge]
    group = np.array(data.groups, dtype=object)[data.group[data.judge]]
    groups = pd.DataFrame({"group": group})
    judges = pd.DataFrame({"judge": judge, "group": group})
    statistics, replicated_statistics = (
        _statistics(data.category, data),
        [_statistics(codes, data) for codes in replications],
    )
    return {
        "frequencies": frequency_check(data.category, replications, data.categories, groups, alpha),
        "by_judge": frequency_check(data.category, replications, data.categories, judges, alpha),
        "statistics": named_statistic_check(statistics, replicated_statistics, alpha),
    }


def equal_shares(category: Codes, data: OrdinalData) -> Floats:
    """Share of equal ratings of a judge of each group and another person, over items, shape (G,)."""
    # Of a person's repeated ratings of an item the first counts.
    group, size, width = data.group[data.judge], len(data.items), data.n_categories
    person = group < data.n_panels
    counts = np.zeros((len(data.groups), size, width))
    mask = data.first_samples | ~person
    np.add.at(counts, (group[mask], data.item[mask], category[mask]), 1)
    of_people = counts[: data.n_panels].sum(axis=0)
    n_people = of_people.sum(axis=1)
    shares = np.full(len(data.groups), np.nan)
    for g, count in enumerate(counts):
        n_ratings = count.sum(axis=1)
        itself = n_ratings if g < data.n_panels else 0  # nobody is a person beside themselves
        pairs = n_ratings * n_people - itself
        equal = (count * of_people).sum(axis=1) - itself
        if (pairs > 0).any():
            shares[g] = (equal[pairs > 0] / pairs[pairs > 0]).mean()
    return shares


def _statistics(category: Codes, data: OrdinalData) -> dict[str, float]:
    """Spread of people within items, of their means, their agreement, and the same of models with them."""
    value = np.array(data.categories)[category]
    human = data.group[data.judge] < data.n_panels
    size = len(data.items)
    count = np.bincount(data.item[human], minlength=size)
    total = np.bincount(data.item[human], value[human], minlength=size)
    square = np.bincount(data.item[human], value[human] ** 2, minlength=size)
    enough = count >= ITEMS_IN_STATISTICS
    mean = total[enough] / count[enough]
    within = (square[enough] - count[enough] * mean**2) / (count[enough] - 1)
    statistics = {
        "SD of people's ratings of an item": float(np.sqrt(within.mean())),
        "SD of items' mean ratings by people": float(mean.std()),
    }
    for g in range(data.n_panels, len(data.groups)):
        of = data.group[data.judge] == g
        n = np.bincount(data.item[of], minlength=size)
        mask = enough & (n > 0)
        theirs = np.bincount(data.item[of], value[of], minlength=size)[mask] / n[mask]
        ours = total[mask] / count[mask]
        moved = len(theirs) > 2 and not is_constant(theirs) and not is_constant(ours)
        correlation = float(np.corrcoef(ours, theirs)[0, 1]) if moved else float("nan")
        statistics[f"Correlation of {data.groups[g]} with people's means"] = correlation
    for g, share in enumerate(equal_shares(category, data)):
        if np.isfinite(share):
            statistics[f"Share of equal ratings of {_pair_named(data, g)}"] = float(share)
    return statistics


def _pair_named(data: OrdinalData, g: int) -> str:
    """A judge of a group and another person, in words."""
    if g >= data.n_panels:
        return f"{data.groups[g]} and a person"
    return "two people" if data.n_panels == 1 else f"a person of {data.groups[g]} and another person"


def notes_on_nonfollowers(draws: ParameterDraws, data: OrdinalData, alpha: float) -> list[str]:
    """Name people who do not follow their panel: whose discrimination is far below a typical person's."""
    notes = []
    for j in data.people:
        g = int(data.group[j])
        panel, slope = draws.of_group[:, g], draws.slope[:, j]
        if data.size[g] > 1 and (slope < FAR_BELOW * panel).mean() > 1 - alpha / 2:
            lower, upper = draw_limits(slope, alpha)
            notes.append(
                f"'{data.judges[j]}' follows the panel far less than its other people do: discrimination "
                f"{slope.mean():.2f} ({lower:.2f} to {upper:.2f}), a typical person's is {panel.mean():.2f}; "
                "inspect these ratings, and fit again without them if they were given carelessly."
            )
    return notes


def groups_at_ends(data: OrdinalData) -> dict[str, tuple[float, float]]:
    """Groups that give the lowest or highest rating nearly always: the rating, and its share."""
    ends = {}
    for g, name in enumerate(data.groups):
        counts = np.bincount(data.category[data.group[data.judge] == g], minlength=data.n_categories)
        for end in (0, -1):
            if counts[end] > AT_END * counts.sum():
                ends[name] = (data.categories[end], float(counts[end] / counts.sum()))
    return ends


def end_notes(ends: Mapping[str, tuple[float, float]], data: OrdinalData) -> list[str]:
    """State where latent correlations are not identified, and what to look at."""
    advice = "" if data.levels else ", and name covariates that explain qualities, such as types of items"
    return [
        Note.of(
            "{judge} gave {value:g} in {share} of its ratings, so most of its latent judgments lie beyond "
            "the last threshold, where ratings do not distinguish them: its latent correlations depend on "
            "the assumed slope and link there. Use the correlation of ratings (`correlation`){advice}.",
            judge=name,
            value=value,
            share=percentage(share),
            advice=advice,
        )
        for name, (value, share) in ends.items()
    ]


def _latent_correlation(draws: ParameterDraws, data: OrdinalData, g: int, noise: float) -> Floats:
    """Correlation of a group's latent judgments with the consensus, over all items, shape (D,)."""
    slope, bias, quality = draws.of_group[:, g], draws.bias[:, g], draws.quality
    centred = quality - (quality @ data.share)[:, None]
    lean = bias - (bias @ data.share)[:, None]
    consensus = 1 + centred**2 @ data.share
    shared = slope * consensus + (centred * lean) @ data.share
    total = (
        slope**2 * consensus
        + 2 * slope * ((centred * lean) @ data.share)
        + lean**2 @ data.share
        + draws.own[:, g] ** 2
        + noise
    )
    return np.asarray(shared / np.sqrt(consensus * total))


def _shape_by_chain(shape: tuple[int, int], size: int) -> tuple[int, int]:
    """Shape (chains, draws) of some of the draws, the same number of each chain."""
    return shape[0], size // shape[0]


def convergence_table(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Names and convergence of all reported quantities, one under the other."""
    parts = []
    for table in tables:
        names = [c for c in table.columns[: list(table.columns).index("estimate")] if c != "judge_kind"]
        labels = table[names].astype("string").fillna("").agg(" ".join, axis=1)
        parts.append(table[["rhat", "ess_bulk", "ess_tail"]].assign(quantity=labels))
    rows = pd.concat(parts, ignore_index=True)
    return rows[["quantity", "rhat", "ess_bulk", "ess_tail"]]


def item_table(
    draws: ParameterDraws, data: OrdinalData, rating_cells: RatingCells, at: QuadratureGrid, alpha: float
) -> pd.DataFrame:
    """Quality of each item, as people judge it, in standard deviations within strata."""
    some = draws.some(DRAWS)
    nodes = nodes_of(some, at)
    mass = np.zeros((len(rating_cells.item_weight), len(nodes)))
    for d in range(len(some.slope)):
        mass += _node_masses(some, rating_cells, d, nodes, at) / len(some.slope)
    mean = mass @ nodes
    spread = np.sqrt(np.maximum(mass @ nodes**2 - mean**2, 0))
    cumulative = np.cumsum(mass, axis=1) - mass / 2
    ends = np.array([np.interp([alpha / 2, 1 - alpha / 2], row, nodes) for row in cumulative])
    table = pd.DataFrame(
        {"estimate": mean, "std_error": spread, "lower": ends[:, 0], "upper": ends[:, 1]}
    ).iloc[rating_cells.item]
    table.insert(0, "item_id", list(data.items))
    by_people = data.item[data.group[data.judge] < data.n_panels]
    table["n_ratings"] = np.bincount(by_people, minlength=len(data.items))
    return table.reset_index(drop=True)


def nodes_of(draws: ParameterDraws, at: QuadratureGrid) -> Floats:
    """Nodes of qualities that reach all strata in all draws."""
    far = np.abs(draws.quality).max() + at.nodes[-1]
    return np.asarray(np.arange(-np.ceil(far / at.step), np.ceil(far / at.step) + 1) * at.step)


def _node_masses(
    draws: ParameterDraws, rating_cells: RatingCells, d: int, nodes: Floats, at: QuadratureGrid
) -> Floats:
    """Masses of the nodes given an item's ratings by people, shape (I, nodes)."""
    log_chances = log_cell_chances(draws, rating_cells, d, nodes, at)[rating_cells.item_cell]
    log_chances[of_models(rating_cells)] = 0  # quality is what people see
    logs = np.add.reduceat(log_chances, rating_cells.item_start[:-1], axis=0)
    logs += log_prior(draws, d, nodes)[rating_cells.item_stratum]
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def of_models(rating_cells: RatingCells) -> NDArray[np.bool_]:
    """Which cells of items are of models; those of people come first."""
    place = np.arange(len(rating_cells.item_cell))
    return place >= np.repeat(rating_cells.item_models, np.diff(rating_cells.item_start))


def log_prior(draws: ParameterDraws, d: int, nodes: Floats) -> Floats:
    """Log density of the qualities of each stratum but for a constant, shape (S, nodes)."""
    mean, sd = moments(draws.shape[d])
    return log_weights(draws.shape[d], mean + sd * (nodes - draws.quality[d][:, None]))


def log_cell_chances(
    draws: ParameterDraws, rating_cells: RatingCells, d: int, nodes: Floats, at: QuadratureGrid
) -> Floats:
    """Log probability of the ratings of each cell given the quality, shape (C, nodes)."""
    judge, stratum, group = rating_cells.pair_judge, rating_cells.pair_stratum, rating_cells.pair_group
    eta = draws.slope[d][judge, None] * nodes + (
        draws.bias[d][group, stratum] - draws.severity[d][judge]
    )[:, None]  # fmt: skip
    pair = np.repeat(np.arange(len(judge)), np.diff(rating_cells.cell_start))
    of_rating = np.repeat(pair, np.diff(rating_cells.rating_start))
    wide = draws.own[d][group]
    chance = np.zeros((len(pair), len(nodes)))
    inner = list(zip(at.inner_nodes, at.inner_weights, strict=True)) if wide.any() else [(0.0, 1.0)]
    for u, w in inner:
        chances = category_chances(eta + u * wide[:, None], draws.cut[d][group][:, None, :], draws.link)
        each = chances[of_rating, :, rating_cells.rating]
        chance += w * np.multiply.reduceat(each, rating_cells.rating_start[:-1], axis=0)
    return np.asarray(np.log(np.maximum(chance, 1e-300)))
