"""Pairs that test a judge beside the design: vacuum pairs, same-quality pairs, and anchors among its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError
from ..study.instrument import Instrument
from ..study.models import Study
from ..tables.columns import stream
from ..tables.schema import PAIR_KIND, PAIR_KINDS
from .profiles import shared_table

Integers = NDArray[np.int64]
DESIGN, VACUUM, SAME_QUALITY, ANCHOR = PAIR_KINDS


def instrument_of(study: Study) -> dict[str, Any]:
    """State what the pairs of a design depend on besides its own numbers; empty without an instrument."""
    instrument = study.instrument
    if instrument is None:
        return {}
    fields = {"vacuum_pairs", "same_quality_pairs", "irrelevant", "anchors"}
    return {"instrument": instrument.model_dump(include=fields)}


def check_instrument(study: Study, facts: Mapping[str, Any], run: Path) -> None:
    """Refuse a design that was drawn with other pairs of the instrument than the study file has now."""
    if facts.get("instrument") != instrument_of(study).get("instrument"):
        raise InputError(
            f"{run}: vacuum pairs, same-quality pairs or anchors in the study file have changed since the "
            "design was drawn; restore them, or draw a new design into another folder with --out."
        )


def is_added(tasks: pd.DataFrame) -> pd.Series[bool]:
    """Flag the tasks that are no part of the design: vacuum and same-quality pairs."""
    if PAIR_KIND not in tasks:
        return pd.Series(False, index=tasks.index)
    flags: pd.Series[bool] = tasks[PAIR_KIND].isin([VACUUM, SAME_QUALITY]).astype(bool)
    return flags


def design_pairs(tasks: pd.DataFrame) -> pd.DataFrame:
    """Tasks that are part of the design, without the column that tells them from others."""
    return tasks[~is_added(tasks).to_numpy(bool)].drop(columns=PAIR_KIND, errors="ignore")


def testing_rows(study: Study, profiles: pd.DataFrame, instrument: Instrument, seed: int) -> Integers:
    """Draw vacuum pairs, then same-quality pairs; row numbers of their profiles, shape (pairs, 2)."""
    probability = profiles["probability"].to_numpy(dtype=float)
    rng = stream(seed, "vacuum pairs")
    vacuum_rows = rng.choice(len(profiles), size=instrument.vacuum_pairs, p=probability)
    same = _same_quality(
        _qualities(study, profiles, instrument.irrelevant),
        probability,
        instrument.same_quality_pairs,
        stream(seed, "same-quality pairs"),
    )
    rows: Integers = np.concatenate([np.column_stack([vacuum_rows, vacuum_rows]), same]).astype(np.int64)
    return rows


def _qualities(study: Study, profiles: pd.DataFrame, irrelevant: list[str]) -> Integers:
    """Number the combinations of relevant levels that profiles show, shape (profiles,)."""
    relevant = [attribute.id for attribute in study.attributes if attribute.id not in irrelevant]
    if not relevant:
        return np.zeros(len(profiles), dtype=np.int64)
    groups = profiles.groupby(relevant, observed=True, sort=False).ngroup()
    return np.asarray(groups, dtype=np.int64)


def _same_quality(
    quality: Integers, probability: NDArray[np.float64], n: int, rng: np.random.Generator
) -> Integers:
    """Draw pairs of different profiles of one quality, shape (n, 2): one, and then another of its quality."""
    if not n:
        return np.empty((0, 2), dtype=np.int64)
    several = np.bincount(quality)[quality] > 1
    if not several.any():
        raise InputError(
            "same_quality_pairs: the restrictions of the design allow no two profiles that differ only "
            "in irrelevant attributes or stimuli; name further attributes under 'irrelevant'."
        )
    weights = np.where(several, probability, 0.0)
    first = rng.choice(len(quality), size=n, p=weights / weights.sum())
    second = []
    for row in first:
        candidates = np.flatnonzero(quality == quality[row])
        candidates = candidates[candidates != row]
        second.append(rng.choice(candidates, p=probability[candidates] / probability[candidates].sum()))
    return np.column_stack([first, second]).astype(np.int64)


def with_testing_pairs(
    tasks: pd.DataFrame, numbers: Integers, instrument: Instrument, swapped: bool
) -> pd.DataFrame:
    """Add such pairs to the tasks of models, and name the kind of each task."""
    # `numbers` are their profiles, vacuum pairs first, shape (pairs, 2). Same-quality pairs are repeated with
    # positions swapped where the others are; a vacuum pair looks the same when swapped.
    pairs, n = len(tasks[~tasks["repeat"].to_numpy(bool)]) // 2, instrument.vacuum_pairs
    anchors = set(tasks["task_id"].iloc[::2][: min(instrument.anchors, pairs)])
    original = tasks["repeat_of"].fillna(tasks["task_id"])
    design_tasks = tasks.assign(**{PAIR_KIND: np.where(original.isin(anchors), ANCHOR, DESIGN)})
    parts = [design_tasks]
    for kind, rows in ((VACUUM, numbers[:n]), (SAME_QUALITY, numbers[n:])):
        repeats = np.arange(len(rows)) if swapped and kind != VACUUM else np.empty(0, dtype=np.int64)
        if len(rows):
            parts.append(shared_table(rows, repeats, kind).assign(**{PAIR_KIND: kind}))
    table = pd.concat(parts, ignore_index=True)
    return table.astype({PAIR_KIND: "string"})
