"""Agreement of choices on pairs that are shown again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from conjury.inference.errors import InputError

from .check import Check, Question, Verdict, lowest, who
from .judged import Judged, attempt, codes, first_chosen, tidy

QUESTION = Question(
    "repeat_agreement",
    "Agreement on repeated pairs",
    "Is the same profile chosen when a pair is shown again?",
    "Correct AMCEs for measurement error by the reliability found here, and report them beside the plain "
    "ones; look at respondents who disagree with themselves and at the wording of the task.",
)
NO_REPEAT = "No pair was shown a second time, so neither noise nor inattention can be told from taste."
LOW = 0.75


def repeat_agreement(judged: Sequence[Judged], alpha: float) -> Check:
    """Share of repeated pairs with the same choice, and the most inattention it allows."""
    repeated = [group for group in judged if len(group.repeats)]
    if not repeated:
        return QUESTION.not_applicable(NO_REPEAT)
    done, notes = attempt(repeated, lambda group: _of_judge(group, alpha))
    if not done:
        return QUESTION.not_applicable(" ".join(notes))
    table = tidy(done)
    least = lowest(table, table["estimate"])
    without = len(judged) - len(repeated)
    finding = (
        f"The least agreement is {100 * least['estimate']:.1f}% of {int(least['repeats']):,} repeated pairs "
        f"({who(least)}; {100 * (1 - alpha):g}% interval {100 * least['lower']:.1f} to "
        f"{100 * least['upper']:.1f}); if all of it were inattention, {100 * least['random_share']:.1f}% of "
        "answers would be given at random."
    )
    if without:
        finding += f" {without} judges and prompts have no repeated pair."
    chance = (table["lower"] <= 0.5).any()
    verdict: Verdict = "fail" if chance else "look" if (table["estimate"] < LOW).any() else "pass"
    return QUESTION.answer(table, verdict, finding, notes)


def match_repeats(
    respondent: np.ndarray, profiles: np.ndarray, again: np.ndarray, profiles_again: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the first presentation of each repeated pair, whichever way round it was shown.

    Parameters
    ----------
    respondent : ndarray of int, shape (pairs,)
    profiles : ndarray of int, shape (pairs, 2)
        Numbers of the profiles in A and B.
    again : ndarray of int, shape (repeats,)
    profiles_again : ndarray of int, shape (repeats, 2)

    Returns
    -------
    tuple of ndarray, each of shape (matched,)
        Row among pairs, row among repeats, and whether sides were swapped.

    Examples
    --------
    >>> found = match_repeats(np.array([0]), np.array([[4, 7]]), np.array([0]), np.array([[7, 4]]))
    >>> [part.tolist() for part in found]
    [[0], [0], [True]]
    """
    first, second = (
        pd.DataFrame(
            {"who": unit, "low": each.min(axis=1), "high": each.max(axis=1), "row": np.arange(len(each))}
        )
        for unit, each in ((respondent, profiles), (again, profiles_again))
    )
    keys = ["who", "low", "high"]
    found = second.merge(first.drop_duplicates(keys), on=keys, suffixes=("_again", ""))
    row, row_again = found["row"].to_numpy(), found["row_again"].to_numpy()
    return row, row_again, profiles[row, 0] != profiles_again[row_again, 0]


def _of_judge(group: Judged, alpha: float) -> pd.DataFrame:
    both = pd.concat([group.rows, group.repeats])
    identified = both["profile_id"].notna().all()
    content = ["profile_id"] if identified else [*group.attributes, *group.stimuli]
    profile = (
        both.groupby(content, sort=False, dropna=False, observed=True).ngroup().to_numpy().reshape(-1, 2)
    )
    unit = codes(both["judge_id"]).reshape(-1, 2)[:, 0]
    n = len(group.rows) // 2
    row, again, swapped = match_repeats(unit[:n], profile[:n], unit[n:], profile[n:])
    outcome = group.repeats[group.outcome].to_numpy(dtype=float, na_value=np.nan)
    second = first_chosen(outcome)[again]
    one, two = group.first_chosen[row], np.where(swapped, 1 - second, second)
    known = ~np.isnan(one) & ~np.isnan(two)
    if not known.any():
        raise InputError("no repeated pair has a first presentation with an answer to both.")
    agreed, repeats = int((one == two)[known].sum()), int(known.sum())
    limits = binomtest(agreed, repeats).proportion_ci(1 - alpha)
    share = agreed / repeats
    return pd.DataFrame(
        {
            "repeats": [repeats],
            "unmatched": [len(group.repeats) // 2 - len(row)],
            "swapped": [int(swapped[known].sum())],
            "agreed": [agreed],
            "estimate": [share],
            "lower": [float(limits.low)],
            "upper": [float(limits.high)],
            "random_share": [min(2 * (1 - share), 1.0)],
        }
    )
