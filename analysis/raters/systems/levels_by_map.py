"""Levels of systems by a saved map of the judge's scores, and whether their labels confirm it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, listed
from conjury.inference.tables.files import hash_of

from ...correction.debias import assign_folds, joint_df
from ...correction.item_corrections import EstimateVariances, clustered_numbers, weighted_mean
from ...correction.monotone_calibration import fit_monotone_map
from ...numerics.intervals import UNBOUNDED, Support
from ...numerics.intervals.bounded import NOTHING, BoundedEstimate, Flags, n_clusters
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Codes, Floats
from .borrowed_levels import (
    FAIL,
    FEWEST_LABELS,
    GROUPS,
    NOT_CHECKED,
    PASS,
    BorrowedLevel,
    labels_for_audit,
    spread_of_residuals,
    verdict_on_bias,
)
from .calibration_map import CalibrationMap, JudgeOrigin, ScoreMap
from .label_gate import BEYOND_REFUSED
from .system_estimates import bounded, support_of
from .system_rows import SystemRows

COLUMNS = ("file", "date", "days", "state", "version", "prompt", "labels", "prompts", "sha256", "same_labels")
FRESH, STALE = "FRESH", "STALE"


def fit_calibration_map(
    rows: SystemRows, origin: JudgeOrigin, positive: str | None, seed: int
) -> CalibrationMap:
    """Fit maps to the labels of all systems, with those that lack one group of prompts each."""
    labelled = np.asarray(rows.labelled & rows.answered.all(axis=0))
    prompts = RowClusters.numbered(rows.prompt[labelled]) if labelled.any() else None
    if prompts is None or prompts.n < FEWEST_LABELS:
        n = counted(prompts.n if prompts else 0, "prompt")
        raise InputError(
            f"A map that can be saved needs labels and scores of {FEWEST_LABELS} prompts, and {n} "
            "have both; label more."
        )
    group = assign_folds(prompts.n, min(GROUPS, prompts.n), seed)[prompts.code]
    label, weight = rows.label[labelled], rows.label_weight[labelled]
    maps = []
    for name, scores in zip(rows.judges, rows.score, strict=True):
        score = scores[labelled]
        fits = [fit_monotone_map(score, label, weight)]
        fits += [
            fit_monotone_map(score[inside], label[inside], weight[inside])
            for inside in (group != place for place in range(int(group.max()) + 1))
        ]
        monotone, *without = (fit.without_steps() for fit in fits)
        maps.append(ScoreMap(name, monotone, tuple(without), float(score.min()), float(score.max())))
    fold = np.full(len(rows.system), -1)
    fold[labelled] = assign_folds(prompts.n, min(5, prompts.n), seed)[prompts.code]
    spread = spread_of_residuals(rows, labelled, fold)
    return CalibrationMap(
        origin, tuple(maps), rows.measure, positive, int(labelled.sum()), prompts.n, spread,
        label_digest=digest_of_labels(rows),
    )  # fmt: skip


def digest_of_labels(rows: SystemRows) -> str:
    """SHA-256 of the systems, scores and labels of labelled rows, in their order."""
    labelled = np.flatnonzero(rows.labelled & rows.answered.all(axis=0))
    systems = [rows.systems[code] for code in rows.system[labelled].tolist()]
    return hash_of({"labels": [systems, rows.score[:, labelled].tolist(), rows.label[labelled].tolist()]})


def levels_by_map(
    rows: SystemRows, saved: CalibrationMap, margin: float, alpha: float, is_stale: bool
) -> list[BorrowedLevel | None]:
    """What a saved map says of each system, and whether people's labels of this table confirm it."""
    same = digest_of_labels(rows) == saved.label_digest
    levels = [
        _level(rows, saved, np.asarray(rows.system == k), margin, alpha, same)
        for k in range(len(rows.systems))
    ]
    failing = [name for name, level in zip(rows.systems, levels, strict=True) if level.audit == FAIL]
    passes = any(level.audit == PASS for level in levels)
    reason = f"the map fails its audit by the labels of {listed(failing)}" if failing else ""
    if is_stale and not passes:
        reason = reason or "the map is stale, and no labels confirm it"
    return [
        BorrowedLevel(level.level, level.bias, level.audit, level.prompts_to_audit, level.reason or reason)
        for level in levels
    ]


def map_table(
    path: str | Path, saved: CalibrationMap, rows: SystemRows, today: date, stale_after: int
) -> pd.DataFrame:
    """One row: what the map is bound to, whether it is stale, and whether the labels are its own."""
    days = (today - saved.origin.day).days
    row = (
        str(path), saved.origin.day.isoformat(), days, STALE if days > stale_after else FRESH,
        saved.origin.version, saved.origin.prompt, saved.labels, saved.prompts, saved.digest,
        digest_of_labels(rows) == saved.label_digest,
    )  # fmt: skip
    return pd.DataFrame([row], columns=list(COLUMNS))


def _level(
    rows: SystemRows, saved: CalibrationMap, mine: Flags, margin: float, alpha: float, same: bool
) -> BorrowedLevel:
    scores = dict(zip(rows.judges, rows.score, strict=True))
    value, without = saved.values(scores), saved.values_without(scores)
    needed = labels_for_audit(saved.spread, margin, alpha)
    scored = rows.answered.all(axis=0) & mine
    if not scored.any():
        return BorrowedLevel(NOTHING, NOTHING, NOT_CHECKED, needed, "the judge scored none of its answers")
    level = _mean(value, without, scored, rows.weight, rows.prompt, alpha, support_of(rows, 1))
    audited = scored & rows.labelled
    bias, audit = NOTHING, NOT_CHECKED
    if not same and n_clusters(rows.prompt[audited]) >= 2:  # a map's labels cannot audit it
        residuals = np.where(audited, rows.label, 0.0) - value, np.where(audited, rows.label, 0.0) - without
        bias = _mean(*residuals, audited, rows.label_weight, rows.prompt, alpha, UNBOUNDED)
        audit = verdict_on_bias(bias, margin)
    beyond = _share_beyond(rows, saved, scored)
    reason = f"{beyond:.0%} of the answers are scored beyond the map" if beyond > BEYOND_REFUSED else ""
    return BorrowedLevel(level, bias, audit, needed, reason)


def _mean(
    values: Floats,
    without: Floats,
    inside: Flags,
    weight: Floats,
    prompt: Codes,
    alpha: float,
    support: Support,
) -> BoundedEstimate:
    """The mean of values (n,); its error is that of the answers, and of the map by G others, (G, n)."""
    mean = weighted_mean(values[inside, None], weight[inside])
    numbers = clustered_numbers(mean, prompt[inside])
    means = np.average(without[:, inside], axis=1, weights=weight[inside])
    of_map = (len(means) - 1) / len(means) * float(((means - means.mean()) ** 2).sum())
    variance = numbers.variance + of_map
    df = joint_df(variance, np.array([of_map]), np.array([len(means) - 1.0]), float(numbers.df[0]))
    return bounded(EstimateVariances(numbers.estimate, variance, df), prompt[inside], alpha, support)


def _share_beyond(rows: SystemRows, saved: CalibrationMap, scored: Flags) -> float:
    """The greatest share over judges of scores beyond all those that were labelled."""
    shares = []
    for part in saved.maps:
        score = rows.score[rows.judges.index(part.judge)][scored]
        shares.append(float(((score < part.lowest) | (score > part.highest)).mean()))
    return max(shares)
