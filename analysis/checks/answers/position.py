"""Checks of positions and of the order of tasks: shares, effects, carry-over, straight-lining."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import binom

from conjury.inference.errors import InputError

from ...conjoint import amce
from ...conjoint.reliability.agreement import clustered_share, sign_test
from ...figures.labels import level_at
from ...numerics.intervals import SAME
from ..effects import (
    GroupEffects,
    cluster_count,
    difference_frame,
    errors_of,
    group_effects,
    judge_differences,
)
from ..judged import Judged, attempt, codes, people_of, tidy
from ..registry import Check, Question, adjusted, check, groups, highest, said_p, who

POSITION_SHARE = Question(
    "CJ303",
    "position_share",
    "Preference for a position",
    "Is the profile in position A chosen as often as the one in position B?",
    "Answers depend on the position, which adds noise and, without balance, bias.",
    "Show every pair in both orders and average, or add position to the model; a preference for a position "
    "does not bias AMCEs under random positions, but attenuates them.",
    "test",
)
SEVERE = 0.1


@check(POSITION_SHARE)
def position_share(judged: Sequence[Judged], alpha: float) -> Check:
    """Test the share of A against one half, for every judge and prompt."""
    done, notes = attempt(judged, lambda group: _share(group, alpha), "No judge made a choice.")
    table = tidy(done)
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    furthest = highest(table, (table["estimate"] - 0.5).abs())
    found = (table["p_adjusted"] < alpha).to_numpy()
    finding = (
        f"A position is preferred by {int(found.sum())} of {groups(len(table))}; the furthest from "
        f"one half is {who(furthest)} with {100 * furthest['estimate']:.1f}% for A "
        f"({level_at(alpha)} interval {100 * furthest['lower']:.1f} to {100 * furthest['upper']:.1f}, "
        f"adjusted {said_p(float(furthest['p_adjusted']))})."
    )
    severe = found & ((table["estimate"] - 0.5).abs() > SEVERE).to_numpy()
    return POSITION_SHARE.answer(
        table, "error" if severe.any() else "warning" if found.any() else "pass", finding, notes
    )


def _share(group: Judged, alpha: float) -> pd.DataFrame:
    """Share of A with Wilson's limits; where every answer is the same, p is that of the exact sign test."""
    known = ~np.isnan(group.first_chosen)
    if not known.any():
        raise InputError("there is no choice.")
    _, unit = np.unique(group.respondents()[known], return_inverse=True)
    chosen, pairs = np.bincount(unit, group.first_chosen[known]), np.bincount(unit)
    share = clustered_share(chosen, pairs, alpha)
    varies = share.std_error > SAME
    error = share.std_error if varies else np.nan
    z = (share.estimate - 0.5) / error
    p = 2 * ndtr(-abs(z)) if varies else sign_test(2 * chosen - pairs)
    return pd.DataFrame(
        {
            "position": "A",
            "pairs": int(known.sum()),
            "clusters": len(pairs),
            "estimate": share.estimate,
            "std_error": error,
            "z": z,
            "p": p,
            "lower": share.lower,
            "upper": share.upper,
        },
        index=[0],
    )


PROFILE_ORDER = Question(
    "CJ304",
    "profile_order",
    "Profile-order effects",
    "Are AMCEs the same for the profile in position A and the one in position B?",
    "Effects are averages over two different effects.",
    "Report AMCEs by position and pooled, and show every pair in both orders where judges can "
    "be asked again.",
    "test",
)


@check(PROFILE_ORDER)
def profile_order(judged: Sequence[Judged], alpha: float) -> Check:
    """Test AMCEs in B minus those in A jointly, for every judge and prompt."""
    done, notes = attempt(
        judged, lambda group: _order_rows(group, alpha), "No judge's effects can be estimated by position."
    )
    return judge_differences(PROFILE_ORDER, done, notes, alpha, "effects that differ between positions")


def _order_rows(group: Judged, alpha: float) -> pd.DataFrame:
    rows = group.answered.assign(position=group.answered["position"].astype("category"))
    found = group_effects(rows, group.formula, "position", group.unit)
    estimate, vcov = found.contrast(np.array([-1.0, 1.0]))
    keys = found.keys.assign(amce_a=found.estimate[0], amce_b=found.estimate[1])
    return difference_frame(keys, estimate, vcov, found.clusters, alpha)


STRAIGHT_LINING = Question(
    "CJ204",
    "straight_lining",
    "Straight-lining",
    "Do respondents choose the same position in a row more often than expected by chance?",
    "Answers that do not depend on the profiles pull all effects towards zero.",
    "Report AMCEs without respondents who always chose one position; set the rule for excluding them "
    "before looking at the effects.",
    "test",
)
MODELS = "A model's answers have no sequence; its preference for a position is a separate check."
RARE = 0.01  # chance that a respondent's longest run reaches the length that counts as long
MANY = 0.05


@check(STRAIGHT_LINING)
def straight_lining(judged: Sequence[Judged], alpha: float) -> Check:
    """Compare longest runs of one side with their exact distribution, for every panel."""
    people = people_of(judged, MODELS)
    done, notes = attempt(people, _run_rows)
    table = tidy(done)
    panels = table.drop_duplicates(["judge", "prompt"]).reset_index(drop=True)
    panels["p_adjusted"] = adjusted(panels["p"].to_numpy())
    table = table.merge(panels[["judge", "prompt", "p_adjusted"]], on=["judge", "prompt"])
    worst = highest(panels, panels["share_straight"])
    p = float(panels["p_adjusted"].min())
    finding = (
        f"{int(worst['straight'])} of {int(worst['of'])} respondents "
        f"({100 * worst['share_straight']:.1f}%) always chose one position ({who(worst)}; chance: "
        f"{worst['straight_expected']:.1f}); {int(worst['long'])} have a long run, expected for "
        f"{worst['long_expected']:.1f} (smallest adjusted {said_p(p)})."
    )
    found = p < alpha
    many = found and float(worst["share_straight"]) > MANY
    return STRAIGHT_LINING.answer(table, "error" if many else "warning" if found else "pass", finding, notes)


def longest_runs(first: np.ndarray, respondent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Longest run of one side and number of choices of each respondent, each of shape (respondents,)."""
    known = ~np.isnan(first)
    side, unit = first[known], respondent[known]
    n = int(respondent.max()) + 1
    new = np.append(True, (side[1:] != side[:-1]) | (unit[1:] != unit[:-1]))
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(side)))
    longest = np.zeros(n, dtype=np.int64)
    np.maximum.at(longest, unit[starts], lengths)
    return longest, np.bincount(unit, minlength=n)


def longest_run_distribution(n: int, share: float) -> np.ndarray:
    """Probability of each longest run, shape (n + 1,), in n independent choices with P(A) = ``share``."""
    at_most = np.zeros(n + 1)
    chance = np.array([share, 1 - share])
    for limit in range(1, n + 1):
        state = np.zeros((2, limit))  # by side and length of the present run
        state[:, 0] = chance
        for _ in range(n - 1):
            longer = state[:, :-1] * chance[:, None]
            other = state.sum(axis=1)[::-1] * chance
            state = np.column_stack([other, longer])
        at_most[limit] = state.sum()
    return np.diff(at_most, prepend=0.0)


def _run_rows(group: Judged) -> pd.DataFrame:
    respondent = codes(group.rows["judge_id"]).reshape(-1, 2)[:, 0]
    longest, choices = longest_runs(group.first_chosen, respondent)
    enough = choices >= 3
    if not enough.any():
        raise InputError("no respondent has three choices.")
    share = float(np.nanmean(group.first_chosen))
    most = int(choices.max())
    expected, chance_long = np.zeros(most + 1), np.zeros(len(choices))
    is_long, straight_expected = np.zeros(len(choices), dtype=bool), 0.0
    for n in np.unique(choices[enough]):
        own, size = longest_run_distribution(int(n), share), int((choices == n).sum())
        expected[: n + 1] += size * own
        straight_expected += size * own[n]
        tail = np.append(own[::-1].cumsum()[::-1], 0.0)
        limit = int(np.argmax(tail < RARE))
        of_n = choices == n
        chance_long[of_n] = tail[limit]
        is_long[of_n] = longest[of_n] >= limit
    chance = float(chance_long[enough].mean())
    long = int(is_long[enough].sum())
    straight = int(((longest == choices) & enough).sum())
    observed = np.bincount(longest[enough], minlength=most + 1)
    return pd.DataFrame(
        {
            "run": np.arange(1, most + 1),
            "respondents": observed[1:],
            "expected": expected[1:],
            "of": int(enough.sum()),
            "straight": straight,
            "straight_expected": straight_expected,
            "share_straight": straight / enough.sum(),
            "long": long,
            "long_expected": chance * enough.sum(),
            "p": float(binom.sf(long - 1, int(enough.sum()), chance)),
        }
    )


TASK_ORDER = Question(
    "CJ305",
    "task_order",
    "Task-order effects",
    "Are AMCEs the same early and late in the questionnaire?",
    "Effects are averages over early and late tasks that differ.",
    "Report AMCEs of the first tasks and of all tasks, look for fatigue or learning, and ask fewer "
    "tasks of each respondent next time.",
    "test",
)


NO_ORDER = "A model answers each pair in a separate request, so tasks have no order."


@check(TASK_ORDER)
def task_order(judged: Sequence[Judged], alpha: float) -> Check:
    """Test AMCEs of later tasks against those of earlier ones, and their linear trend, jointly."""
    people = [group for group in judged if has_tasks(group)]
    if not people:
        return TASK_ORDER.not_applicable(NO_ORDER)
    done, notes = attempt(people, lambda group: _task_rows(group, alpha))
    return judge_differences(TASK_ORDER, done, notes, alpha, "effects that change over tasks", "test")


def has_tasks(group: Judged) -> bool:
    """Whether a judge's tasks are numbered and more than one."""
    return "task" in group.rows and group.rows["task"].nunique() > 1


def trend_weights(task: np.ndarray) -> np.ndarray:
    """Weights, shape (g,), that turn effects at task numbers (g,) into the change from first to last.

    It is the least-squares slope times the range of the task numbers.
    """
    centred = task - task.mean()
    return np.asarray(centred / (centred @ centred) * np.ptp(task))


def _task_rows(group: Judged, alpha: float) -> pd.DataFrame:
    task = group.answered["task"].to_numpy(dtype=float, na_value=np.nan)
    numbers = np.unique(task[~np.isnan(task)])
    half = np.where(task > np.median(numbers), "later", "earlier")
    rows = group.answered.assign(half=pd.Categorical(half, ["earlier", "later"]))
    found = group_effects(rows[~np.isnan(task)], group.formula, "half", group.unit)
    frames = [_frame(found, np.array([-1.0, 1.0]), "later half less earlier half", alpha)]
    with suppress(InputError):  # small panels lack levels in some tasks
        labels = [f"{number:g}" for number in numbers]
        each = pd.Categorical.from_codes(np.searchsorted(numbers, task), pd.Index(labels))
        by_task = group_effects(
            group.answered.assign(task_number=each), group.formula, "task_number", group.unit
        )
        weights = trend_weights(np.array([float(name) for name in by_task.groups]))
        frames.append(_frame(by_task, weights, "linear trend from first to last task", alpha))
    return pd.concat(frames, ignore_index=True)


def _frame(found: GroupEffects, weights: np.ndarray, test: str, alpha: float) -> pd.DataFrame:
    estimate, vcov = found.contrast(weights)
    frame = difference_frame(found.keys, estimate, vcov, found.clusters, alpha)
    frame.insert(0, "test", test)
    return frame


CARRY_OVER = Question(
    "CJ306",
    "carry_over",
    "Carry-over between tasks",
    "Is a choice independent of what was shown and chosen in the previous task?",
    "Answers of one respondent depend on earlier tasks, so tasks are not independent.",
    "Compare AMCEs of first tasks with those of all tasks.",
    "test",
)


SIDE = "same side as in the task before"


SHOWN = "level was shown in the task before"


REMEDIES = {
    SIDE: "Compare AMCEs of first tasks with those of all tasks, randomise positions in every task, and "
    "look at respondents who always choose one position.",
    SHOWN: "Compare AMCEs of first tasks with those of all tasks, and keep a level from occurring twice in a "
    "row, or put something else between tasks, where the questionnaire is used again.",
}


@check(CARRY_OVER)
def carry_over(judged: Sequence[Judged], alpha: float) -> Check:
    """Test whether sides repeat, and whether levels shown before are chosen more or less."""
    people = [group for group in judged if has_tasks(group)]
    if not people:
        return CARRY_OVER.not_applicable(NO_ORDER)
    done, notes = attempt(people, lambda group: _carry_rows(group, alpha))
    return judge_differences(
        CARRY_OVER, done, notes, alpha, "an effect of the previous task", "test", REMEDIES
    )


def repeated_sides(first: np.ndarray, respondent: np.ndarray) -> tuple[float, float, int]:
    """How much likelier the side of the task before is than the side of two tasks before.

    Respondents with a preference for a side repeat it at any distance; carry-over repeats
    the last side more than the one before it.
    """
    near, far = (_same(first, respondent, lag) for lag in (1, 2))
    units, unit = np.unique(respondent, return_inverse=True)
    sums = []
    for same in (near, far):
        known = ~np.isnan(same)
        sums.append(
            (
                np.bincount(unit[known], same[known], len(units)),
                np.bincount(unit[known], minlength=len(units)),
            )
        )
    (hits_near, n_near), (hits_far, n_far) = sums
    used = (n_near > 0) & (n_far > 0)
    g = int(used.sum())
    if g < 2:
        raise InputError("no respondent has three tasks in a row.")
    shares = [hits[used].sum() / n[used].sum() for hits, n in sums]
    influence = (hits_near - shares[0] * n_near)[used] / n_near[used].sum()
    influence = influence - (hits_far - shares[1] * n_far)[used] / n_far[used].sum()
    error = float(np.sqrt((influence**2).sum() * g / (g - 1)))
    return float(shares[0] - shares[1]), error, g


def shown_before(level: np.ndarray, respondent: np.ndarray) -> np.ndarray:
    """Whether a profile's level stood on either side of the respondent's previous task."""
    previous = np.roll(level, 1, axis=0)
    same = (level[:, :, None] == previous[:, None, :]).any(axis=2).astype(np.int64)
    follows = np.append(False, respondent[1:] == respondent[:-1])
    return np.where(follows[:, None], same, -1)


def _same(first: np.ndarray, respondent: np.ndarray, lag: int) -> np.ndarray:
    """Whether a side is that of ``lag`` tasks before, shape (pairs,), NaN if unknown."""
    same = np.full(len(first), np.nan)
    now, then = first[lag:], first[:-lag]
    known = (respondent[lag:] == respondent[:-lag]) & ~np.isnan(now) & ~np.isnan(then)
    same[lag:][known] = (now == then)[known]
    return same


def _carry_rows(group: Judged, alpha: float) -> pd.DataFrame:
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
    found = amce(rows[follows], f"{group.formula} + {' + '.join(lagged)}", id=list(group.unit))
    frame, vcov = errors_of(found, lagged)
    keys = pd.DataFrame(
        {
            "test": SHOWN,
            "feature": frame["feature"].astype(str).str.removesuffix("_before"),
            "level": "shown before",
        }
    )
    clusters = cluster_count(found)
    shown = difference_frame(keys, frame["estimate"].to_numpy(), vcov, clusters, alpha)
    return pd.concat([side, shown], ignore_index=True)
