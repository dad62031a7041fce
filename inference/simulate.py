"""Simulated judges of a conjoint study, with the true values that estimators should find.

Models. A model under prompt p sees each pair once and picks the profile in position A with
probability ``F(u_A - u_B + b)``, where u is the profile's utility (the sum of its part-worths),
b the position bias and ``F(x) = 1 / (1 + exp(-x))``. Draws are independent between pairs, prompts
and models; all models and prompts see the same pairs.

Humans. Respondent r has part-worths ``beta_r``, independently normal around the panel's. Given a
pair, the respondent has one stable pick, drawn with probability ``F((x_A - x_B)' beta_r)``. Each time
the pair is shown the answer departs from that pick with probability ``tau``, independently, so that
first and repeated answer agree with probability ``(1 - tau)^2 + tau^2``. A share of respondents is
inattentive and answers at random each time. ``tau`` is such that the panel as a whole repeats
itself with the reliability that was set.

Every judge and prompt has a random stream of its own, named after it: adding one leaves the others
as they were.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from .choices import SIMULATED
from .design import (
    draw_pairs,
    draw_panel,
    enumerate_profiles,
    factor,
    panel_table,
    shared_table,
    with_swapped_repeat,
)
from .rater_models import RaterModel, level_spread, read_truth_table, select_raters, utilities
from .study import Study
from .tables import JUDGE_KINDS, STATUSES
from .truth import true_values

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Simulation:
    """Simulated choices and where they come from.

    Attributes
    ----------
    choices : DataFrame
        One row per judge, prompt, pair and position, in the contract's columns; ``panel`` names the
        panel of a respondent, and ``origin`` is "simulated".
    truth : DataFrame or None
        As from :func:`conjury.inference.truth.true_values`.
    profiles : DataFrame
        All profiles of the study.
    tasks : DataFrame
        ``task_id, position, profile_id, judge_id, task, repeat``; the last three are missing or
        False for the pairs that models share. ``task_id`` is the ``pair_id`` of the choices.
    """

    choices: pd.DataFrame
    truth: pd.DataFrame | None
    profiles: pd.DataFrame
    tasks: pd.DataFrame


def simulate(
    study: Study,
    seed: int,
    *,
    respondents: int | None = None,
    pairs: int | None = None,
    judges: Sequence[str] | None = None,
    prompts: Sequence[str] | None = None,
    profiles: pd.DataFrame | None = None,
    raters: Path | pd.DataFrame | None = None,
    truth: bool = True,
) -> Simulation:
    """Draw forced choices of human panels and models from a truth table.

    Parameters
    ----------
    study : Study
    seed : int
    respondents, pairs : int, optional
        Size of each panel, and pairs that every model judges; by default the study's design.
    judges, prompts : sequence of str, optional
        Draw only these.
    profiles : DataFrame, optional
        The study's profiles, if they are at hand already.
    raters : Path or DataFrame, optional
        Truth table; by default ``truth.csv`` beside the study file.
    truth : bool
        Whether to compute the true values.

    Returns
    -------
    Simulation

    Raises
    ------
    InputError
        For a bad truth table, or unknown judges and prompts.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> made = simulate(load_study("moderation"), seed=1, judges=["gpt4o"], prompts=["baseline"], pairs=100)
    >>> int(made.choices["chosen"].sum())
    100
    """
    chosen_raters = select_raters(
        read_truth_table(study.folder / "truth.csv" if raters is None else raters, study), judges, prompts
    )
    profiles = enumerate_profiles(study) if profiles is None else profiles
    probability = profiles["probability"].to_numpy(dtype=float)
    design = study.design
    choices: list[pd.DataFrame] = []
    tasks: list[pd.DataFrame] = []
    models = [rater for rater in chosen_raters if rater.kind == "model"]
    if models:
        n = design.pairs if pairs is None else pairs
        rows = draw_pairs(probability, n, _stream(seed, "pairs"))
        shared = shared_table(profiles["profile_id"].to_numpy()[rows])
        tasks.append(shared)
        shown = _shown(study, profiles, shared, rows)
        for rater in models:
            first = model_answers(rater, *_utility_pairs(rater, study, profiles, rows), _rng(seed, rater))
            choices.append(_choices(rater, shown, first))
    for rater in chosen_raters:
        if rater.kind == "human":
            rng = _rng(seed, rater)
            size = design.respondents if respondents is None else respondents
            rows = draw_panel(probability, size, design.tasks, rng)
            codes = _codes(study, profiles, rows)
            first = panel_answers(rater, study, codes, rng, design.repeat_first)
            if design.repeat_first:
                rows = with_swapped_repeat(rows)
            panel = panel_table(profiles["profile_id"].to_numpy()[rows], design.tasks, rater.judge)
            tasks.append(panel)
            choices.append(_choices(rater, _shown(study, profiles, panel, rows), first.reshape(-1)))
    return Simulation(
        pd.concat(choices, ignore_index=True),
        true_values(study, chosen_raters) if truth else None,
        profiles,
        pd.concat(tasks, ignore_index=True),
    )


def model_answers(rater: RaterModel, first: Floats, second: Floats, rng: np.random.Generator) -> Flags:
    """Whether a model picks position A, shape (pairs,), from the utilities of A and B."""
    return rng.random(len(first)) < expit(first - second + rater.position_bias)


def panel_answers(
    rater: RaterModel, study: Study, codes: Integers, rng: np.random.Generator, repeat_first: bool
) -> Flags:
    """Whether each respondent picks position A at each presentation.

    Parameters
    ----------
    codes : ndarray, shape (respondents, tasks, 2, attributes)
        Attribute codes of the profiles in positions A and B.
    repeat_first : bool
        Whether the first pair comes again at the end with its sides swapped.

    Returns
    -------
    ndarray of bool, shape (respondents, tasks) or (respondents, tasks + 1)
    """
    respondents, tasks = codes.shape[:2]
    mean = utilities(rater, study, codes.reshape(-1, codes.shape[-1])).reshape(respondents, tasks, 2)
    advantage = mean[..., 0] - mean[..., 1]
    for index, sd in enumerate(level_spread(rater, study)):
        own = rng.standard_normal((respondents, len(sd))) * sd
        taste = np.take_along_axis(own[:, None, :], codes[..., index], axis=2)
        advantage += taste[..., 0] - taste[..., 1]
    stable = np.less(rng.random((respondents, tasks)), expit(advantage))
    if repeat_first:
        stable = np.column_stack([stable, ~stable[:, 0]])
    answers = stable ^ (rng.random(stable.shape) < rater.response_error)
    inattentive = np.less(rng.random(respondents), rater.inattention)
    answers[inattentive] = rng.random((int(inattentive.sum()), answers.shape[1])) < 0.5
    return answers


def _stream(seed: int, *names: str) -> np.random.Generator:
    key = tuple(zlib.crc32(name.encode()) for name in names)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _rng(seed: int, rater: RaterModel) -> np.random.Generator:
    return _stream(seed, "answers", rater.judge, rater.prompt)


def _codes(study: Study, profiles: pd.DataFrame, rows: Integers) -> Integers:
    columns = [profiles[attribute.id].cat.codes.to_numpy()[rows] for attribute in study.attributes]
    return np.stack(columns, axis=-1).astype(np.int64)


def _utility_pairs(
    rater: RaterModel, study: Study, profiles: pd.DataFrame, rows: Integers
) -> tuple[Floats, Floats]:
    codes = _codes(study, profiles, rows)
    return utilities(rater, study, codes[:, 0]), utilities(rater, study, codes[:, 1])


def _shown(study: Study, profiles: pd.DataFrame, tasks: pd.DataFrame, rows: Integers) -> pd.DataFrame:
    order = rows.reshape(-1)
    columns: dict[str, Any] = {}
    for stimulus in study.stimuli:
        names = profiles[stimulus.id].cat
        texts = pd.array(list(names.categories), dtype="string")
        columns[stimulus.id] = texts.take(names.codes.to_numpy()[order])
    for name in study.features:
        levels = profiles[name].cat
        columns[name] = factor(levels.codes.to_numpy()[order].astype(np.int64), levels.categories)
    return tasks.rename(columns={"task_id": "pair_id"}).assign(**columns)


def _choices(rater: RaterModel, shown: pd.DataFrame, first: Flags) -> pd.DataFrame:
    everywhere = np.zeros(len(shown), dtype=np.int64)
    judge = pd.array([rater.judge], dtype="string").take(everywhere)
    answered: dict[str, Any] = {
        "judge_id": judge if rater.kind == "model" else shown["judge_id"],
        "judge_kind": factor(everywhere + JUDGE_KINDS.index(rater.kind), JUDGE_KINDS),
        "prompt_id": pd.array([rater.prompt or None], dtype="string").take(everywhere),
        "chosen": pd.array(np.column_stack([first, ~first]).reshape(-1).astype(np.int8), dtype="Int8"),
        "status": factor(everywhere + STATUSES.index("ok"), STATUSES),
        "panel": judge if rater.kind == "human" else pd.array([None], dtype="string").take(everywhere),
        "origin": pd.array([SIMULATED], dtype="string").take(everywhere),
    }
    before = ["judge_id", "judge_kind", "prompt_id", "pair_id", "task", "position", "profile_id"]
    middle = [*shown.columns.difference([*before, "repeat", *shown.select_dtypes("category")], sort=False)]
    order = [*before, *middle, "chosen", "status", "repeat"]
    choices = shown.assign(**answered)
    return choices[[*order, *choices.columns.difference(order, sort=False)]]
