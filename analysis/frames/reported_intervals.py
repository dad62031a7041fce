"""Which intervals of its estimates a study reports: those of standard errors, or those of the bootstrap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

BOOTSTRAP, NORMAL = "bootstrap", "normal"
BY_FORMULA = (None, NORMAL, "t", "posterior", "delta")
KIND = "interval_kind"  # column with the kind of interval of each estimate
BY_ERRORS = "normal_"  # begins the names of columns with what limits of the bootstrap replace
REPLACED = ("std_error", "p", "lower", "upper")


def reported(frame: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Estimates with the intervals that the study reports (``intervals`` of its settings)."""
    # Where these are bootstrap intervals, the others move to `normal_std_error` and so on, and `z`, which
    # belongs to them, is missing. Estimates with one kind of interval are unchanged.
    intervals = settings.get("intervals") or {}
    if KIND in frame or "boot_lower" not in frame or BOOTSTRAP not in intervals.values():
        return frame
    kinds = {str(group["judge"]): group.get("kind") for group in settings.get("groups") or []}
    single_kind = next(iter(kinds.values())) if len(set(kinds.values())) == 1 else None
    judges = frame["judge"].astype(str) if "judge" in frame else pd.Series("", index=frame.index)
    booted = judges.map(lambda judge: intervals.get(kinds.get(judge, single_kind)) == BOOTSTRAP).astype(bool)
    result = frame.assign(
        **{KIND: booted.map({True: resampling(settings), False: by_errors(settings)})},
        **{f"{BY_ERRORS}{name}": frame[name] for name in REPLACED if name in frame},
        **{name: frame[f"boot_{name}"].where(booted, frame.get(name)) for name in REPLACED},
    )
    return result.assign(z=result["z"].mask(booted)) if "z" in frame else result


def interval_kinds(settings: Mapping[str, Any], frame: pd.DataFrame | None = None) -> dict[str, str]:
    """Kind of the reported intervals, such as "normal" or "percentile bootstrap", of people and of models."""
    # If all are of one kind, its key is empty. `frame`, made by `reported`, may contain a part of the judges.
    intervals = settings.get("intervals") or {}
    if frame is not None and KIND in frame:
        reported_kinds = [str(kind) for kind in frame[KIND].dropna().unique()]
        if len(reported_kinds) == 1:
            return {"": reported_kinds[0]}
    judges = {str(group["kind"]) for group in settings.get("groups") or [] if group.get("kind")}
    kinds: dict[str, str] = {
        kind: resampling(settings) if intervals.get(kind) == BOOTSTRAP else by_errors(settings)
        for kind in ("model", "human")
        if kind in judges
    }
    return kinds if len(set(kinds.values())) > 1 else {"": next(iter(kinds.values()), by_errors(settings))}


def resampling(settings: Mapping[str, Any]) -> str:
    """Kind of the intervals of the bootstrap: ``percentile bootstrap``."""
    return f"{settings.get('interval') or ''} bootstrap".strip()


def by_errors(settings: Mapping[str, Any]) -> str:
    """Kind of the intervals that standard errors give: normal, or of the t distribution."""
    return NORMAL if settings.get("vcov") in (None, "survey") else "t"


def draws_behind(settings: Mapping[str, Any], frame: pd.DataFrame) -> int:
    """Random draws by which limits and p values of a table were computed; 0 where they are by errors."""
    if "boot_lower" in frame or settings.get("interval") in BY_FORMULA or settings.get("enumerated"):
        return 0
    return int(settings.get("draws") or 0)
