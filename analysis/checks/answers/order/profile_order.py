"""Effects by position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ....conjoint.comparisons.effects_by_group import group_effects
from ...group_effects import difference_frame, judge_differences
from ...judged import JudgedChoices, attempt
from ...registry import Check, Question, check

PROFILE_ORDER = Question(
    code="CJ304",
    name="profile_order",
    title="Profile-order effects",
    text="Are AMCEs the same for the profile in position A and the one in position B?",
    consequence="An AMCE is an average of two different effects, one for each position.",
    remedy="Report AMCEs by position and pooled, and show every pair in both orders where further "
    "answers can be collected.",
    alarms="test",
)


@check(PROFILE_ORDER)
def profile_order(judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Test AMCEs in B minus those in A jointly, for every judge and prompt."""
    done, notes = attempt(
        judged, lambda group: _order_rows(group, alpha), "No judge's effects can be estimated by position."
    )
    return judge_differences(PROFILE_ORDER, done, notes, alpha, "effects that differ between positions")


def _order_rows(group: JudgedChoices, alpha: float) -> pd.DataFrame:
    rows = group.answered.assign(position=group.answered["position"].astype("category"))
    effects = group_effects(rows, group.formula, "position", group.unit)
    estimate, vcov = effects.contrast(np.array([-1.0, 1.0]))
    keys = effects.keys.assign(amce_a=effects.estimate[0], amce_b=effects.estimate[1])
    return difference_frame(keys, estimate, vcov, effects.clusters, alpha)
