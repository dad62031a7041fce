"""Simulated choices of a conjoint study, with the true values that estimators should find.

Models. A model under prompt p has utility u for a profile (the sum of its part-worths and of the effects
of the stimuli shown), a position bias b, and for each pair one stable impression e in favour of one
profile, logistic and independent between pairs, prompts and models. It picks the profile in position A if
``u_A - u_B + e_A + b > 0``, where ``e_A`` is e or, with the sides swapped, -e: marginally with probability
``F(u_A - u_B + b)``, ``F(x) = 1 / (1 + exp(-x))``. At every presentation, swapped or sampled again, the
answer departs from that pick with probability ``noise``, independently. Two samples of the same sides hence
agree with probability ``(1 - noise)^2 + noise^2``, whatever the position bias; with swapped sides the pick
itself changes where ``|u_A - u_B + e_A| < |b|``.

Humans. Respondent r has part-worths ``beta_r``, independently normal around the panel's, and is then like a
model: one impression a pair, the panel's position bias, and departures with probability ``tau``, so that
without position bias first and repeated answer agree with probability ``(1 - tau)^2 + tau^2``. A share of
respondents is inattentive and answers at random each time. ``tau`` is such that the panel as a whole repeats
itself with the reliability that was set, position bias aside.

Every judge and prompt has a random stream of its own, named after it: adding one leaves the others
as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from ...design.profiles import (
    draw_panel,
    draw_shared_pairs,
    enumerate_profiles,
    factor,
    panel_table,
    shared_table,
    with_swapped_repeat,
)
from ...design.run_design import DrawnDesign
from ...design.testing_pairs import design_pairs
from ...errors import InputError, check_share
from ...study.models import Study
from ...study.restrictions import count_cells
from ...tables.columns import stream
from ...tables.frames import SIMULATED, any_frame
from ...tables.limits import TRUE_CELLS
from ...tables.schema import JUDGE_KINDS, SAMPLING, STATUSES
from ..truth_table import Floats, Integers, require_samples, truth_path
from .judges import COLUMNS, RaterModel, attribute_codes, read_truth_table, select_raters, utilities
from .presented_tasks import SharedTasks, panel_answers, presentations, rectangular, rows_of, shared_tasks
from .stimulus_effects import stimulus_effects, stimulus_utility
from .true_effects import true_values

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Simulation:
    """Simulated choices and where they come from.

    Parameters
    ----------
    choices : DataFrame
        One row per judge, prompt, pair, sample and position, in the contract's columns; ``panel`` names the
        panel of a respondent, and ``origin`` is "simulated".
    truth : DataFrame or None
        The true values of AMCEs and marginal means; None where they were not asked for, or attributes have
        more than ``TRUE_CELLS`` combinations.
    profiles : DataFrame
        All profiles of the study.
    tasks : DataFrame
        ``task_id, position, profile_id, judge_id, task, repeat, repeat_of``; the last four are missing or
        False for the pairs that models share. ``task_id`` is the ``pair_id`` of the choices.
    stimuli : DataFrame
        Effects of the stimuli of this simulation.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> made = simulate(load_study("moderation"), 1, judges=["gpt4o"], pairs=10, truth=False)
    >>> made.choices["judge_kind"].unique().tolist(), made.truth is None
    (['model'], True)
    """

    choices: pd.DataFrame
    truth: pd.DataFrame | None
    profiles: pd.DataFrame
    tasks: pd.DataFrame
    stimuli: pd.DataFrame


@any_frame
def simulate(
    study: Study,
    seed: int,
    *,
    respondents: int | None = None,
    pairs: int | None = None,
    swapped_share: float = 0.0,
    samples: int = 1,
    noise: float | None = None,
    stimulus_seed: int | None = None,
    judges: Sequence[str] | None = None,
    prompts: Sequence[str] | None = None,
    profiles: pd.DataFrame | None = None,
    raters: Path | pd.DataFrame | None = None,
    truth: bool = True,
    design: DrawnDesign | None = None,
) -> Simulation:
    """Draw forced choices of human panels and models from a truth table.

    Parameters
    ----------
    study : Study
        A conjoint with a truth table.
    seed : int
        Seed of everything that is drawn.
    respondents, pairs : int, optional
        Size of each panel, and pairs that every model judges; by default the study's design.
    swapped_share : float
        Share of the models' pairs, drawn at random, that are repeated with positions swapped, as
        repeats with a ``pair_id`` of their own.
    samples : int
        Answers of each model to each pair and its swapped repeat. With more than one, column ``sample``
        counts them from 1; it is missing for people.
    noise : float, optional
        Probability with which any answer of a model departs from its stable pick, in place of the truth
        table's.
    stimulus_seed : int, optional
        Seed of the effects of the stimuli, by default ``seed``: with one of its own, several simulations
        share the same stimuli.
    judges, prompts : sequence of str, optional
        Draw only these.
    profiles : DataFrame, optional
        The study's profiles, if they are already computed.
    raters : Path or DataFrame, optional
        Truth table; by default ``truth.csv`` next to the study file.
    truth : bool
        Whether to compute the true values.
    design : DrawnDesign, optional
        Design of a run: models judge all its tasks but vacuum and same-quality pairs, and the panel those of
        its people, instead of tasks drawn by ``seed``. The counts ``respondents``, ``pairs`` and
        ``swapped_share`` are then those of the design.

    Returns
    -------
    Simulation
        Choices with the true values of their estimands.

    Raises
    ------
    InputError
        For a truth table that is missing or bad, unknown judges and prompts, shares and counts out of range,
        or a design without tasks for the people asked.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> made = simulate(load_study("moderation"), seed=1, judges=["gpt4o"], prompts=["baseline"], pairs=100)
    >>> int(made.choices["chosen"].sum())
    100
    """
    _check_repeats(swapped_share, samples, noise)
    source = truth_path(study, "truth.csv", "choices", COLUMNS) if raters is None else raters
    chosen = select_raters(read_truth_table(source, study), judges, prompts)
    if noise is not None:
        chosen = [replace(rater, noise=noise) if rater.kind == "model" else rater for rater in chosen]
    profiles = enumerate_profiles(study) if profiles is None else profiles
    world = _ChoiceWorld(study, profiles, seed, seed if stimulus_seed is None else stimulus_seed)
    size = study.design.respondents if respondents is None else respondents
    models = [rater for rater in chosen if rater.kind == "model"]
    panels = [rater for rater in chosen if rater.kind == "human"]
    people_tasks = _tasks_of_people(design, panels)
    parts = [_ask_panel(world, rater, size, people_tasks) for rater in panels]
    if models:
        n = study.design.pairs if pairs is None else pairs
        shared = None if design is None else design_pairs(design.asked("all"))
        task_set = _draw_shared(world, n, swapped_share) if shared is None else shared_tasks(profiles, shared)
        parts.insert(0, _ask_models(world, models, task_set, samples))
        swapped_share = len(task_set.swapped) / len(task_set.rows)
    truth = truth and count_cells(study)[0] <= TRUE_CELLS
    return Simulation(
        pd.concat([choices for choices, _ in parts], ignore_index=True),
        true_values(study, chosen, world.stimulus_seed, bool(swapped_share)) if truth else None,
        profiles,
        pd.concat([tasks for _, tasks in parts], ignore_index=True),
        stimulus_effects(study, chosen, world.stimulus_seed),
    )


@dataclass(frozen=True)
class _ChoiceWorld:
    """What all judges of a simulation share."""

    study: Study
    profiles: pd.DataFrame
    seed: int
    stimulus_seed: int

    @property
    def probability(self) -> Floats:
        return self.profiles["probability"].to_numpy(dtype=float)

    def stimulus_utility(self, rater: RaterModel, rows: Integers) -> Floats:
        """Utility from the stimuli of the profiles in ``rows``, in the shape of ``rows``."""
        if not rater.stimulus_sd:
            return np.zeros(rows.shape)
        profile_rows = self.profiles.iloc[rows.reshape(-1)]
        codes = attribute_codes(self.study, profile_rows)
        return stimulus_utility(self.study, rater, profile_rows, codes, self.stimulus_seed).reshape(
            rows.shape
        )

    def codes(self, rows: Integers) -> Integers:
        """Codes of the attributes of the profiles in ``rows``, in their shape with one more axis."""
        codes = attribute_codes(self.study, self.profiles.iloc[rows.reshape(-1)])
        return codes.reshape(*rows.shape, -1)


def _check_repeats(swapped_share: float, samples: int, noise: float | None) -> None:
    check_share("The share of swapped pairs is", swapped_share, "give a number from 0 to 1", closed=True)
    require_samples(samples)
    if noise is not None and not 0 <= noise <= 0.5:
        raise InputError(f"The noise is {noise:g}; give a probability from 0 to 0.5.")


def _draw_shared(world: _ChoiceWorld, pairs: int, swapped_share: float) -> SharedTasks:
    rows, swapped = draw_shared_pairs(world.profiles, pairs, swapped_share, world.seed)
    return SharedTasks(
        shared_table(world.profiles["profile_id"].to_numpy()[rows], swapped), rows, np.asarray(swapped)
    )


def _tasks_of_people(design: DrawnDesign | None, panels: Sequence[RaterModel]) -> pd.DataFrame | None:
    """Tasks of people in a design; InputError where it has none, or several panels would share them."""
    if design is None or not panels:
        return None
    if design.panel is None:
        raise InputError(
            "The design has no tasks of people; draw them with `conjury design STUDY --people N`, or name "
            "models only with --judge."
        )
    if len(panels) > 1:
        names = ", ".join(panel.judge for panel in panels)
        raise InputError(
            f"The tasks of people are those of one panel, not of {names}; name one with --judge."
        )
    return design.panel.tasks


def _ask_models(
    world: _ChoiceWorld, models: Sequence[RaterModel], task_set: SharedTasks, samples: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Choices of all models, and the tasks that they share."""
    study, profiles = world.study, world.profiles
    tasks, rows, swapped = task_set.tasks, task_set.rows, task_set.swapped
    table = _table_of_sides(study, profiles, tasks, np.concatenate([rows, rows[swapped, ::-1]]))
    if samples > 1:
        number = np.repeat(np.arange(1, samples + 1), len(table))
        table = pd.concat([table] * samples, ignore_index=True)
        table = table.assign(sample=pd.array(number, dtype="Int64"))
    answers = _models_answers(world, models, task_set, samples)
    choices = [
        _choices(rater, table, first.reshape(-1)) for rater, first in zip(models, answers, strict=True)
    ]
    return pd.concat(choices, ignore_index=True), tasks


def _models_answers(
    world: _ChoiceWorld, models: Sequence[RaterModel], task_set: SharedTasks, samples: int
) -> Iterator[Flags]:
    """Whether each model picks position A in each task, shape (samples, tasks)."""
    codes = world.codes(task_set.rows)
    for rater in models:
        utility = [utilities(rater, world.study, codes[:, side]) for side in (0, 1)]
        extra = world.stimulus_utility(rater, task_set.rows)
        advantage = utility[0] - utility[1] + (extra[:, 0] - extra[:, 1])
        yield _model_answers(rater, advantage, world.seed, task_set.swapped, samples)


def answers_to_design(
    study: Study, judge_id: str, design: DrawnDesign, samples: int
) -> tuple[list[str], dict[str, Flags]]:
    """Names of a design's tasks, and by prompt whether a model picks A in each, shape (samples, tasks)."""
    # the choices of `simulate` with this design, without the tables of what each task shows
    require_samples(samples)
    source = truth_path(study, "truth.csv", "choices", COLUMNS)
    raters = select_raters(read_truth_table(source, study), [judge_id], None)
    models = [rater for rater in raters if rater.kind == "model"]
    profiles, seed = enumerate_profiles(study), int(design.drawn["seed"])
    task_set = shared_tasks(profiles, design_pairs(design.asked("all")))
    answers = _models_answers(_ChoiceWorld(study, profiles, seed, seed), models, task_set, samples)
    prompts = [rater.prompt for rater in models]
    return task_set.tasks["task_id"].iloc[::2].tolist(), dict(zip(prompts, answers, strict=True))


def _ask_panel(
    world: _ChoiceWorld, rater: RaterModel, respondents: int, panel_tasks: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Choices of a panel on tasks that are given or drawn, and these tasks."""
    study, profiles, design = world.study, world.profiles, world.study.design
    rng = _answer_stream(world.seed, rater)
    if panel_tasks is None:
        draws = draw_panel(world.probability, respondents, design.tasks, rng)
        draws = with_swapped_repeat(draws) if design.repeat_first else draws
        tasks = panel_table(profiles["profile_id"].to_numpy()[draws], design.tasks, rater.judge)
        rows, trials = draws.reshape(-1, 2), rectangular(draws.shape[0], draws.shape[1], design.tasks)
    else:
        tasks, rows = panel_tasks, rows_of(profiles, panel_tasks).reshape(-1, 2)
        trials = presentations(tasks, rows)
    codes, extra = world.codes(rows), world.stimulus_utility(rater, rows)
    first = panel_answers(rater, study, codes, extra, rng, trials)
    return _choices(rater, _table_of_sides(study, profiles, tasks, rows), first), tasks


def _table_of_sides(
    study: Study, profiles: pd.DataFrame, tasks: pd.DataFrame, rows: Integers
) -> pd.DataFrame:
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


def _choices(rater: RaterModel, table: pd.DataFrame, first: Flags) -> pd.DataFrame:
    everywhere = np.zeros(len(table), dtype=np.int64)
    judge = pd.array([rater.judge], dtype="string").take(everywhere)
    answered: dict[str, Any] = {
        "judge_id": judge if rater.kind == "model" else table["judge_id"],
        "judge_kind": factor(everywhere + JUDGE_KINDS.index(rater.kind), JUDGE_KINDS),
        "prompt_id": pd.array([rater.prompt or None], dtype="string").take(everywhere),
        "chosen": pd.array(np.column_stack([first, ~first]).reshape(-1).astype(np.int8), dtype="Int8"),
        "status": factor(everywhere + STATUSES.index("ok"), STATUSES),
        "panel": judge if rater.kind == "human" else pd.array([None], dtype="string").take(everywhere),
        "origin": pd.array([SIMULATED], dtype="string").take(everywhere),
    }
    before = ["judge_id", "judge_kind", "prompt_id", "pair_id", "task", "position", "profile_id"]
    tail = ["repeat", "repeat_of", "sample", SAMPLING]
    middle = [*table.columns.difference([*before, *tail, *table.select_dtypes("category")], sort=False)]
    order = [*before, *middle, "chosen", "status", *table.columns.intersection(tail, sort=False)]
    choices = table.assign(**answered)
    return choices[[*order, *choices.columns.difference(order, sort=False)]]


def _model_answers(
    rater: RaterModel, advantage: Floats, seed: int, swapped: Integers, samples: int = 1
) -> Flags:
    """Whether a model picks position A at each presentation of each sample."""
    impression = _answer_stream(seed, rater).random(len(advantage))
    first = impression < expit(advantage + rater.position_bias)
    repeats = 1 - impression[swapped] < expit(rater.position_bias - advantage[swapped])
    flips = [
        stream(seed, name, rater.judge, rater.prompt).random((samples, len(picks))) < rater.noise
        for name, picks in (("noise", first), ("noise of repeats", repeats))
    ]
    return np.concatenate([first, repeats]) ^ np.concatenate(flips, axis=1)


def _answer_stream(seed: int, rater: RaterModel) -> np.random.Generator:
    """Return the random stream of a judge under a prompt."""
    return stream(seed, "answers", rater.judge, rater.prompt)
