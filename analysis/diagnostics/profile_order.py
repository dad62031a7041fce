"""Profile-order effects: AMCEs in position A against those in position B."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .check import Check, Question
from .group_effects import group_effects
from .joint_differences import difference_frame, judge_differences
from .judged import Judged, attempt

QUESTION = Question(
    "profile_order",
    "Profile-order effects",
    "Are AMCEs the same for the profile in position A and the one in position B?",
    "Report AMCEs by position beside the pooled ones, and show every pair in both orders where judges can "
    "be asked again.",
)


def profile_order(judged: Sequence[Judged], alpha: float) -> Check:
    """Test AMCEs in B minus those in A jointly, for every judge and prompt."""
    done, notes = attempt(judged, lambda group: _of_judge(group, alpha))
    if not done:
        return QUESTION.not_applicable("No judge's effects can be estimated by position. " + " ".join(notes))
    return judge_differences(QUESTION, done, notes, alpha, "effects that differ between positions")


def _of_judge(group: Judged, alpha: float) -> pd.DataFrame:
    rows = group.answered.assign(position=group.answered["position"].astype("category"))
    found = group_effects(rows, group.formula, "position", group.unit)
    estimate, vcov = found.contrast(np.array([-1.0, 1.0]))
    keys = found.keys.assign(amce_a=found.estimate[0], amce_b=found.estimate[1])
    return difference_frame(keys, estimate, vcov, found.clusters, alpha)
