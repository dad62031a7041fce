"""Preference for a position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import t as t_distribution

from conjury.inference.errors import InputError

from ....conjoint.reliability.agreeing_repeats import clustered_share, sign_test
from ....figures.labels import level_at
from ....frames.notes import Note
from ....frames.rounding import percentage
from ....numerics.intervals import SAME
from ...judged import JudgedChoices, attempt, tidy
from ...registry import Check, Question, adjusted, check, groups, highest, show_p, who

POSITION_SHARE = Question(
    code="CJ303",
    name="position_share",
    title="Preference for a position",
    text="Is the profile in position A chosen as often as the one in position B?",
    consequence="Answers depend on the position. This attenuates effects, and biases them if levels are "
    "unbalanced over positions.",
    remedy="Show every pair in both orders and average, or add position to the model; a preference for a "
    "position does not bias AMCEs under random positions, but attenuates them.",
    alarms="test",
)
SEVERE = 0.1  # distance from 1/2 beyond which a preference is an error


@check(POSITION_SHARE)
def position_share(judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Test the share of A against one half, for every judge and prompt."""
    done, notes = attempt(judged, lambda group: _share_of_a(group, alpha), "There are no choices.")
    table = tidy(done)
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    furthest = highest(table, (table["estimate"] - 0.5).abs())
    is_significant = (table["p_adjusted"] < alpha).to_numpy()
    finding = Note.of(
        "A position is preferred by {n} of {groups}; the furthest from one half is {who} with "
        "{share} for A ({confidence} interval {lower:.1f} to {upper:.1f}, adjusted {p}).",
        n=int(is_significant.sum()),
        groups=groups(len(table)),
        who=who(furthest),
        share=percentage(furthest["estimate"], 1),
        confidence=level_at(alpha),
        lower=100 * furthest["lower"],
        upper=100 * furthest["upper"],
        p=show_p(float(furthest["p_adjusted"])),
    )
    severe = is_significant & ((table["estimate"] - 0.5).abs() > SEVERE).to_numpy()
    return POSITION_SHARE.answer(
        table,
        "error" if severe.any() else "warning" if is_significant.any() else "pass",
        finding,
        notes,
        p=float(table["p_adjusted"].min()),
    )


def _share_of_a(group: JudgedChoices, alpha: float) -> pd.DataFrame:
    """Share of A with Wilson's limits; where every answer is the same, p is that of the exact sign test."""
    has_choice = ~np.isnan(group.first_chosen)
    if not has_choice.any():
        raise InputError("there is no choice.")
    _, unit = np.unique(group.respondents()[has_choice], return_inverse=True)
    chosen, pairs = np.bincount(unit, group.first_chosen[has_choice]), np.bincount(unit)
    share = clustered_share(chosen, pairs, alpha)
    varies = share.std_error > SAME
    error = share.std_error if varies else np.nan
    # With few respondents the clustered standard error is uncertain and may be small by chance: hence
    # Student's t, and no less than the standard error of independent choices.
    z = (share.estimate - 0.5) / max(error, 0.5 / np.sqrt(pairs.sum())) if varies else np.nan
    p = 2 * t_distribution.sf(abs(z), len(pairs) - 1) if varies else sign_test(2 * chosen - pairs)
    return pd.DataFrame(
        {
            "position": "A",
            "pairs": int(has_choice.sum()),
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
