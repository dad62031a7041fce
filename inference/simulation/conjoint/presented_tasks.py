"""What is put before simulated judges: tasks that models share, and what each person of a panel sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from ...errors import InputError
from ...study.models import Study
from ..truth_table import Floats, Integers
from .judges import RaterModel, level_spread, utilities

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class SharedTasks:
    """Tasks that all models judge."""

    tasks: pd.DataFrame
    rows: Integers  # shape (pairs, 2)
    swapped: Integers  # shape (repeats,)


def shared_tasks(profiles: pd.DataFrame, tasks: pd.DataFrame) -> SharedTasks:
    """Take the tasks of a design, whose repeats all swap positions."""
    repeat = tasks["repeat"].to_numpy(bool)
    first, repeats = tasks[~repeat], tasks[repeat]
    swapped = pd.Index(first["task_id"].iloc[::2]).get_indexer(pd.Index(repeats["repeat_of"].iloc[::2]))
    rows = rows_of(profiles, first).reshape(-1, 2)
    return SharedTasks(pd.concat([first, repeats], ignore_index=True), rows, swapped.astype(np.int64))


def rows_of(profiles: pd.DataFrame, tasks: pd.DataFrame) -> Integers:
    """Row numbers of the profiles of tasks, shape (n,)."""
    rows = pd.Index(profiles["profile_id"]).get_indexer(pd.Index(tasks["profile_id"]))
    if (rows < 0).any():
        raise InputError(
            f"The design shows profile {tasks['profile_id'].iloc[int((rows < 0).argmax())]}, which the study "
            "file does not have; draw the design again."
        )
    return np.asarray(rows, dtype=np.int64)


@dataclass(frozen=True)
class Presentations:
    """Pairs as a panel sees them, respondent by respondent; each array has shape (n,)."""

    person: Integers
    original: Integers
    mirrored: Flags


def rectangular(respondents: int, presentations: int, tasks: int) -> Presentations:
    """Presentations of which those after the first ``tasks`` repeat these with positions exchanged."""
    order = np.arange(presentations)
    original = np.where(order < tasks, order, order - tasks)
    start = np.arange(respondents)[:, None] * presentations
    return Presentations(
        np.repeat(np.arange(respondents), presentations),
        (start + original).reshape(-1),
        np.tile(order >= tasks, respondents),
    )


def presentations(tasks: pd.DataFrame, rows: Integers) -> Presentations:
    """Presentations of the tasks of people in a design; ``rows`` are their profiles, shape (n, 2)."""
    task_rows = tasks.iloc[::2]
    person = pd.factorize(task_rows["judge_id"])[0]
    names = pd.MultiIndex.from_arrays([person, task_rows["task_id"].astype(object)])
    earlier = (
        task_rows["repeat_of"].astype(object).where(task_rows["repeat"].to_numpy(bool), task_rows["task_id"])
    )
    original = names.get_indexer(pd.MultiIndex.from_arrays([person, earlier]))
    mirrored = (rows != rows[original]).any(axis=1)
    return Presentations(person.astype(np.int64), original.astype(np.int64), mirrored)


def panel_answers(
    rater: RaterModel,
    study: Study,
    codes: Integers,
    extra: Floats,
    rng: np.random.Generator,
    trials: Presentations,
) -> Flags:
    """Whether each respondent picks position A at each presentation, shape (n,)."""
    # `codes` has shape (n, 2, attributes), `extra` shape (n, 2).
    n, respondents = len(codes), int(trials.person.max(initial=-1)) + 1
    mean = utilities(rater, study, codes.reshape(-1, codes.shape[-1])).reshape(n, 2) + extra
    advantage = mean[:, 0] - mean[:, 1]
    for index, sd in enumerate(level_spread(rater, study)):
        deviations = rng.standard_normal((respondents, len(sd))) * sd
        taste = deviations[trials.person[:, None], codes[..., index]]
        advantage += taste[:, 0] - taste[:, 1]
    first = trials.original == np.arange(n)
    impression = np.empty(n)
    impression[first] = rng.random(int(first.sum()))
    impression = impression[trials.original]
    impression = np.where(trials.mirrored, 1 - impression, impression)
    stable = np.less(impression, expit(advantage + rater.position_bias))
    answers = stable ^ (rng.random(n) < rater.response_error)
    inattentive = np.less(rng.random(respondents), rater.inattention)[trials.person]
    answers[inattentive] = rng.random(int(inattentive.sum())) < 0.5
    return np.asarray(answers, dtype=bool)
