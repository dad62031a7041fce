"""What estimators of simulated choices should find: the exact estimands of a rater model.

Marginal means are means of the cells' choice probabilities, as in ``choice_probabilities``; AMCEs are the
coefficients of the least-squares regression of these probabilities on the levels. Where the formula joins
two features by ``*``, an AMCE averages with equal weight over the levels of the other feature that occur both
with the level and with the reference, as the estimator does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from ...design.profiles import attribute_cells
from ...errors import InputError
from ...study.models import Study
from ...study.study_fields import Analysis
from ..truth_table import Floats, Integers
from .judges import RaterModel
from .stimulus_effects import CellChoice, cell_choice, choice_at_hand


def true_values(
    study: Study, raters: Sequence[RaterModel], stimulus_seed: int | None = None, swapped: bool = False
) -> pd.DataFrame:
    """Exact values that the estimators of a study are consistent for.

    Every AMCE, marginal mean and difference in the study's ``analyses`` is computed by enumeration
    of all pairs of attribute cells under the design distribution; random part-worths and random effects
    of stimuli by Gauss-Hermite quadrature. Response error and inattention are part of the observed
    choices and hence of these values.

    Where stimuli have effects there are two estimands. ``estimate`` is the value in the population of
    stimuli: the mean over stimulus sets of the study's size drawn anew from it, which is what confidence
    intervals that treat stimuli as random should cover. ``estimate_at_hand`` is the value for the very
    stimuli of one simulation, which is what intervals that take them as fixed should cover.
    """
    cells = attribute_cells(study)
    at_hand = stimulus_seed is not None and any(rater.stimulus_sd for rater in raters)
    rows: list[tuple[str, ...]] = []
    estimates: list[float] = []
    realised: list[float] = []
    for rater in raters:
        estimands = _estimands(study, cells, cell_choice(study, cells, rater), rater, swapped)
        rows += [(rater.judge, rater.prompt, *key) for key, _ in estimands]
        estimates += [value for _, value in estimands]
        if at_hand and stimulus_seed is not None:
            choice = choice_at_hand(study, rater, stimulus_seed)
            here = None if choice is None else _estimands(study, cells, choice, rater, swapped)
            realised += [np.nan] * len(estimands) if here is None else [value for _, value in here]
    names = ["judge", "prompt", "analysis", "statistic", "feature", "level", "by"]
    values = pd.DataFrame(rows, columns=names, dtype="string").assign(estimate=estimates)
    return values.assign(estimate_at_hand=realised) if at_hand else values


def level_effects(
    cells: pd.DataFrame,
    choice: CellChoice,
    features: Sequence[str],
    joined: Sequence[tuple[str, str]] = (),
) -> dict[str, Floats]:
    """Regress choice probabilities on levels: effects against the first level that occurs, by feature."""
    # Features of a pair in `joined` depend on each other. Effects that the cells do not identify are missing.
    levels = {name: range(len(cells[name].cat.categories)) for name in features}
    codes = {name: np.asarray(cells[name].cat.codes, dtype=np.int64) for name in features}
    terms: list[set[tuple[str, int]]] = [set()]
    terms += [{(name, level)} for name in features for level in levels[name][1:]]
    terms += [
        {(first, i), (second, j)}
        for first, second in joined
        for i in levels[first][1:]
        for j in levels[second][1:]
    ]
    design = np.ones((len(cells), len(terms)))
    for column, term in enumerate(terms):
        for name, level in term:
            design[:, column] *= codes[name] == level
    root = np.sqrt(choice.weight)
    weighted = design * root[:, None]
    coefficients, _, rank, _ = np.linalg.lstsq(weighted, choice.chosen * root)
    projection = np.linalg.pinv(weighted) @ weighted if rank < len(terms) else np.eye(len(terms))
    partner = {name: second for pair in joined for name, second in (pair, pair[::-1])}

    def effect(name: str, level: int, base: int) -> float:
        contexts = [{}] if name not in partner else [{partner[name]: code} for code in levels[partner[name]]]
        compared = [
            _row(terms, {name: level} | context) - _row(terms, {name: base} | context)
            for context in contexts
            if all(_occurs(codes, root, {name: code} | context) for code in (level, base))
        ]
        contrast = np.mean(compared, axis=0) if compared else np.full(len(terms), np.nan)
        is_identified = np.allclose(contrast @ projection, contrast, atol=1e-8)
        return float(contrast @ coefficients) if is_identified else np.nan

    effects = {}
    for name in features:
        base = next((level for level in levels[name] if _occurs(codes, root, {name: level})), 0)
        effects[name] = np.array(
            [0.0 if level == base else effect(name, level, base) for level in levels[name]]
        )
    return effects


def _row(terms: Sequence[set[tuple[str, int]]], profile: dict[str, int]) -> Floats:
    return np.array([float(term <= profile.items()) for term in terms])


def _occurs(codes: Mapping[str, Integers], weight: Floats, profile: dict[str, int]) -> bool:
    mask = np.logical_and.reduce([codes[name] == level for name, level in profile.items()])
    return bool((mask & (weight > 0)).any())


def level_means(cells: pd.DataFrame, choice: CellChoice, features: Sequence[str]) -> dict[str, Floats]:
    """Mean choice probability at each level, by feature; missing where it never occurs."""
    means = {}
    for name in features:
        codes, size = cells[name].cat.codes, len(cells[name].cat.categories)
        total = np.bincount(codes, choice.weight * choice.chosen, size)
        weight = np.bincount(codes, choice.weight, size)
        means[name] = np.divide(total, weight, out=np.full(size, np.nan), where=weight > 0)
    return means


Key = tuple[str, str, str, str, str]


def _estimands(
    study: Study, cells: pd.DataFrame, choice: CellChoice, rater: RaterModel, swapped: bool
) -> list[tuple[Key, float]]:
    estimands: list[tuple[Key, float]] = [(("", "first_position", "", "", ""), choice.first)]
    if rater.kind == "human" or swapped:
        estimands.append((("", "reliability", "", "", ""), choice.reliability))
    for analysis in study.analyses:
        if analysis.verb in ("amce", "mm", "amce_diffs", "mm_diffs") and not analysis.crosses_groups:
            estimands += _analysis_estimands(analysis, cells, choice)
    return estimands


def _analysis_estimands(
    analysis: Analysis, cells: pd.DataFrame, choice: CellChoice
) -> list[tuple[Key, float]]:
    named = [name for pair in analysis.joined for name in pair]
    if len(set(named)) < len(named) or ":" in analysis.formula or len(analysis.by) > 1:
        raise InputError(
            f"Analysis {analysis.name}: true values are known where each feature is joined with one other at "
            "most, by *, and for one 'by' column; simplify it or simulate with truth=False."
        )
    subset = analysis.select(cells)
    chosen = _subset_choice(choice, subset.index.to_numpy())
    subset = subset.reset_index(drop=True)
    effects = partial(level_effects, joined=analysis.joined)
    measure = effects if analysis.verb.startswith("amce") else level_means
    if not analysis.by:
        return _keyed_values(analysis, analysis.verb, "", measure(subset, chosen, analysis.features), subset)
    groups = subset[analysis.by[0]].cat
    by_group = [
        measure(subset.iloc[rows], _subset_choice(chosen, rows), analysis.features)
        for rows in (np.flatnonzero(groups.codes == code) for code in range(len(groups.categories)))
    ]
    statistic = analysis.verb.replace("_diffs", "_difference")
    estimands: list[tuple[Key, float]] = []
    for group, values in zip(groups.categories[1:], by_group[1:], strict=True):
        differences = {name: values[name] - by_group[0][name] for name in values}
        contrast = f"{group} - {groups.categories[0]}"
        estimands += _keyed_values(analysis, statistic, contrast, differences, subset)
    return estimands


def _subset_choice(choice: CellChoice, rows: Integers) -> CellChoice:
    return replace(choice, weight=choice.weight[rows], chosen=choice.chosen[rows])


def _keyed_values(
    analysis: Analysis, statistic: str, contrast: str, values: dict[str, Floats], cells: pd.DataFrame
) -> list[tuple[Key, float]]:
    skipped = 1 if statistic == "amce_difference" else 0
    return [
        ((analysis.name, statistic, name, str(level), contrast), float(value))
        for name, estimates in values.items()
        for level, value in list(zip(cells[name].cat.categories, estimates, strict=True))[skipped:]
    ]
