"""What estimators of simulated choices should find: the exact estimands of a rater model.

A profile of cell i meets one of cell j with weight ``w_ij``, and is then chosen with probability

    P_ij = E_z[ (F(d_ij + s_ij z + b) + F(d_ij + s_ij z - b)) / 2 ],   F(x) = 1 / (1 + exp(-x)),

where ``d_ij`` is the difference of mean utilities, ``s_ij`` the standard deviation of that difference
between respondents, ``b`` the position bias (half of the profiles stand in position A) and z standard
normal. A share ``pi`` of inattentive respondents and flips with probability ``tau`` turn it into

    Q_ij = (1 - pi) (tau + (1 - 2 tau) P_ij) + pi / 2.

The marginal choice probability of cell i is the ``w_ij``-weighted mean of ``Q_ij``; marginal means are
means of it over cells, and AMCEs are the coefficients of its least-squares regression on the levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

from .design import attribute_cells
from .errors import InputError
from .rater_models import RaterModel, level_spread, utilities
from .study import Study
from .study_parts import Analysis

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NODES = 20
BLOCK = 128


@dataclass(frozen=True)
class CellChoice:
    """Choice probabilities over c attribute cells.

    Attributes
    ----------
    weight : ndarray, shape (c,)
        Share of the cell among the rows of a choices table.
    chosen : ndarray, shape (c,)
        Probability that a profile of the cell is chosen.
    first : float
        Probability that the profile in position A is chosen.
    """

    weight: Floats
    chosen: Floats
    first: float


def true_values(study: Study, raters: Sequence[RaterModel]) -> pd.DataFrame:
    """Exact values that the estimators of a study are consistent for.

    Every AMCE, marginal mean and difference in the study's ``analyses`` is computed by enumeration
    of all pairs of attribute cells under the design distribution, random part-worths by
    Gauss-Hermite quadrature. Response error and inattention are part of the observed choices and
    hence of these values.

    Returns
    -------
    DataFrame
        ``judge, prompt`` (empty for a panel), ``analysis`` (its name in the study file),
        ``statistic, feature, level, by, estimate``, on the probability scale. Reference levels of
        AMCEs are 0. ``by`` holds contrasts such as ``black_male - anonymous`` and is else empty.
        Two further statistics have no analysis, feature and level: ``first_position``, the share
        of pairs in which A is chosen, and ``reliability`` of a panel.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> from conjury.inference.rater_models import RaterModel
    >>> fair = RaterModel("fair", "model", "baseline", part_worth={})
    >>> values = true_values(load_study("moderation"), [fair])
    >>> bool((values.loc[values["statistic"] == "mm", "estimate"].round(12) == 0.5).all())
    True
    """
    cells = attribute_cells(study)
    codes = np.column_stack([cells[attribute.id].cat.codes for attribute in study.attributes]).astype(
        np.int64
    )
    copies = int(np.prod([stimulus.count for stimulus in study.stimuli]))
    probability = cells["probability"].to_numpy(dtype=float)
    rows: list[tuple[str, ...]] = []
    estimates: list[float] = []
    for rater in raters:
        choice = cell_choice(
            utilities(rater, study, codes), level_spread(rater, study), codes, probability, copies, rater
        )
        for key, value in _estimands(study, cells, choice, rater):
            rows.append((rater.judge, rater.prompt, *key))
            estimates.append(value)
    names = ["judge", "prompt", "analysis", "statistic", "feature", "level", "by"]
    return pd.DataFrame(rows, columns=names, dtype="string").assign(estimate=estimates)


def cell_choice(
    utility: Floats,
    spread: Sequence[Floats],
    codes: Integers,
    probability: Floats,
    copies: int,
    rater: RaterModel,
) -> CellChoice:
    """Choice probabilities of c cells against a random opponent, by enumeration of all c x c pairs.

    Parameters
    ----------
    utility : ndarray, shape (c,)
    spread : sequence of ndarray, one an attribute, shape (levels,)
        Standard deviations of part-worths between respondents.
    codes : ndarray, shape (c, attributes)
    probability : ndarray, shape (c,)
        Of drawing a profile from the cell; its ``copies`` profiles are equally likely.
    """
    cells = len(utility)
    loading = [np.eye(len(sd))[codes[:, index]] * sd for index, sd in enumerate(spread) if sd.any()]
    loadings = np.column_stack([np.zeros((cells, 1)), *loading])
    variance = (loadings**2).sum(axis=1)
    nodes, node_weights = hermegauss(NODES if loading else 1)
    node_weights = node_weights / node_weights.sum()
    total, first, as_opponent = np.empty(cells), np.empty(cells), np.zeros(cells)
    for start in range(0, cells, BLOCK):
        rows = slice(start, min(start + BLOCK, cells))
        advantage = utility[rows, None] - utility + rater.position_bias
        shared = loadings[rows] @ loadings.T
        sd = np.sqrt(np.maximum(variance[rows, None] + variance - 2 * shared, 0))
        meet = probability[rows, None] * probability
        meet[np.arange(len(meet)), np.arange(rows.start, rows.stop)] *= 1 - 1 / copies
        wins = meet * _logistic_normal(advantage, sd, nodes, node_weights)
        total[rows], first[rows] = meet.sum(axis=1), wins.sum(axis=1)
        as_opponent += wins.sum(axis=0)
    picked = (first + total - as_opponent) / (2 * total)
    tau, pi = rater.response_error, rater.inattention
    observed = (1 - pi) * (tau + (1 - 2 * tau) * picked) + pi / 2
    share_first = (1 - pi) * (tau + (1 - 2 * tau) * first.sum() / total.sum()) + pi / 2
    return CellChoice(total / total.sum(), observed, float(share_first))


def level_effects(cells: pd.DataFrame, choice: CellChoice, features: Sequence[str]) -> dict[str, Floats]:
    """Regress choice probabilities on levels: effects against the first level, by feature."""
    design = [np.ones((len(cells), 1))]
    design += [np.eye(len(cells[name].cat.categories))[cells[name].cat.codes][:, 1:] for name in features]
    root = np.sqrt(choice.weight)
    coefficients = np.linalg.lstsq(np.hstack(design) * root[:, None], choice.chosen * root)[0]
    sizes = [block.shape[1] for block in design]
    parts = np.split(coefficients, np.cumsum(sizes)[:-1])[1:]
    return {name: np.append(0.0, part) for name, part in zip(features, parts, strict=True)}


def level_means(cells: pd.DataFrame, choice: CellChoice, features: Sequence[str]) -> dict[str, Floats]:
    """Mean choice probability at each level, by feature."""
    means = {}
    for name in features:
        codes, size = cells[name].cat.codes, len(cells[name].cat.categories)
        total = np.bincount(codes, choice.weight * choice.chosen, size)
        means[name] = total / np.bincount(codes, choice.weight, size)
    return means


Key = tuple[str, str, str, str, str]


def _estimands(
    study: Study, cells: pd.DataFrame, choice: CellChoice, rater: RaterModel
) -> list[tuple[Key, float]]:
    found: list[tuple[Key, float]] = [(("", "first_position", "", "", ""), choice.first)]
    if rater.kind == "human":
        found.append((("", "reliability", "", "", ""), rater.reliability))
    for analysis in study.analyses:
        if analysis.verb in ("amce", "mm", "amce_diffs", "mm_diffs"):
            found += _of_analysis(analysis, cells, choice)
    return found


def _of_analysis(analysis: Analysis, cells: pd.DataFrame, choice: CellChoice) -> list[tuple[Key, float]]:
    if "*" in analysis.formula or ":" in analysis.formula or len(analysis.by) > 1:
        raise InputError(
            f"Analysis {analysis.name}: true values are known for additive formulas and one 'by' column; "
            "simplify it or simulate with truth=False."
        )
    used = analysis.select(cells)
    chosen = _rows(choice, used.index.to_numpy())
    used = used.reset_index(drop=True)
    measure = level_effects if analysis.verb.startswith("amce") else level_means
    if not analysis.by:
        return _keyed(analysis, analysis.verb, "", measure(used, chosen, analysis.features), used)
    groups = used[analysis.by[0]].cat
    by_group = [
        measure(used.iloc[rows], _rows(chosen, rows), analysis.features)
        for rows in (np.flatnonzero(groups.codes == code) for code in range(len(groups.categories)))
    ]
    statistic = analysis.verb.replace("_diffs", "_difference")
    found: list[tuple[Key, float]] = []
    for group, values in zip(groups.categories[1:], by_group[1:], strict=True):
        differences = {name: values[name] - by_group[0][name] for name in values}
        contrast = f"{group} - {groups.categories[0]}"
        found += _keyed(analysis, statistic, contrast, differences, used)
    return found


def _rows(choice: CellChoice, rows: Integers) -> CellChoice:
    return CellChoice(choice.weight[rows], choice.chosen[rows], choice.first)


def _keyed(
    analysis: Analysis, statistic: str, contrast: str, values: dict[str, Floats], cells: pd.DataFrame
) -> list[tuple[Key, float]]:
    skipped = 1 if statistic == "amce_difference" else 0
    return [
        ((analysis.name, statistic, name, str(level), contrast), float(value))
        for name, estimates in values.items()
        for level, value in list(zip(cells[name].cat.categories, estimates, strict=True))[skipped:]
    ]


def _logistic_normal(mean: Floats, sd: Floats, nodes: Floats, weights: Floats) -> Floats:
    expected = np.zeros_like(mean)
    for node, weight in zip(nodes, weights, strict=True):
        odds_against = np.exp(-(mean + sd * node))
        expected += weight / (1 + odds_against)
    return expected
