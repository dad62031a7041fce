"""Agreement of judges with themselves on repeated pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr

from conjury.inference.errors import InputError

from ...conjoint.reliability.agreeing_repeats import swapping_of, verdict
from ...conjoint.reliability.repeats import SWAPPED, find_repeats
from ...figures.labels import level_at
from ...frames.notes import Note, join_notes
from ...frames.rounding import percentage
from ...numerics.intervals import SAME
from ..judged import JudgedChoices, attempt, tidy
from ..registry import Check, Question, Verdict, adjusted, check, groups, lowest, who

REPEAT_AGREEMENT = Question(
    code="CJ202",
    name="repeat_agreement",
    title="Agreement on repeated pairs",
    text="Is the same profile chosen when a pair is shown again?",
    consequence="Unreliable answers attenuate all effects.",
    remedy="Correct AMCEs for measurement error by this reliability, and report them with the uncorrected "
    "ones; examine respondents with differing answers and the wording of the task.",
    alarms="test",
)
NOT_CORRECTABLE = (
    "Do not correct the AMCEs of {judges} for measurement error: repeated answers agree no better than "
    "chance, so no stable preference can be estimated. Examine the preference for a position, the wording of "
    "the task and respondents with differing answers."
)
NO_REPEAT = "No pair was repeated, so noise and inattention cannot be separated from preferences."
LOW = 0.75  # agreement of repeats in surveys is about this (Clayton et al. 2025)


@check(REPEAT_AGREEMENT)
def repeat_agreement(judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Share of repeated pairs with the same choice, and the most inattention it allows."""
    repeated = [group for group in judged if len(group.repeats) or len(group.shown) < len(group.rows)]
    if not repeated:
        return REPEAT_AGREEMENT.not_applicable(NO_REPEAT)
    done, notes = attempt(repeated, lambda group: _repeat_rows(group, alpha))
    table = tidy(done)
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    least = lowest(table, table["estimate"])
    without = len(judged) - len(repeated)
    meaning = (
        "this is below chance, which occurs if choices follow the position of a profile."
        if least["upper"] < 0.5
        else Note.of(
            "this would be consistent with {share} random answers.",
            share=percentage(least["random_share"], 1),
        )
    )
    finding = Note.of(
        "The lowest agreement is {share} of {repeats:,} repeated pairs ({who}; {confidence} "
        "interval {lower:.1f} to {upper:.1f}); {meaning}",
        share=percentage(least["estimate"], 1),
        repeats=int(least["repeats"]),
        who=who(least),
        confidence=level_at(alpha),
        lower=100 * least["lower"],
        upper=100 * least["upper"],
        meaning=meaning,
    )
    if without:
        finding = join_notes(
            [finding, Note.of("There is no repeated pair for {groups}.", groups=groups(without))]
        )
    low = (table["p_adjusted"] < alpha).to_numpy()
    chance = low & (table["lower"] <= 0.5).to_numpy()
    severity: Verdict = "error" if chance.any() else "warning" if low.any() else "pass"
    p = float(table["p_adjusted"].min())
    return REPEAT_AGREEMENT.answer(
        table, severity, finding, notes, _remedy(table[table["estimate"] < LOW]), p=p
    )


def p_of_low_agreement(agreement: float, std_error: float, n: int) -> float:
    """One-sided p value of an agreement of n repeats against one of at least 75%."""
    # Its standard error is that of 75% in as many independent repeats as the clustered standard error
    # implies.
    varies = std_error > SAME
    independent = min(agreement * (1 - agreement) / std_error**2, n) if varies else n
    return float(ndtr((agreement - LOW) / np.sqrt(LOW * (1 - LOW) / independent)))


def _remedy(low: pd.DataFrame) -> str:
    """Advise a correction only for judges whose effects can be corrected."""
    judges = [who(row) for _, row in low[~low["correctable"]].iterrows()]
    parts = [Note.of(NOT_CORRECTABLE, judges=judges)] if judges else []
    if low["correctable"].any():
        remedy = Note(REPEAT_AGREEMENT.remedy)
        parts.append(Note.of("For the other judges: {remedy}", remedy=remedy) if judges else remedy)
    return join_notes(parts)


def _repeat_rows(group: JudgedChoices, alpha: float) -> pd.DataFrame:
    rows = pd.concat([group.rows, group.repeats])
    identified = rows["profile_id"].notna().all()
    content = None if identified else [*group.attributes, *group.stimuli]
    repeats = find_repeats(rows, outcome=group.outcome, features=content)
    error = swapping_of(repeats.pairs, alpha=alpha)
    if not error.n_compared:
        raise InputError("no repeated pair has a first presentation with an answer to both.")
    pairs = repeats.pairs[repeats.pairs["same"].notna()]
    share = error.agreement
    return pd.DataFrame(
        {
            "repeats": [error.n_compared],
            "unmatched": [len(repeats.unmatched)],
            "swapped": [int((pairs["sides"] == SWAPPED).sum())],
            "agreed": [int(pairs["same"].sum())],
            "estimate": [share.estimate],
            "lower": [share.lower],
            "upper": [share.upper],
            "p": [p_of_low_agreement(share.estimate, share.std_error, error.n_compared)],
            "random_share": [min(2 * (1 - share.estimate), 1.0)],
            "correctable": [verdict(swapping_of(repeats.pairs), len(repeats.pairs)).correctable],
        }
    )
