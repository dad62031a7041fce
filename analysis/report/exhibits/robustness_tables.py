"""Tables of a report on reliability, errors and power, in the one table style."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...figures.conjoint.error_choices import ratio_ranges
from ...figures.labels import Labels, display_order
from ..tables import NO_BREAK, interval, number, p_value, styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT

SIDES = {"swapped": "Sides swapped", "same": "As before", "either": "Both kinds"}


def named(row: dict[Any, Any] | pd.Series[Any]) -> str:
    """Name the judge and prompt of a row."""
    return ", ".join(filter(None, (str(row["judge"]), str(row["prompt"]))))


def reliability_table(agreement: pd.DataFrame) -> GT:
    """Lay agreement out by judge and kind of repeat."""
    shown = pd.DataFrame(
        {
            "Judge": [named(row).replace(" ", NO_BREAK) for row in agreement.to_dict("records")],
            "Repeats": agreement["sides"].astype(str).map(SIDES),
            "Compared": agreement["n_compared"].map(whole),
            "Unanswered": agreement["n_unanswered"].map(whole),
            "Agreement": agreement["agreement"].map(number),
            "Bootstrap interval": _intervals(agreement, "lower", "upper"),
            "Swapping error": agreement["tau"].map(number),
        }
    )
    return styled_table(shown, name="reliability", left=2)


def position_table(position: pd.DataFrame) -> GT:
    """Lay out, by judge, what swapped repeats say about position bias and noise."""
    shown = pd.DataFrame(
        {
            "Judge": [named(row).replace(" ", NO_BREAK) for row in position.to_dict("records")],
            "Same profile": position["same_profile"].map(number),
            "Always A": position["always_a"].map(number),
            "Always B": position["always_b"].map(number),
            "A minus B": position["net_bias"].map(number),
            "Interval": _intervals(position, "net_lower", "net_upper"),
            "p": position["net_p"].map(p_value),
            "A, all first answers": position["share_a"].map(number),
        }
    )
    return styled_table(shown, name="position")


def errors_table(frame: pd.DataFrame, labels: Labels) -> GT:
    """Range of ratios of errors by judge and choice, attributes as columns."""
    rows = []
    keys = frame[["judge", "prompt"]].astype("string").fillna("")
    for judge, prompt in keys.drop_duplicates().itertuples(index=False):
        one = frame[(keys["judge"] == judge) & (keys["prompt"] == prompt)]
        ranges = ratio_ranges(one)
        for choice in ranges.index:
            cells = {
                labels.feature(name): _range(*(ranges.loc[choice, (name, edge)] for edge in ("min", "max")))
                for name in display_order(one["feature"])
            }
            rows.append({"judge": ", ".join(filter(None, (judge, prompt))), "Random": choice, **cells})
    return styled_table(pd.DataFrame(rows), name="errors", groups="judge")


def power_table(frame: pd.DataFrame, labels: Labels) -> GT:
    """Detectable effects by judge and attribute: by the plan, with the errors found."""
    rows = []
    for _, one in frame.groupby(["judge", "prompt", "feature"], sort=False, observed=True, dropna=False):
        first = one.iloc[0]
        rows.append(
            {
                "judge": named(first),
                "Attribute": labels.feature(first["feature"]),
                "Pairs": whole(first["pairs"]),
                "By the plan": _range(one["effect_design"].min(), one["effect_design"].max(), 3),
                "Errors found": _range(one["effect_found"].min(), one["effect_found"].max(), 3),
                "Estimates": _range(one["estimate"].min(), one["estimate"].max(), 3),
                "Random in the errors found": str(first["errors"]),
            }
        )
    return styled_table(pd.DataFrame(rows), name="power", groups="judge")


def _range(low: float, high: float, digits: int = 1) -> str:
    first, second = number(low, digits), number(high, digits)
    return first if first == second else f"{first} to {second}"


def _intervals(frame: pd.DataFrame, lower: str, upper: str) -> list[str]:
    pairs = zip(frame[lower].astype(float), frame[upper].astype(float), strict=True)
    return [interval(low, high) if np.isfinite([low, high]).all() else "" for low, high in pairs]
