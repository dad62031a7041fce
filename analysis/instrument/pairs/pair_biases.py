"""What the order of answers and their length do to a judge's verdicts on pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...numerics.intervals.bounded import NOTHING, BoundedEstimate, share
from ...raters.validation.validation_rows import LENGTH, POSITION, TestRows
from ..order import order_effects
from ..quality import preferences_beyond_quality
from .verdict_reading import HALF, PairedVerdicts
from .win_rates import FEWEST, p_of_half

TWO = 2
SLOPES = {
    "unadjusted": "length_slope", "people": "people_length_slope", "beyond people": "length_beyond_people",
}  # fmt: skip


def profile_rows(data: PairedVerdicts) -> pd.DataFrame:
    """Choices with a row per answer shown, as `order_effects` and `preferences_beyond_quality` read them."""
    n = len(data.points)
    is_given = data.order >= 0  # also where nobody knows
    sample = pd.Series(1, index=range(n)).groupby([data.pair, is_given]).cumsum().to_numpy()
    parts = []
    for side in range(2):
        points = data.points if side == 0 else 1 - data.points
        people = data.people if side == 0 else 1 - data.people
        is_first = is_given if side == 0 else ~is_given
        parts.append(
            pd.DataFrame(
                {
                    "judge_id": "judge", "judge_kind": "model", "pair_id": data.pair, "sample": sample,
                    "option_order": np.where(is_given, "given", "exchanged"),
                    "position": np.where(is_first, "A", "B"), "profile_id": data.pair * 2 + side,
                    "chosen": np.where(points == HALF, np.nan, points), "length": data.lengths[side],
                    "human": people, "prompt": data.cluster, "row": np.arange(n),
                    "represents": np.ones(n) if data.represented is None else data.represented,
                }
            )
        )  # fmt: skip
    return pd.concat(parts).sort_values(["row", "position"], kind="stable").reset_index(drop=True)


def add_positions(rows: TestRows, data: PairedVerdicts) -> list[str]:
    """Add what the order does to verdicts, from `order_effects`."""
    ordered = data.rows((data.order != 0) & np.isfinite(data.points))
    decided = ordered.points != HALF
    if len(decided) and not decided.any():
        return ["All verdicts are ties, so the position has no estimate."]
    if not decided.any():
        return ["Which answer was shown first is not known, so the position has no estimate."]
    sides = [(ordered.order > 0) & decided, (ordered.order < 0) & decided]
    if len(data.systems) == TWO and not (sides[0].any() and sides[1].any()):
        label = data.systems[0 if sides[0].any() else 1]
        return [
            f"'{label}' is first in every pair, so that a preference for its answers cannot be told "
            "from one for the first position; add verdicts in the other order."
        ]
    frame = order_effects(profile_rows(ordered), cluster="prompt", alpha=rows.alpha).frame
    quantities = {str(row["quantity"]): row for _, row in frame[frame["facet"] == "all"].iterrows()}
    rows.add(
        POSITION,
        "first_share",
        _of_record(quantities["first_share"]),
        p=_p_of_share(quantities["first_share"]),
    )
    if "same_profile" in quantities:
        same = _of_record(quantities["same_profile"])
        flips = replace(same, estimate=1 - same.estimate, lower=1 - same.upper, upper=1 - same.lower)
        rows.add(POSITION, "order_flips", flips)
        rows.add(POSITION, "order_changes", _changes(ordered, rows.alpha))
        net = quantities["net_first"]
        rows.add(POSITION, "net_first", _of_record(net), p=float(net["p"]))
    return []


def _changes(data: PairedVerdicts, alpha: float) -> BoundedEstimate:
    """Share of pairs in both orders whose verdicts differ, a tie against a choice included."""
    table = pd.DataFrame(
        {"pair": data.pair, "order": data.order, "points": data.points, "cluster": data.cluster}
    )
    # Of several verdicts in each order the first is compared with the first, and so on.
    table["sample"] = table.groupby(["pair", "order"]).cumcount()
    keys = ["pair", "cluster", "sample"]
    merged = table[table["order"] > 0].merge(table[table["order"] < 0], on=keys)
    if merged.empty:
        return NOTHING
    changed = np.asarray(merged["points_x"] != merged["points_y"], dtype=float)
    return share(changed, merged["cluster"].to_numpy(), alpha)


def _of_record(row: pd.Series[Any]) -> BoundedEstimate:
    """A row of another result."""
    clusters = int(row["n_clusters"])
    estimate, error, lower, upper = (float(row[name]) for name in ("estimate", "std_error", "lower", "upper"))
    return BoundedEstimate(
        estimate, error, lower, upper, int(row["n"]), clusters, df=max(clusters - 1.0, 1.0)
    )


def _p_of_share(row: pd.Series[Any]) -> float:
    """P of one half at the effective number of trials."""
    bound = _of_record(row)
    spread = bound.estimate * (1 - bound.estimate)
    trials = spread / bound.std_error**2 if bound.std_error > 0 and spread > 0 else np.nan
    return p_of_half(replace(bound, trials=trials))


def add_lengths(rows: TestRows, data: PairedVerdicts) -> list[str]:
    """Add slopes on the log of the length, from `preferences_beyond_quality`; without people, the judge's."""
    has = np.isfinite(data.lengths).all(axis=0) & np.isfinite(data.points)
    decided = has & (data.points != HALF)
    with_people = decided & np.isfinite(data.people)
    use_people = with_people.sum() >= FEWEST
    chosen = with_people if use_people else decided
    if chosen.sum() < FEWEST:
        n = int(chosen.sum())
        text = f"{n} of the decided verdicts {'has' if n == 1 else 'have'} both lengths, which are too few"
        return [f"Only {text} for an estimate of length."] if np.isfinite(data.lengths).any() else []
    part = data.rows(has & np.isfinite(data.people) if use_people else has)
    table = profile_rows(part)
    table = table if use_people else table.assign(human=HALF)
    if np.ptp(part.lengths[0] / part.lengths[1]) == 0:
        return ["Lengths have one ratio in all pairs, so a preference for length has no estimate."]
    frame = preferences_beyond_quality(
        table, "length", "human", log=True, cluster="prompt", alpha=rows.alpha,
        weights="represents" if use_people else None,
    ).frame  # fmt: skip
    slopes = {str(row["comparison"]): row for _, row in frame.iterrows()}
    for comparison, measure in SLOPES.items():
        if comparison in slopes and (use_people or comparison == "unadjusted"):
            row = slopes[comparison]
            rows.add(LENGTH, measure, _of_record(row), p=float(row["p"]))
    return []
