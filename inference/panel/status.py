"""Figures of a panel: who started and finished, times, checks, quotas and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class QuotaFigure:
    """People of one quota: those who finished or take part now, and the limit."""

    question: str
    option: str
    people: int
    limit: int


@dataclass(frozen=True)
class PanelFigures:
    """Where a panel is.

    Attributes
    ----------
    slots, started, finished, active, left : int
        Participations that are wanted; people who consented or began; who finished; who are within the time
        limit; who are not and did not finish.
    ended : mapping
        People by end: ``finished``, ``screened_out``, ``full``, ``declined``, ``failed_checks``, ``timed_out``.
    median_minutes : float or None
        Median time of those who finished.
    checks_answered, checks_failed : int
        Attention checks, over all people.
    quotas : tuple of QuotaFigure
    cost, currency
        Cost of those who finished, at the stated pay; None where the study states none.
    balance : DataFrame
        How often each level was shown, by position: attribute, level, position, shown, share.
    agreement : DataFrame
        Agreement so far: measure, estimate, units.
    straight : DataFrame
        People by the longest series of equal answers: judge_id, longest, tasks, share.
    """

    slots: int
    started: int
    finished: int
    active: int
    left: int
    ended: Mapping[str, int]
    median_minutes: float | None
    checks_answered: int
    checks_failed: int
    quotas: tuple[QuotaFigure, ...]
    cost: float | None
    currency: str | None
    balance: pd.DataFrame
    agreement: pd.DataFrame
    straight: pd.DataFrame
