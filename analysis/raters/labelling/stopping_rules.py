"""When labelling stops: rules such as "difference < 0.03" (half width) or "lower > 0"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed

LIMITS = ("lower", "upper")
HALF_WIDTH = "half_width"
RULE = re.compile(
    r"(?P<name>[^<>]*?)\s*(?P<sign>[<>])=?\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<percent>%?)"
)
EXAMPLES = "such as 'difference < 0.03' (half the width of its interval) or 'lower > 0'"


@dataclass(frozen=True)
class StoppingRule:
    """One quantity, the column of its interval that is compared, and a number."""

    quantity: str
    column: str  # half_width, lower or upper
    is_below: bool
    number: float

    def is_met(self, row: pd.Series[Any]) -> bool:
        """Whether a row of estimates meets it."""
        value = float(row[self.column])
        return value < self.number if self.is_below else value > self.number

    @property
    def text(self) -> str:
        """The rule in words."""
        column = "half the width of its interval" if self.column == HALF_WIDTH else f"its {self.column} limit"
        return f"{self.quantity}: {column} {'below' if self.is_below else 'above'} {self.number:g}"


def read_rules(text: str | None, quantities: Sequence[str], main: str) -> tuple[StoppingRule, ...]:
    """Rules that are joined by "or", of which one is enough; none for no text."""
    if text is None:
        return ()
    return tuple(_read_rule(part, quantities, main) for part in re.split(r"\bor\b", text))


def rule_met(rules: Sequence[StoppingRule], estimates: pd.DataFrame) -> StoppingRule | None:
    """The first rule that the last look meets."""
    if estimates.empty:
        return None
    last = estimates[estimates["batch"] == estimates["batch"].max()].set_index("quantity")
    return next((rule for rule in rules if rule.is_met(last.loc[rule.quantity])), None)


def _read_rule(text: str, quantities: Sequence[str], main: str) -> StoppingRule:
    match = RULE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"--until '{text.strip()}' is no rule; give one, {EXAMPLES}.")
    name, sign = match["name"].strip(), match["sign"]
    quantity, dot, limit = name.rpartition(".")
    if not dot or limit not in LIMITS:
        quantity, limit = (main, name) if name in LIMITS else (name, HALF_WIDTH)
    if quantity not in quantities:
        raise InputError(
            f"--until '{text.strip()}': '{quantity}' is no quantity{did_you_mean(quantity, quantities)}; "
            f"there are {listed(quantities, 8)}, each with .lower and .upper."
        )
    if limit == HALF_WIDTH and sign == ">":
        raise InputError(
            f"--until '{text.strip()}': '{quantity}' is half the width of an interval, which labels make "
            f"smaller; write '{quantity} < NUMBER', or '{quantity}.lower > NUMBER' for its limit."
        )
    number = float(match["number"]) / (100 if match["percent"] else 1)
    if limit == HALF_WIDTH and number <= 0:
        raise InputError(f"--until '{text.strip()}': no interval is that narrow; give a number above 0.")
    return StoppingRule(quantity, limit, sign == "<", number)
