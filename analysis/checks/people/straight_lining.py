"""Runs of one position in a respondent's choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import binom

from conjury.inference.errors import InputError

from ...frames.notes import Note
from ...frames.rounding import percentage
from ..judged import JudgedChoices, attempt, codes, people_of, tidy
from ..registry import Check, Question, Verdict, adjusted, check, highest, show_p, who

STRAIGHT_LINING = Question(
    code="CJ204",
    name="straight_lining",
    title="Straight-lining",
    text="Do respondents choose the same position in a row more often than expected by chance?",
    consequence="Answers that do not depend on the profiles attenuate all effects.",
    remedy="Report AMCEs without respondents who always chose one position; set the rule of exclusion before "
    "looking at the effects.",
    alarms="test",
)
MODELS = "A model's answers have no sequence; its preference for a position is a separate check."
RARE = 0.01  # chance that a respondent's longest run reaches the length that counts as long
MANY = 0.05


@check(STRAIGHT_LINING)
def straight_lining(judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Compare longest runs of one side with their exact distribution, for every panel."""
    people = people_of(judged, MODELS)
    done, notes = attempt(people, _run_rows)
    table = tidy(done)
    panels = table.drop_duplicates(["judge", "prompt"]).reset_index(drop=True)
    panels["p_adjusted"] = adjusted(panels["p"].to_numpy())
    table = table.merge(panels[["judge", "prompt", "p_adjusted"]], on=["judge", "prompt"])
    worst = highest(panels, panels["share_straight"])
    p = float(panels["p_adjusted"].min())
    finding = Note.of(
        "{straight} of {of} respondents ({share}) always chose one position ({who}; chance: "
        "{straight_expected:.1f}); {long} have a run in one position of at least {long_from} "
        "tasks, so long that chance gives it to fewer than {rare:.0%} ({long_expected:.1f} are "
        "expected; smallest adjusted {p}).",
        straight=int(worst["straight"]),
        of=int(worst["of"]),
        share=percentage(worst["share_straight"], 1),
        who=who(worst),
        straight_expected=worst["straight_expected"],
        long=int(worst["long"]),
        long_from=int(worst["long_from"]),
        rare=RARE,
        long_expected=worst["long_expected"],
        p=show_p(p),
    )
    is_significant = p < alpha
    many = is_significant and float(worst["share_straight"]) > MANY
    verdict: Verdict = "error" if many else "warning" if is_significant else "pass"
    return STRAIGHT_LINING.answer(table, verdict, finding, notes, p=p)


def longest_runs(first: np.ndarray, respondent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Longest run of one side and number of choices of each respondent, each of shape (respondents,)."""
    has_choice = ~np.isnan(first)
    side, unit = first[has_choice], respondent[has_choice]
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
            switches = state.sum(axis=1)[::-1] * chance
            state = np.column_stack([switches, longer])
        at_most[limit] = state.sum()
    return np.diff(at_most, prepend=0.0)


def _run_rows(group: JudgedChoices) -> pd.DataFrame:
    respondent = codes(group.rows["judge_id"]).reshape(-1, 2)[:, 0]
    longest, choices = longest_runs(group.first_chosen, respondent)
    enough = choices >= 3
    if not enough.any():
        raise InputError("no respondent has three choices.")
    share = float(np.nanmean(group.first_chosen))
    most = int(choices.max())
    expected, chance_long = np.zeros(most + 1), np.zeros(len(choices))
    shortest = most
    is_long, straight_expected = np.zeros(len(choices), dtype=bool), 0.0
    for n in np.unique(choices[enough]):
        distribution, size = longest_run_distribution(int(n), share), int((choices == n).sum())
        expected[: n + 1] += size * distribution
        straight_expected += size * distribution[n]
        tail = np.append(distribution[::-1].cumsum()[::-1], 0.0)
        limit = int(np.argmax(tail < RARE))
        shortest = min(shortest, limit)
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
            "long_from": shortest,
            "long_expected": chance * enough.sum(),
            "p": float(binom.sf(long - 1, int(enough.sum()), chance)),
        }
    )
