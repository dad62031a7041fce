"""Sentences on judges as instruments: positions, flips, specifications."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...frames.rounding import percentage
from ...frames.sentences import agreeing, out_of, sentence
from ..method_sentences import plain
from ..table_format import interval, whole


@dataclass(frozen=True)
class Positions:
    """How often a judge chooses the first position, and what pairs asked in both orders follow."""

    judge: str
    share: float
    n: float
    lower: float
    upper: float
    both: tuple[float, float, float] | None  # shares of the same profile, always first, always second


def positions(judge: str, frame: pd.DataFrame) -> Positions | None:
    """Look up the shares of one judge over all decisions; None without them."""
    rows = {str(row["quantity"]): row for row in frame.to_dict("records")}
    share = rows.get("first_share")
    if share is None:
        return None
    names = ("same_profile", "always_first", "always_second")
    estimates = [float(rows[name]["estimate"]) for name in names if name in rows]
    order_shares = (estimates[0], estimates[1], estimates[2]) if len(estimates) == len(names) else None
    estimate, n, lower, upper = (float(share[name]) for name in ("estimate", "n", "lower", "upper"))
    return Positions(judge, estimate, n, lower, upper, order_shares)


@sentence
def positions_in_words(values: Positions) -> str:
    """How often a judge chooses the first position."""
    limits = interval(values.lower, values.upper, 0, scale=100)
    text = (
        f"{plain(values.judge)} chooses the first position in {percentage(values.share)} of "
        f"{whole(values.n)} {agreeing(int(values.n), 'decision', 'decisions')} {limits}"
    ).rstrip()
    if values.both is not None:
        same, first, second = map(percentage, values.both)
        text += (
            f", and of pairs asked in both orders the same profile in {same}, the first position both times "
            f"in {first} and the second in {second}"
        )
    return f"{text}."


@dataclass(frozen=True)
class Flipping:
    """The facet and judge with the largest share of objects that are not decided alike."""

    facet: str
    judge: str
    share: float
    lower: float
    upper: float


def find_largest_flip(frame: pd.DataFrame, facets: pd.Series[str], judges: pd.Series[str]) -> Flipping | None:
    """Find the facet with which most decisions change, among rows of whole facets."""
    share = frame["estimate"].to_numpy(float)
    if np.isnan(share).all():
        return None
    at = int(np.nanargmax(share))
    lower, upper = (float(frame[name].iloc[at]) for name in ("lower", "upper"))
    return Flipping(str(facets.iloc[at]), str(judges.iloc[at]), float(share[at]), lower, upper)


@sentence
def flipping_in_words(values: Flipping) -> str:
    """Name the facet with which decisions change most."""
    if values.share == 0:
        return "No object is decided otherwise at another level of a facet."
    share = f"{percentage(values.share)} {interval(values.lower, values.upper, 0, scale=100)}".rstrip()
    return (
        f"Decisions change most with *{plain(values.facet)}*: {share} of the objects of "
        f"{plain(values.judge)} are not decided alike at all of its levels."
    )


@dataclass(frozen=True)
class Changing:
    """On how many effects the conclusion changes in some specification."""

    least: int  # specifications of the judge with fewest
    most: int
    changing: int
    effects: int
    judges: int


def count_changes(summary: pd.DataFrame) -> Changing:
    """Count effects of judges whose conclusion differs in any specification."""
    conclusions = summary[summary["conclusion_turns"].notna()]
    n = summary["n_specifications"].astype(int)
    turning = int((conclusions["conclusion_turns"] > 0).sum())
    return Changing(int(n.min()), int(n.max()), turning, len(conclusions), summary["judge"].nunique())


@sentence
def changing_in_words(values: Changing) -> str:
    """On how many effects the conclusion depends on the specification."""
    over = f"{values.most}" if values.least == values.most else f"{values.least} to {values.most}"
    if not values.effects:
        return f"Over {over} specifications, no effect has a conclusion."
    of_judges = f" (those of {values.judges} judges counted one by one)" if values.judges > 1 else ""
    effects = out_of(values.changing, values.effects, "effect")
    return (
        f"Over {over} {agreeing(values.most, 'specification', 'specifications')}, the conclusion on {effects}"
        f"{of_judges} changes in at least one."
    )
