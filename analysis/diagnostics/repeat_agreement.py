"""Agreement of choices on pairs that are shown again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..conjoint.reliability.agreement import clustered_share
from ..conjoint.reliability.repeats import SWAPPED, find_repeats
from .check import Check, Question, Verdict, groups, lowest, who
from .judged import Judged, attempt, tidy

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
    meaning = (
        "less than chance gives, as where choices follow the side on which a profile stands."
        if least["upper"] < 0.5
        else f"if all of it were inattention, {100 * least['random_share']:.1f}% of answers would be "
        "given at random."
    )
    finding = (
        f"The least agreement is {100 * least['estimate']:.1f}% of {int(least['repeats']):,} repeated pairs "
        f"({who(least)}; {100 * (1 - alpha):g}% interval {100 * least['lower']:.1f} to "
        f"{100 * least['upper']:.1f}); {meaning}"
    )
    if without:
        finding += f" There is no repeated pair for {groups(without)}."
    chance = (table["lower"] <= 0.5).any()
    verdict: Verdict = "fail" if chance else "look" if (table["estimate"] < LOW).any() else "pass"
    return QUESTION.answer(table, verdict, finding, notes)


def _of_judge(group: Judged, alpha: float) -> pd.DataFrame:
    both = pd.concat([group.rows, group.repeats])
    identified = both["profile_id"].notna().all()
    content = None if identified else [*group.attributes, *group.stimuli]
    found = find_repeats(both, outcome=group.outcome, features=content)
    n = len(group.rows)
    pairs = found.pairs[(found.pairs["row_a"] < n) & (found.pairs["row_a_again"] >= n)]
    known = pairs[pairs["same"].notna()]
    if known.empty:
        raise InputError("no repeated pair has a first presentation with an answer to both.")
    _, unit = np.unique(known["unit"], return_inverse=True)
    same = known["same"].to_numpy()
    share = clustered_share(np.bincount(unit, same), np.bincount(unit).astype(float), alpha)
    return pd.DataFrame(
        {
            "repeats": [len(known)],
            "unmatched": [len(found.unmatched)],
            "swapped": [int((known["sides"] == SWAPPED).sum())],
            "agreed": [int(same.sum())],
            "estimate": [share.estimate],
            "lower": [share.lower],
            "upper": [share.upper],
            "random_share": [min(2 * (1 - share.estimate), 1.0)],
        }
    )
