"""Effects over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ....conjoint.comparisons.effects_by_group import GroupEffects, group_effects
from ...group_effects import difference_frame, judge_differences
from ...judged import JudgedChoices, attempt
from ...registry import Check, Question, check

TASK_ORDER = Question(
    code="CJ305",
    name="task_order",
    title="Task-order effects",
    text="Are AMCEs the same early and late in the questionnaire?",
    consequence="An AMCE is an average of different effects in early and late tasks.",
    remedy="Report AMCEs of the first tasks and of all tasks, consider fatigue or learning, and use fewer "
    "tasks per respondent in a further survey.",
    alarms="test",
)
NO_ORDER = "A model answers each pair in a separate request, so tasks have no order."


@check(TASK_ORDER)
def task_order(judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Test AMCEs of later tasks against those of earlier ones, and their linear trend, jointly."""
    people = [group for group in judged if has_tasks(group)]
    if not people:
        return TASK_ORDER.not_applicable(NO_ORDER)
    done, notes = attempt(people, lambda group: _task_rows(group, alpha))
    return judge_differences(TASK_ORDER, done, notes, alpha, "effects that change over tasks", "test")


def has_tasks(group: JudgedChoices) -> bool:
    """Whether a judge's tasks are numbered and more than one."""
    return "task" in group.rows and group.rows["task"].nunique() > 1


def trend_weights(task: np.ndarray) -> np.ndarray:
    """Weights, shape (g,), that turn effects at task numbers (g,) into the change from first to last."""
    # It is the least-squares slope times the range of the task numbers.
    centred = task - task.mean()
    return np.asarray(centred / (centred @ centred) * np.ptp(task))


def _task_rows(group: JudgedChoices, alpha: float) -> pd.DataFrame:
    task = group.answered["task"].to_numpy(dtype=float, na_value=np.nan)
    numbers = np.unique(task[~np.isnan(task)])
    half = np.where(task > np.median(numbers), "later", "earlier")
    rows = group.answered.assign(half=pd.Categorical(half, ["earlier", "later"]))
    by_half = group_effects(rows[~np.isnan(task)], group.formula, "half", group.unit)
    frames = [_frame(by_half, np.array([-1.0, 1.0]), "later half minus earlier half", alpha)]
    with suppress(InputError):  # small panels lack levels in some tasks
        labels = [f"{number:g}" for number in numbers]
        each = pd.Categorical.from_codes(np.searchsorted(numbers, task), pd.Index(labels))
        by_task = group_effects(
            group.answered.assign(task_number=each), group.formula, "task_number", group.unit
        )
        weights = trend_weights(np.array([float(name) for name in by_task.groups]))
        frames.append(_frame(by_task, weights, "linear trend from first to last task", alpha))
    return pd.concat(frames, ignore_index=True)


def _frame(effects: GroupEffects, weights: np.ndarray, test: str, alpha: float) -> pd.DataFrame:
    estimate, vcov = effects.contrast(weights)
    frame = difference_frame(effects.keys, estimate, vcov, effects.clusters, alpha)
    frame.insert(0, "test", test)
    return frame
