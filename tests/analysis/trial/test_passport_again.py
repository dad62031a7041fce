"""Every interval of the passport is measured again: as wide and as often right as the shipped table says."""

from __future__ import annotations

import numpy as np
import pytest

from conjury.analysis.trial.passport import passport, passport_trials, run_passport

DRAWS = 20  # of each situation
KEYS = ["trial", "method", "quantity", "situation"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", passport_trials())
def test_intervals_cover_and_are_as_wide_as_the_shipped_passport_says(name: str) -> None:
    again, shipped = run_passport(draws=DRAWS, only=[name]), passport().frame
    both = again.merge(shipped, on=KEYS, suffixes=("", "_shipped"), validate="1:1")
    # What hardly ever has an interval may have none in so few draws.
    assert 0.95 * (shipped["trial"] == name).sum() <= len(both) == len(again)
    assert (both["width"] / both["width_shipped"]).groupby(both["method"]).median().between(0.9, 1.1).all()
    known = both[both["coverage"].notna() & both["coverage_shipped"].notna()]
    for method, rows in known.groupby("method"):
        n = rows["draws"] * (1 - rows["without"])
        rate = (1 - rows["coverage_shipped"]).clip(0.02, 0.98)
        # Quantities of one draw may err together: the variance of a sum is at most that of as many copies.
        spread = np.sqrt(rows["quantity"].nunique() * (n * rate * (1 - rate)).sum())
        missed = (n * (rows["coverage_shipped"] - rows["coverage"])).sum()
        assert abs(missed) < 4 * spread, method
