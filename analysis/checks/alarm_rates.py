"""How often each check, and the whole battery, alarms on sound data: stated, and measured by simulation.

The measured rates are in ``data/checks/rates.csv``, which ``tests/fixtures/checks/make_rates.py`` writes: a
row per check and size of study (and for all sizes together), and two rows for the battery.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pandas as pd

from conjury.inference.tables.files import ROOT

from ..frames.rounding import percentage
from .registry import Alarms

FILE = ROOT / "data" / "checks" / "rates.csv"
ALL = "all"  # the scenario that contains all others
ANY, ERROR, TESTS = "any alarm", "any error", "any test"  # rows of the battery


@dataclass(frozen=True)
class AlarmRate:
    """Alarms in n simulated sound studies to which a check applied, with the 95% interval of their rate."""

    alarms: int
    n: int
    lower: float
    upper: float

    @property
    def rate(self) -> float:
        """Share of studies with an alarm."""
        return self.alarms / self.n if self.n else float("nan")

    def in_words(self) -> str:
        """Give the rate with its interval and the number of studies."""
        interval = f"95% interval {100 * self.lower:.1f} to {100 * self.upper:.1f}"
        return f"{percentage(self.rate, 1)} of {self.n:,} simulated sound studies ({interval})"


def read_rates() -> pd.DataFrame:
    """Read ``code, scenario, alarms, n, lower, upper``; a row per check and scenario, and of the battery."""
    return _table().copy()


def rate_of(code: str, scenario: str = ALL) -> AlarmRate | None:
    """The measured rate of a check, or of ``ANY`` or ``ERROR``; None where it was not measured."""
    table = _table()
    rows = table[(table["code"] == code) & (table["scenario"] == scenario)]
    if rows.empty or not int(rows["n"].iloc[0]):
        return None
    row = rows.iloc[0]
    return AlarmRate(int(row["alarms"]), int(row["n"]), float(row["lower"]), float(row["upper"]))


def rate_statement(code: str, alarms: Alarms, alpha: float = 0.05) -> str:
    """State how often a check alarms on sound data."""
    measured = rate_of(code)
    if alarms == "never":
        return "never: the counted cases do not occur in sound data"
    if alarms == "test":
        bound = f"a test: with all other tests at most {100 * alpha:g}%"
        return f"{bound}; measured {measured.in_words()}" if measured else bound
    return (
        f"a rule: {measured.in_words()}"
        if measured
        else "a rule: not measured, no simulated sound study contains the data it needs"
    )


def battery_statement(alpha: float = 0.05) -> str:
    """State how often sound data raise any alarm, in a sentence or two."""
    bound = f"On sound data, all tests together alarm in at most {100 * alpha:g}% of studies."
    alarms, errors = rate_of(ANY), rate_of(ERROR)
    if alarms is None or errors is None:
        return bound
    any_error = f"with an error in {percentage(errors.rate, 1)}"
    return f"{bound} All checks together alarmed in {alarms.in_words()}, {any_error}."


@cache
def _table() -> pd.DataFrame:
    if not FILE.is_file():
        return pd.DataFrame(columns=["code", "scenario", "alarms", "n", "lower", "upper"])
    return pd.read_csv(FILE)
