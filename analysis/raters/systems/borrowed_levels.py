"""Levels of systems by the labels of other systems, and whether a judge errs alike for all of them.

A map of the judge's scores to people's scale that was fitted to other systems' labels says what people would
say of a system that has none, if the judge errs for it as for the others and its answers are of one kind:
where its quality is another, maps of noisy scores are off towards the mean. Labels of its own can audit that:
the mean of these minus what the borrowed map says is within a margin, beyond it, or undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ...correction.debias import assign_folds
from ...correction.monotone_calibration import fit_monotone_map
from ...numerics.intervals import SAME, inference
from ...numerics.intervals.bounded import NOTHING, POWER, BoundedEstimate, Flags, n_clusters
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Codes, Floats
from .system_rows import SystemRows

PASS, FAIL, INCONCLUSIVE, NOT_CHECKED = "PASS", "FAIL", "INCONCLUSIVE", "NOT CHECKED"
GROUPS = 40  # of prompts, of which the jackknife leaves out one at a time
FEWEST_LABELS = 10  # prompts of other systems with a label, below which nothing is borrowed


@dataclass(frozen=True)
class BorrowedLevel:
    """What the labels of other systems say of one system, and whether they may be used for it."""

    level: BoundedEstimate
    bias: (
        BoundedEstimate  # mean of people's labels of this system minus the borrowed map; empty without labels
    )
    audit: str
    prompts_to_audit: float  # labelled prompts with which an unbiased map passes with power 0.8
    reason: str = ""  # why the level may not be used
    due_to: str = ""  # the system that stands out, among whose labels alone this one fails


def borrow_levels(rows: SystemRows, margin: float, alpha: float, seed: int) -> list[BorrowedLevel | None]:
    """Borrow a level for each system; None where other systems have too few labels."""
    options = margin, alpha, seed
    levels = [_borrow(rows, place, *options) for place in range(len(rows.systems))]
    failures = {k: level for k, level in enumerate(levels) if level is not None and level.audit == FAIL}
    if len(failures) < 2:
        return levels
    # A system for which the judge errs makes others fail to whom it lends labels: are they alike without it?
    outlier = max(failures, key=lambda k: abs(failures[k].bias.estimate))
    for place in set(failures) - {outlier}:
        level = _borrow(rows, place, *options, without=outlier)
        if level is None or level.audit != FAIL:
            levels[place] = replace(failures[place], due_to=rows.systems[outlier])
    return levels


def audit_table(levels: Sequence[BorrowedLevel | None], systems: Sequence[str]) -> pd.DataFrame:
    """One row per system with the bias of the borrowed map and the verdict of its audit."""
    table = [
        {
            "system": name,
            "audit": borrowed.audit,
            "bias": borrowed.bias.estimate,
            "lower": borrowed.bias.lower,
            "upper": borrowed.bias.upper,
            "prompts": borrowed.bias.clusters,
            "prompts_to_audit": borrowed.prompts_to_audit,
            "due_to": borrowed.due_to,
        }
        for name, borrowed in zip(systems, levels, strict=True)
        if borrowed is not None
    ]
    columns = ["system", "audit", "bias", "lower", "upper", "prompts", "prompts_to_audit", "due_to"]
    return pd.DataFrame(table, columns=columns)


def _borrow(
    rows: SystemRows, place: int, margin: float, alpha: float, seed: int, without: int = -1
) -> BorrowedLevel | None:
    lenders = rows.labelled & (rows.system != place) & (rows.system != without)
    mine = np.asarray(rows.system == place)
    prompts = RowClusters.numbered(rows.prompt)
    n_lenders = n_clusters(rows.prompt[lenders])
    if n_lenders < FEWEST_LABELS or not rows.answered[:, mine].any():
        return None
    group = assign_folds(prompts.n, min(GROUPS, prompts.n), seed)[prompts.code]

    def level(inside: Flags) -> float:
        at = mine & inside
        if not at.any():  # a system with answers to few prompts
            return np.nan
        return float(np.average(_mapped(rows, lenders & inside, at), weights=rows.weight[at]))

    audited = mine & rows.labelled
    fold = assign_folds(prompts.n, min(5, prompts.n), seed)[prompts.code]

    def bias(inside: Flags) -> float:
        # Labels of one prompt are related, so a map that is audited is fitted to other prompts; and it is
        # fitted again without each group, since few labels that lend err together for all that are audited.
        residual = np.full(len(rows.system), np.nan)
        for name in np.unique(fold[audited & inside]):
            at, fitted = audited & inside & (fold == name), lenders & inside & (fold != name)
            if fitted.any():
                residual[at] = rows.label[at] - _mapped(rows, fitted, at)
        at = np.isfinite(residual)
        return float(np.average(residual[at], weights=rows.label_weight[at])) if at.any() else np.nan

    spread = spread_of_residuals(rows, lenders, fold)
    needed = labels_for_audit(spread, margin, alpha)
    estimate = jackknife(level, group, rows.prompt[mine], n_lenders, alpha)
    if n_clusters(rows.prompt[audited]) < 2:
        return BorrowedLevel(estimate, NOTHING, NOT_CHECKED, needed)
    half = group // 2  # of as many groups, since each of them needs a map by fold
    difference = jackknife(bias, half, rows.prompt[audited], n_lenders, alpha)
    return BorrowedLevel(estimate, difference, verdict_on_bias(difference, margin), needed)


def labels_for_audit(spread: float, margin: float, alpha: float) -> float:
    """Labelled prompts with which an unbiased map passes with power 0.8."""
    return float(np.ceil((spread * (ndtri(1 - alpha / 2) + ndtri(POWER)) / margin) ** 2))


def verdict_on_bias(bias: BoundedEstimate, margin: float) -> str:
    """Whether people's labels confirm a map within a margin."""
    if not np.isfinite(bias.lower):
        return INCONCLUSIVE
    if -margin <= bias.lower and bias.upper <= margin:
        return PASS
    return FAIL if bias.lower > margin or bias.upper < -margin else INCONCLUSIVE


def _mapped(rows: SystemRows, fitted: Flags, at: Flags) -> Floats:
    """Scores of some answers on people's scale, by maps that are fitted to others; the mean over judges."""
    weight = rows.label_weight[fitted]
    maps = [fit_monotone_map(score[fitted], rows.label[fitted], weight) for score in rows.score]
    values = [monotone.of(score[at]) for monotone, score in zip(maps, rows.score, strict=True)]
    return np.asarray(np.mean(values, axis=0))


def spread_of_residuals(rows: SystemRows, lenders: Flags, fold: Codes) -> float:
    """Standard deviation of people's labels about the map that labels of other prompts give."""
    residuals = [
        rows.label[lenders & (fold == name)]
        - _mapped(rows, lenders & (fold != name), lenders & (fold == name))
        for name in np.unique(fold[lenders])
        if (lenders & (fold != name)).any()
    ]
    return float(np.concatenate(residuals).std())


def jackknife(
    statistic: Callable[[Flags], float], group: Codes, prompt: Codes, n_lenders: int, alpha: float
) -> BoundedEstimate:
    """Bound a statistic of all prompts by leaving out one group of them at a time."""
    estimate = statistic(np.ones(len(group), dtype=bool))
    values = np.array([statistic(np.asarray(group != name)) for name in np.unique(group)])
    values = values[np.isfinite(values)]
    count, n = len(values), len(prompt)
    error = (
        float(np.sqrt((count - 1) / count * ((values - values.mean()) ** 2).sum())) if count > 1 else np.nan
    )
    if not error > SAME:
        return BoundedEstimate(estimate, np.nan, np.nan, np.nan, n, n_clusters(prompt))
    df = float(min(count, n_clusters(prompt), n_lenders) - 1)
    limits = inference(np.array([estimate]), np.array([error]), alpha, df=np.array([df]))
    lower, upper = float(limits.lower[0]), float(limits.upper[0])
    return BoundedEstimate(estimate, error, lower, upper, n, n_clusters(prompt), df=df)
