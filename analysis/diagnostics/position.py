"""Positions A and B: preferences for one, effects that depend on it, respondents who never change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import binom

from conjury.inference.errors import InputError

from ..conjoint.reliability.agreement import clustered_share, sign_test
from ..numerics.intervals import SAME
from .check import Check, Question, adjusted, check, groups, highest, said_p, who
from .effects import difference_frame, group_effects, judge_differences
from .judged import Judged, attempt, codes, tidy

POSITION_SHARE = Question(
    70,
    "position_share",
    "Preference for a position",
    "Is the profile in position A chosen as often as the one in position B?",
    "Show every pair in both orders and average, or add position to the model; a preference for a position "
    "does not bias AMCEs under random positions, but attenuates them.",
)
SEVERE = 0.1


@check(POSITION_SHARE)
def position_share(judged: Sequence[Judged], alpha: float) -> Check:
    """Test the share of A against one half, for every judge and prompt."""
    done, notes = attempt(judged, lambda group: _share(group, alpha))
    if not done:
        return POSITION_SHARE.not_applicable("No judge made a choice. " + " ".join(notes))
    table = tidy(done)
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    furthest = highest(table, (table["estimate"] - 0.5).abs())
    found = (table["p_adjusted"] < alpha).to_numpy()
    finding = (
        f"A position is preferred by {int(found.sum())} of {groups(len(table))}; the furthest from "
        f"one half is {who(furthest)} with {100 * furthest['estimate']:.1f}% for A (95% interval "
        f"{100 * furthest['lower']:.1f} to {100 * furthest['upper']:.1f}, adjusted "
        f"{said_p(float(furthest['p_adjusted']))})."
    ).replace("95%", f"{100 * (1 - alpha):g}%")
    severe = found & ((table["estimate"] - 0.5).abs() > SEVERE).to_numpy()
    return POSITION_SHARE.answer(
        table, "fail" if severe.any() else "look" if found.any() else "pass", finding, notes
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
    80,
    "profile_order",
    "Profile-order effects",
    "Are AMCEs the same for the profile in position A and the one in position B?",
    "Report AMCEs by position and pooled, and show every pair in both orders where judges can "
    "be asked again.",
)


@check(PROFILE_ORDER)
def profile_order(judged: Sequence[Judged], alpha: float) -> Check:
    """Test AMCEs in B minus those in A jointly, for every judge and prompt."""
    done, notes = attempt(judged, lambda group: _order_rows(group, alpha))
    if not done:
        return PROFILE_ORDER.not_applicable(
            "No judge's effects can be estimated by position. " + " ".join(notes)
        )
    return judge_differences(PROFILE_ORDER, done, notes, alpha, "effects that differ between positions")


def _order_rows(group: Judged, alpha: float) -> pd.DataFrame:
    rows = group.answered.assign(position=group.answered["position"].astype("category"))
    found = group_effects(rows, group.formula, "position", group.unit)
    estimate, vcov = found.contrast(np.array([-1.0, 1.0]))
    keys = found.keys.assign(amce_a=found.estimate[0], amce_b=found.estimate[1])
    return difference_frame(keys, estimate, vcov, found.clusters, alpha)


STRAIGHT_LINING = Question(
    130,
    "straight_lining",
    "Straight-lining",
    "Do respondents choose the same position in a row more often than expected by chance?",
    "Report AMCEs without respondents who always chose one position; set the rule for excluding them "
    "before looking at the effects.",
)
MODELS = "A model's answers have no sequence; its preference for a position is a separate check."
RARE = 0.01  # chance that a respondent's longest run reaches the length that counts as long
MANY = 0.05


@check(STRAIGHT_LINING)
def straight_lining(judged: Sequence[Judged], alpha: float) -> Check:
    """Compare longest runs of one side with their exact distribution, for every panel."""
    people = [group for group in judged if group.kind == "human"]
    if not people:
        return STRAIGHT_LINING.not_applicable(MODELS)
    done, notes = attempt(people, _run_rows)
    if not done:
        return STRAIGHT_LINING.not_applicable(" ".join(notes))
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
    return STRAIGHT_LINING.answer(table, "fail" if many else "look" if found else "pass", finding, notes)


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
