"""Win rates of two systems in subgroups of verdicts, each with its difference from all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from conjury.inference.errors import InputError, listed

from ...numerics.intervals.bounded import BoundedEstimate, Flags, difference_of_means, difference_of_shares
from ...raters.validation.error_rates import complement_of_level, levels_of
from ...raters.validation.validation_rows import SUBGROUPS, TestRows
from .verdict_reading import PairedVerdicts
from .win_rates import Basis, RatesOfTwo, p_of_half, rates_of_two

RATE, JUDGE_RATE = "win_rate", "judge_win_rate"


@dataclass(frozen=True)
class SubgroupRates:
    """How win rates in subgroups are estimated: as that of all verdicts, where labels suffice."""

    data: PairedVerdicts
    basis: Basis  # of the win rate of all verdicts
    ties: str
    seed: int
    alpha: float

    def within(self, mask: Flags) -> RatesOfTwo:
        """The win rate of some verdicts."""
        return rates_of_two(self.data.rows(mask), self.ties, self.seed, self.alpha)

    def measure_of(self, *rates: RatesOfTwo) -> str:
        """Whose win rates these can be together: that of all verdicts, or the judge's alone."""
        return RATE if all(each.basis == self.basis for each in rates) else JUDGE_RATE

    def difference(self, first: RatesOfTwo, second: RatesOfTwo) -> BoundedEstimate:
        """The first of two rates of different prompts minus the second."""
        if self.measure_of(first, second) == JUDGE_RATE:
            return difference_of_shares(first.of_judge, second.of_judge, self.alpha)
        # A corrected rate is no share of a number of trials, and each side has degrees of freedom of its own.
        of = difference_of_means if self.basis == "corrected" else difference_of_shares
        return of(first.best, second.best, self.alpha)


def add_subgroups(rows: TestRows, rates: SubgroupRates) -> list[str]:
    """Add the win rate of each subgroup and its difference from the others; say which lack people's."""
    judged, by_judge, notes = np.isfinite(rates.data.points), list[str](), list[str]()
    for group in rates.data.groups:
        for level, inside in levels_of(group, judged):
            keys: dict[str, Any] = {"by": group.name, "level": level}
            outside = complement_of_level(group, level, judged)
            try:
                first = rates.within(inside)
                second = None if outside is None else rates.within(outside)
            except InputError as error:  # Davidson's model has no estimate for few pairs
                notes.append(f"No win rate for {group.name} {level!r}: {error}")
                continue
            measure = rates.measure_of(first)
            rate = first.best if measure == RATE else first.of_judge
            rows.add(SUBGROUPS, measure, rate, p=p_of_half(rate), **keys)
            by_judge += [f"{group.name} {level!r}"] if measure == JUDGE_RATE else []
            if second is not None:
                measure = f"{rates.measure_of(first, second)}_difference"
                difference = rates.difference(first, second)
                rows.add(SUBGROUPS, measure, difference, family=f"subgroups {group.name}", **keys)
    if by_judge:
        notes.append(f"Too few verdicts of people, so that win rates are the judge's: {listed(by_judge, 6)}.")
    return notes
