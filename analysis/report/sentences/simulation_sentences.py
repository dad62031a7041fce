"""Sentences on simulations: true values inside intervals, and methods whose intervals cover too rarely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...frames.rounding import percentage
from ...frames.sentences import agreeing, sentence
from ..method_sentences import plain
from ..table_format import number, whole

TOO_FEW = 2.0  # Monte Carlo errors below the nominal level that are no chance


@dataclass(frozen=True)
class RecoveredTruth:
    """The share of intervals that contain the true value, and the largest error."""

    n: float
    inside: float
    boot_inside: float
    largest: float
    bounds: str


def average_coverage(frame: pd.DataFrame, bounds: str) -> RecoveredTruth:
    """Average shares over analyses, by the number of their estimates."""
    weight = frame["n_levels"].astype(float).where(frame["in_normal"].notna(), 0.0)
    shares = []
    for name in ("in_normal", "in_bootstrap"):
        present = frame[name].notna() & (weight > 0)
        total = weight[present].sum()
        shares.append(float((frame[name] * weight)[present].sum() / total) if total else np.nan)
    inside, boot_inside = shares
    largest = float(frame["max_abs_error"].max())
    return RecoveredTruth(float(weight.sum()), inside, boot_inside, largest, bounds)


@sentence
def recovered_in_words(values: RecoveredTruth) -> str:
    """How many intervals of all analyses contain the true value."""
    if not values.n or np.isnan(values.inside):
        return ""
    has = agreeing(int(values.n), "estimate", "estimates")
    sentence_ = (
        f"Of {whole(values.n)} {has} with a standard error, {percentage(values.inside, 1)} have their true "
        f"value inside the {values.bounds or 'normal interval'}"
    )
    if not np.isnan(values.boot_inside):
        sentence_ += f" and {percentage(values.boot_inside, 1)} inside the bootstrap interval"
    return f"{sentence_}; the largest error is {number(values.largest)}."


@dataclass(frozen=True)
class CoverageShares:
    """Shares of intervals that contain the true value, by quantity."""

    counts: tuple[tuple[str, int, int], ...]  # quantity, inside, intervals


@sentence
def inside_in_words(values: CoverageShares) -> str:
    """The share of intervals with the true value, by quantity; empty without intervals."""
    counts = [(name, inside, n) for name, inside, n in values.counts if n]
    if not counts:
        return ""
    shares = [f"{name} {percentage(inside / n)}" for name, inside, n in counts]
    return f"Shares of intervals that contain the true value: {'; '.join(shares)} (@tbl-recovery)."


@dataclass(frozen=True)
class Covering:
    """In how many cells each method covers too rarely, of one estimand, and its range of coverage."""

    estimand: str
    methods: tuple[tuple[str, int, int, float, float], ...]  # name, cells too rarely, cells, least, most


def count_low_coverage(rows: pd.DataFrame, estimand: str, nominal: float) -> Covering:
    """Count cells of each method with coverage below the nominal one by more than chance."""
    measures = []
    for method, part in rows.groupby("method", sort=False):
        spread = np.sqrt(nominal * (1 - nominal) / (part["draws"] - part["failures"]))
        low = int((part["estimate"] < nominal - TOO_FEW * spread).sum())
        measures.append(
            (str(method), low, len(part), float(part["estimate"].min()), float(part["estimate"].max()))
        )
    return Covering(estimand, tuple(measures))


@sentence
def covering_in_words(values: Covering) -> str:
    """Each method with the cells in which it covers too rarely."""
    texts = [
        f"{plain(name)} {low} of {n} ({number(least, 2)} to {number(most, 2)})"
        for name, low, n, least, most in values.methods
    ]
    about = f"{plain(values.estimand)}: " if values.estimand else ""
    return f"{about}{'; '.join(texts)}."
