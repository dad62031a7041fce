"""The table of a comparison of systems: levels and differences, corrected, by people, by the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...frames.vocabulary import CORRECTED_LABELS, JUDGE_ALONE, LABELS_ALONE, OTHERS_LABELS
from ...numerics.intervals.bounded import POWER, BoundedEstimate, Flags, n_clusters
from ...numerics.significance import two_one_sided
from ...numerics.types import Floats
from ..validation.coding import Groups
from ..validation.validation_rows import DIFFERENCES, JUDGES, LEVELS, SUBGROUPS, TestRows
from .borrowed_levels import BorrowedLevel
from .label_gate import BORROWED, FEWEST_PROMPTS, LabelGate
from .system_estimates import (
    CalibratedRows,
    correct_contrast,
    judge_alone,
    people_alone,
    prompts_for_width,
    prompts_to_decide,
)

FURTHER = ("system", "baseline", "source", "margin", "p_equivalence", "gain", "prompts_to_decide")
WIDTH = "prompts_for_width"


@dataclass(frozen=True)
class SystemContrast:
    """The level of a system, or its difference from a baseline, everywhere or in a segment."""

    part: str
    system: int
    baseline: int | None
    inside: Flags  # (R,): answers that it is about
    is_correctable: bool
    by: str = ""
    level: str = ""

    def weights(self, count: int) -> Floats:
        """Weights of the levels of all systems, (K,)."""
        unit = np.eye(count)
        return np.asarray(unit[self.system] - (unit[self.baseline] if self.baseline is not None else 0.0))


def add_systems(
    table: TestRows,
    data: CalibratedRows,
    gates: Sequence[LabelGate],
    borrowed: Sequence[BorrowedLevel | None],
    segments: Sequence[Groups],
    margin: float,
    width: float | None = None,
) -> pd.DataFrame:
    """Add all levels and differences, and those within segments; the weights of the scores in each."""
    rows = data.rows
    everywhere = np.ones(len(rows.system), dtype=bool)
    pairs = list(combinations(range(len(rows.systems)), 2))
    weights: list[dict[str, Any]] = []
    for place, gate in enumerate(gates):
        contrast = SystemContrast(LEVELS, place, None, everywhere, gate.has_level)
        weights += _add(table, data, contrast, margin, width)
        lent = borrowed[place]
        if gate.state == BORROWED and lent is not None:
            keys = {"system": gate.system, "baseline": "", "source": OTHERS_LABELS}
            table.add(LEVELS, f"borrowed_{rows.measure}", lent.level, p=np.nan, **keys)
    for first, second in pairs:
        has_both = gates[first].has_level and gates[second].has_level
        weights += _add(
            table, data, SystemContrast(DIFFERENCES, second, first, everywhere, has_both), margin, width
        )
    for group in segments:
        for place, level in enumerate(group.levels):
            for first, second in pairs:
                inside = np.asarray(group.code == place)
                has_both = gates[first].has_level and gates[second].has_level
                enough = has_both and all(
                    _is_enough(data, inside & (rows.system == k)) for k in (first, second)
                )
                contrast = SystemContrast(SUBGROUPS, second, first, inside, enough, group.name, level)
                weights += _add(table, data, contrast, margin, width)
    return pd.DataFrame(weights, columns=["system", "baseline", "by", "level", "score", "weight"])


def contrasts_of(gates: Sequence[LabelGate]) -> list[Floats]:
    """Weights of the differences that can be corrected; of the one level where there is no difference."""
    unit, places = np.eye(len(gates)), [place for place, gate in enumerate(gates) if gate.has_level]
    pairs = [unit[second] - unit[first] for first, second in combinations(places, 2)]
    return pairs or [unit[place] for place in places]


def named_pairs(frame: pd.DataFrame, count: int) -> pd.DataFrame:
    """Call differences ``difference``, ``people_difference``, ``judge_difference``, and levels by system."""
    is_difference = frame["part"] != LEVELS
    beginnings = {LABELS_ALONE: "people_", JUDGE_ALONE: "judge_"}
    short = frame["source"].map(beginnings).fillna("") + "difference"
    if count > 2:
        short = short + "[" + frame["system"] + " minus " + frame["baseline"].fillna("") + "]"
    where = ("[" + frame["by"] + "=" + frame["level"] + "]").where(frame["part"] == SUBGROUPS, "")
    levels = frame["measure"] + "[" + frame["system"] + "]"
    names = (short + where).where(is_difference, levels)
    return frame.assign(name=names.where(frame["part"] != JUDGES, frame["name"]).astype("string"))


def _add(
    table: TestRows, data: CalibratedRows, row: SystemContrast, margin: float, width: float | None
) -> list[dict[str, Any]]:
    """Add a level or difference in up to three rows; the weights of the scores."""
    systems, is_difference = data.rows.systems, row.baseline is not None
    contrast = row.weights(len(systems))
    measure = f"{data.rows.measure}{'_difference' if is_difference else ''}"
    keys: dict[str, Any] = {
        "system": systems[row.system],
        "baseline": systems[row.baseline] if row.baseline is not None else "",
        "by": row.by,
        "level": row.level,
    }
    weights: list[dict[str, Any]] = []
    if row.is_correctable:
        corrected = correct_contrast(data, contrast, row.inside, table.alpha)
        further: dict[str, Any] = {"gain": corrected.gain}
        if is_difference:
            further["prompts_to_decide"] = prompts_to_decide(
                corrected, n_clusters(data.rows.prompt), POWER, table.alpha
            )
            further |= _equivalence(corrected.result, margin, table.alpha)
            if width is not None:
                n_prompts = n_clusters(data.rows.prompt)
                further[WIDTH] = prompts_for_width(corrected, n_prompts, width, table.alpha)
        family = f"differences {row.by}" if is_difference else ""
        p = None if is_difference else np.nan
        further |= {"source": CORRECTED_LABELS}
        table.add(row.part, f"corrected_{measure}", corrected.result, family=family, p=p, **further, **keys)
        weights = [
            {**keys, "score": score, "weight": float(weight)}
            for score, weight in zip(data.sources, corrected.weights, strict=True)
        ]
    for source, name, estimate in (
        (LABELS_ALONE, "people_only", people_alone),
        (JUDGE_ALONE, "judge_only", judge_alone),
    ):
        result = estimate(data.rows, contrast, row.inside, table.alpha)
        if np.isfinite(result.estimate):
            p = None if is_difference else np.nan
            # Where nothing has a label, the judge's differences are the result, and are tested together.
            family = f"judge's differences {row.by}" if is_difference and not data.rows.labelled.any() else ""
            table.add(row.part, f"{name}_{measure}", result, family=family, p=p, source=source, **keys)
    return weights


def _equivalence(result: BoundedEstimate, margin: float, alpha: float) -> dict[str, float]:
    """Two one-sided tests that a difference is within the margin."""
    if not result.std_error > 0:
        return {"margin": margin, "p_equivalence": np.nan}
    estimate, error, df = (np.array([value]) for value in (result.estimate, result.std_error, result.df))
    test = two_one_sided(estimate, error, df, (-margin, margin), alpha)
    return {"margin": margin, "p_equivalence": float(test.p[0])}


def _is_enough(data: CalibratedRows, inside: Flags) -> bool:
    """Whether a system has labels of enough prompts within a segment."""
    rows = data.rows
    return n_clusters(rows.prompt[inside & rows.labelled]) >= FEWEST_PROMPTS
