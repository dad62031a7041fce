"""Agreement of choices on pairs that are shown again."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import listed

from ..conjoint.reliability.repeats import SWAPPED, find_repeats
from ..conjoint.reliability.rows import swapping_of, verdict
from .check import Check, Question, Verdict, groups, lowest, who
from .judged import Judged, attempt, tidy

QUESTION = Question(
    "repeat_agreement",
    "Agreement on repeated pairs",
    "Is the same profile chosen when a pair is shown again?",
    "Correct AMCEs for measurement error by the reliability found here, and report them beside the plain "
    "ones; look at respondents who disagree with themselves and at the wording of the task.",
)
NOT_CORRECTABLE = (
    "Do not correct the AMCEs of {judges} for measurement error: repeated answers agree no better than "
    "chance, so there is no stable preference to recover. Look at the preference for a position, at the "
    "wording of the task and at respondents who disagree with themselves."
)
NO_REPEAT = "No pair was shown a second time, so neither noise nor inattention can be told from taste."
LOW = 0.75


def repeat_agreement(judged: Sequence[Judged], alpha: float) -> Check:
    """Share of repeated pairs with the same choice, and the most inattention it allows."""
    repeated = [group for group in judged if len(group.repeats) or len(group.shown) < len(group.rows)]
    if not repeated:
        return QUESTION.not_applicable(NO_REPEAT)
    done, notes = attempt(repeated, lambda group: _of_judge(group, alpha))
    if not done:
        return QUESTION.not_applicable(" ".join(notes))
    table = tidy(done)
    least = lowest(table, table["estimate"])
    without = len(judged) - len(repeated)
    meaning = (
        "this is below chance, as where choices follow the position of a profile."
        if least["upper"] < 0.5
        else f"this would be consistent with {100 * least['random_share']:.1f}% random answers."
    )
    finding = (
        f"The least agreement is {100 * least['estimate']:.1f}% of {int(least['repeats']):,} repeated pairs "
        f"({who(least)}; {100 * (1 - alpha):g}% interval {100 * least['lower']:.1f} to "
        f"{100 * least['upper']:.1f}); {meaning}"
    )
    if without:
        finding += f" There is no repeated pair for {groups(without)}."
    chance = (table["lower"] <= 0.5).any()
    severity: Verdict = "fail" if chance else "look" if (table["estimate"] < LOW).any() else "pass"
    return QUESTION.answer(table, severity, finding, notes, _remedy(table))


def _remedy(table: pd.DataFrame) -> str:
    """Advise a correction only for judges whose effects can be corrected."""
    low = table[(table["estimate"] < LOW) | (table["lower"] <= 0.5)]
    lost = listed(who(row) for _, row in low[~low["correctable"]].iterrows())
    parts = [NOT_CORRECTABLE.format(judges=lost)] if lost else []
    if low["correctable"].any():
        parts.append(f"For the other judges: {QUESTION.remedy}" if lost else QUESTION.remedy)
    return " ".join(parts)


def _of_judge(group: Judged, alpha: float) -> pd.DataFrame:
    both = pd.concat([group.rows, group.repeats])
    identified = both["profile_id"].notna().all()
    content = None if identified else [*group.attributes, *group.stimuli]
    found = find_repeats(both, outcome=group.outcome, features=content)
    error = swapping_of(found.pairs, alpha=alpha)
    if not error.n_compared:
        raise InputError("no repeated pair has a first presentation with an answer to both.")
    known = found.pairs[found.pairs["same"].notna()]
    share = error.agreement
    return pd.DataFrame(
        {
            "repeats": [error.n_compared],
            "unmatched": [len(found.unmatched)],
            "swapped": [int((known["sides"] == SWAPPED).sum())],
            "agreed": [int(known["same"].sum())],
            "estimate": [share.estimate],
            "lower": [share.lower],
            "upper": [share.upper],
            "random_share": [min(2 * (1 - share.estimate), 1.0)],
            "correctable": [verdict(swapping_of(found.pairs), len(found.pairs)).correctable],
        }
    )
