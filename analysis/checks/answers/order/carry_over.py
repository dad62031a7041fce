"""Effects of the previous task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ....conjoint import amce
from ....conjoint.comparisons.effects_by_group import cluster_count, errors_of
from ....numerics.rating_panel import RowClusters
from ...group_effects import difference_frame, judge_differences
from ...judged import JudgedChoices, attempt, codes
from ...registry import Check, Question, check
from .task_order import NO_ORDER, has_tasks

CARRY_OVER = Question(
    code="CJ306",
    name="carry_over",
    title="Carry-over between tasks",
    text="Is a choice independent of what was shown and chosen in the previous task?",
    consequence="Choices depend on earlier tasks of the same respondent, so an AMCE contains effects of "
    "other tasks.",
    remedy="Compare AMCEs of first tasks with those of all tasks.",
    alarms="test",
)
SIDE = "same position as in the previous task"
SHOWN = "level was shown in the previous task"
REMEDIES = {
    SIDE: "Compare AMCEs of first tasks with those of all tasks, randomise positions in every task, and "
    "examine respondents who always choose one position.",
    SHOWN: "Compare AMCEs of first tasks with those of all tasks; in a further survey, avoid the same level "
    "in consecutive tasks, or insert other questions between tasks.",
}


@check(CARRY_OVER)
def carry_over(judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Test whether sides repeat, and whether levels shown before are chosen more or less."""
    people = [group for group in judged if has_tasks(group)]
    if not people:
        return CARRY_OVER.not_applicable(NO_ORDER)
    done, notes = attempt(people, lambda group: _carry_rows(group, alpha))
    return judge_differences(
        CARRY_OVER, done, notes, alpha, "an effect of the previous task", "test", REMEDIES
    )


def repeated_sides(first: np.ndarray, respondent: np.ndarray) -> tuple[float, float, int]:
    """How much likelier the side of the task before is than the side of two tasks before."""
    # Respondents with a preference for a side repeat it at any distance; carry-over repeats the last side
    # more than the one before it.
    near, far = (_repeats_side(first, respondent, lag) for lag in (1, 2))
    units, unit = np.unique(respondent, return_inverse=True)
    sums = []
    for same in (near, far):
        is_finite = ~np.isnan(same)
        sums.append(
            (
                np.bincount(unit[is_finite], same[is_finite], len(units)),
                np.bincount(unit[is_finite], minlength=len(units)),
            )
        )
    (hits_near, n_near), (hits_far, n_far) = sums
    mask = (n_near > 0) & (n_far > 0)
    g = int(mask.sum())
    if g < 2:
        raise InputError("no respondent has three tasks in a row.")
    shares = [hits[mask].sum() / n[mask].sum() for hits, n in sums]
    influence = (hits_near - shares[0] * n_near)[mask] / n_near[mask].sum()
    influence = influence - (hits_far - shares[1] * n_far)[mask] / n_far[mask].sum()
    error = float(RowClusters.of_rows(g).errors(influence[:, None])[0])
    return float(shares[0] - shares[1]), error, g


def shown_before(level: np.ndarray, respondent: np.ndarray) -> np.ndarray:
    """Whether a profile's level stood on either side of the respondent's previous task."""
    previous = np.roll(level, 1, axis=0)
    same = (level[:, :, None] == previous[:, None, :]).any(axis=2).astype(np.int64)
    follows = np.append(False, respondent[1:] == respondent[:-1])
    return np.where(follows[:, None], same, -1)


def _repeats_side(first: np.ndarray, respondent: np.ndarray, lag: int) -> np.ndarray:
    """Whether a side is that of ``lag`` tasks before, shape (pairs,), NaN if unknown."""
    same = np.full(len(first), np.nan)
    now, then = first[lag:], first[:-lag]
    mask = (respondent[lag:] == respondent[:-lag]) & ~np.isnan(now) & ~np.isnan(then)
    same[lag:][mask] = (now == then)[mask]
    return same


def _carry_rows(group: JudgedChoices, alpha: float) -> pd.DataFrame:
    respondent = codes(group.rows["judge_id"]).reshape(-1, 2)[:, 0]
    difference, error, n = repeated_sides(group.first_chosen, respondent)
    keys = pd.DataFrame({"test": [SIDE], "feature": ["position"], "level": ["same as before"]})
    side = difference_frame(keys, np.array([difference]), np.array([[error**2]]), n, alpha)
    rows, lagged = group.rows, []
    for name in group.attributes:
        before = shown_before(group.by_pair(name), respondent).reshape(-1)
        if len(np.unique(before[before >= 0])) == 2:
            lagged.append(f"{name}_before")
            marked = pd.Categorical.from_codes(before, pd.Index(["new", "shown"]))
            rows = rows.assign(**{lagged[-1]: marked})
    if not lagged:
        return side
    follows = rows[lagged[0]].notna() & rows[group.outcome].notna()
    estimates = amce(rows[follows], f"{group.formula} + {' + '.join(lagged)}", id=list(group.unit))
    frame, vcov = errors_of(estimates, lagged)
    keys = pd.DataFrame(
        {
            "test": SHOWN,
            "feature": frame["feature"].astype(str).str.removesuffix("_before"),
            "level": "shown before",
        }
    )
    clusters = cluster_count(estimates)
    level_tests = difference_frame(keys, frame["estimate"].to_numpy(), vcov, clusters, alpha)
    return pd.concat([side, level_tests], ignore_index=True)
