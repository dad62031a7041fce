"""Preference for position A or B."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr

from conjury.inference.errors import InputError

from ..conjoint.reliability.agreement import clustered_share, sign_test
from ..numerics.intervals import SAME
from .check import Check, Question, adjusted, groups, highest, said_p, who
from .judged import Judged, attempt, tidy

QUESTION = Question(
    "position_share",
    "Preference for a position",
    "Is the profile in position A chosen as often as the one in position B?",
    "Show every pair in both orders and average, or add position to the model; a preference for a side "
    "leaves AMCEs unbiased under random sides, but pulls them towards zero.",
)
SEVERE = 0.1


def position_share(judged: Sequence[Judged], alpha: float) -> Check:
    """Test the share of A against one half, for every judge and prompt."""
    done, notes = attempt(judged, lambda group: _share(group, alpha))
    if not done:
        return QUESTION.not_applicable("No judge made a choice. " + " ".join(notes))
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
    return QUESTION.answer(
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
