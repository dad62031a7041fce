"""Posterior of the items' qualities, from draws of the parameters."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ....numerics.types import Floats
from .data import Cells, OrdinalData
from .draws import Draws, category_chances
from .grid import Grid
from .shape import log_weights, moments

DRAWS = 60


def item_table(draws: Draws, data: OrdinalData, found: Cells, at: Grid, alpha: float) -> pd.DataFrame:
    """Quality of each item, as people judge it, in standard deviations within strata."""
    some = draws.some(DRAWS)
    far = np.abs(some.quality).max() + at.nodes[-1]
    nodes = np.arange(-np.ceil(far / at.step), np.ceil(far / at.step) + 1) * at.step
    mass = np.zeros((len(found.item_weight), len(nodes)))
    for d in range(len(some.slope)):
        mass += _given_ratings(some, found, d, nodes, at) / len(some.slope)
    mean = mass @ nodes
    spread = np.sqrt(np.maximum(mass @ nodes**2 - mean**2, 0))
    cumulative = np.cumsum(mass, axis=1) - mass / 2
    ends = np.array([np.interp([alpha / 2, 1 - alpha / 2], row, nodes) for row in cumulative])
    table = pd.DataFrame(
        {"estimate": mean, "std_error": spread, "lower": ends[:, 0], "upper": ends[:, 1]}
    ).iloc[found.item]
    table.insert(0, "item_id", list(data.items))
    by_people = data.item[data.group[data.judge] < data.n_panels]
    table["n_ratings"] = np.bincount(by_people, minlength=len(data.items))
    return table.reset_index(drop=True)


def _given_ratings(draws: Draws, found: Cells, d: int, nodes: Floats, at: Grid) -> Floats:
    """Masses of the nodes given an item's ratings, shape (I, nodes)."""
    judge, stratum, group = found.pair_judge, found.pair_stratum, found.pair_group
    eta = draws.slope[d][judge, None] * nodes + (
        draws.bias[d][group, stratum] - draws.severity[d][judge]
    )[:, None]  # fmt: skip
    pair = np.repeat(np.arange(len(judge)), np.diff(found.cell_start))
    of_rating = np.repeat(pair, np.diff(found.rating_start))
    wide = draws.own[d][group]
    chance = np.zeros((len(pair), len(nodes)))
    inner = list(zip(at.inner_nodes, at.inner_weights, strict=True)) if wide.any() else [(0.0, 1.0)]
    for u, w in inner:
        made = category_chances(eta + u * wide[:, None], draws.cut[d][group][:, None, :], draws.link)
        each = made[of_rating, :, found.rating]
        chance += w * np.multiply.reduceat(each, found.rating_start[:-1], axis=0)
    told = np.log(np.maximum(chance, 1e-300))[found.item_cell]
    place = np.arange(len(found.item_cell))
    by_models = place >= np.repeat(found.item_models, np.diff(found.item_start))
    told[by_models] = 0  # quality is what people see
    logs = np.add.reduceat(told, found.item_start[:-1], axis=0)
    mean, sd = moments(draws.shape[d])
    logs += log_weights(draws.shape[d], mean + sd * (nodes - draws.quality[d][:, None]))[found.item_stratum]
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
