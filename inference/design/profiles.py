"""The conjoint design: every possible profile, and which of them meet in which pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError
from ..study.models import Study
from ..study.restrictions import drawn_shares, is_allowed, refuse_too_many, share_left, shown_shares
from ..study.study_fields import Stimulus
from ..tables.columns import stream
from ..tables.schema import POSITIONS, SWAPPED_SUFFIX

Integers = NDArray[np.int64]


def level_probabilities(study: Study) -> pd.DataFrame:
    """Compute the probability with which each level of each attribute is shown.

    Derived attributes get the probability of the source levels that imply them: where
    benign speech is one of seven kinds of speech, it has probability 1/7, not 1/2. Where the design has
    restrictions these are the shares that they leave: levels are drawn independently, and a combination
    that is excluded is drawn again, so levels that it names become rarer than the study file states.

    Parameters
    ----------
    study : Study
        A conjoint study.

    Returns
    -------
    DataFrame
        Columns ``feature, level, probability``; one row per level, derived attributes last.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> shares = level_probabilities(load_study("moderation"))
    >>> shares.loc[shares["feature"] == "speech", "probability"].round(3).tolist()
    [0.143, 0.857]
    """
    probabilities = {
        (name, level): float(share)
        for name, shares in shown_shares(study).items()
        for level, share in zip(study.levels(name), shares, strict=True)
    }
    implied = {
        (derived.id, level.id): sum(probabilities[derived.source, name] for name in level.covers)
        for derived in study.derived
        for level in derived.levels
    }
    rows = [
        (feature, level, probability) for (feature, level), probability in (probabilities | implied).items()
    ]
    return pd.DataFrame(rows, columns=["feature", "level", "probability"])


def attribute_cells(study: Study) -> pd.DataFrame:
    """List all combinations of attribute levels, with derived attributes and their probability.

    Combinations that the design's restrictions name have no row.

    Parameters
    ----------
    study : Study
        A conjoint study.

    Returns
    -------
    DataFrame
        One row per combination, the last attribute varying fastest; a categorical column for each attribute
        and derived attribute, and ``probability`` (sums to one).

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> cells = attribute_cells(load_study("moderation"))
    >>> len(cells), float(cells["probability"].sum().round(6))
    (2100, 1.0)
    """
    sizes = [len(attribute.levels) for attribute in study.attributes]
    refuse_too_many(study, sizes)
    grid = np.indices(sizes).reshape(len(sizes), -1)
    codes = {attribute.id: grid[index] for index, attribute in enumerate(study.attributes)}
    return _allowed_rows(study, _cells(study, codes))


def enumerate_profiles(study: Study) -> pd.DataFrame:
    """List all distinct profiles of a study: attribute cells times the stimuli that render them.

    Profiles keep their numbers when a restriction leaves others out, so that numbers then have gaps.

    Parameters
    ----------
    study : Study
        A conjoint study.

    Returns
    -------
    DataFrame
        ``profile_id`` (from 1), one unordered categorical column for each attribute and
        derived attribute, one for each stimulus factor (ids such as ``politics_07``), and
        ``probability``, the chance that a randomly drawn profile is this one.

    Examples
    --------
    >>> from conjury.inference.study import load_study
    >>> len(enumerate_profiles(load_study("moderation")))
    210000
    """
    sizes = [len(attribute.levels) for attribute in study.attributes]
    sizes += [stimulus.count for stimulus in study.stimuli]
    refuse_too_many(study, sizes)
    grid = np.indices(sizes).reshape(len(sizes), -1)
    codes = {attribute.id: grid[index] for index, attribute in enumerate(study.attributes)}
    profiles = _cells(study, codes)
    probability = profiles.pop("probability")
    for stimulus, numbers in zip(study.stimuli, grid[len(study.attributes) :], strict=True):
        profiles[stimulus.id] = factor(
            codes[stimulus.attribute] * stimulus.count + numbers, stimulus_ids(study, stimulus)
        )
        probability = probability / stimulus.count
    profiles.insert(0, "profile_id", np.arange(1, len(profiles) + 1))
    return _allowed_rows(study, profiles.assign(probability=probability))


def stimulus_ids(study: Study, stimulus: Stimulus) -> list[str]:
    """Names of all stimuli of one factor, level by level, such as ``politics_07``."""
    return [
        f"{level}_{number:02d}"
        for level in study.levels(stimulus.attribute)
        for number in range(stimulus.count)
    ]


def draw_pairs(probability: NDArray[np.float64], n: int, rng: np.random.Generator) -> Integers:
    """Row numbers of n pairs drawn without replacement, within pairs and across them, shape (n, 2)."""
    # When all profiles are used up, a new round begins. With unequal `probability`, draws are successive, so
    # shares reach it only where few profiles are drawn.
    if len(probability) < 2:
        raise InputError("A pair needs two different profiles; give the study more levels or stimuli.")
    if n < 1:
        raise InputError(f"The number of pairs is {n}; give at least 1.")
    weights = None if np.ptp(probability) < 1e-12 else probability
    per_round = len(probability) // 2
    rounds = [
        rng.choice(len(probability), size=2 * min(per_round, n - start), replace=False, p=weights)
        for start in range(0, n, per_round)
    ]
    return np.concatenate(rounds).astype(np.int64).reshape(n, 2)


def draw_shared_pairs(
    profiles: pd.DataFrame, pairs: int, swapped_share: float, seed: int
) -> tuple[Integers, Integers]:
    """Draw the pairs that all models share."""
    probability = profiles["probability"].to_numpy(dtype=float)
    rows = draw_pairs(probability, pairs, stream(seed, "pairs"))
    repeats = round(swapped_share * pairs)
    return rows, np.sort(stream(seed, "swapped").permutation(pairs)[:repeats])


def draw_panel(
    probability: NDArray[np.float64], respondents: int, tasks: int, rng: np.random.Generator
) -> Integers:
    """Row numbers of independent pairs of two different profiles, shape (respondents, tasks, 2)."""
    if len(probability) < 2:
        raise InputError("A pair needs two different profiles; give the study more levels or stimuli.")
    if respondents < 1 or tasks < 1:
        raise InputError(
            f"A panel of {respondents} respondents with {tasks} tasks is empty; use at least one of each."
        )
    weights = None if np.ptp(probability) < 1e-12 else probability
    rows = rng.choice(len(probability), size=(respondents, tasks, 2), p=weights)
    while (same := rows[..., 0] == rows[..., 1]).any():
        rows[same] = rng.choice(len(probability), size=(int(same.sum()), 2), p=weights)
    return rows.astype(np.int64)


def with_swapped_repeat(rows: Integers) -> Integers:
    """Append the first pair of each respondent with positions swapped; (r, t, 2) becomes (r, t + 1, 2)."""
    return np.concatenate([rows, rows[:, :1, ::-1]], axis=1)


def shared_table(
    profile_ids: Integers, swapped: Sequence[int] | Integers = (), name: str = "pair"
) -> pd.DataFrame:
    """Tasks that all models share in long form, from profiles of shape (pairs, 2)."""
    # The pairs numbered `swapped`, from 0, are repeated at the end with their positions swapped, as
    # `pair_000001_swapped` and so on, marked as repeats of `pair_000001` and so on.
    rows = np.asarray(swapped, dtype=np.int64)
    names = [f"{name}_{number:06d}" for number in range(1, len(profile_ids) + 1)]
    originals = [names[number] for number in rows]
    repeat_of = [None] * len(names) + originals
    names += [f"{name}{SWAPPED_SUFFIX}" for name in originals]
    profile_rows = np.concatenate([profile_ids, profile_ids[rows, ::-1]])
    return _task_table(names, profile_rows, pd.NA, pd.NA, repeat_of)


def panel_table(profile_ids: Integers, tasks: int, panel: str = "human") -> pd.DataFrame:
    """Tasks of a panel in long form, from profiles of shape (respondents, presentations, 2)."""
    # Presentations after the first `tasks` are marked as repeats of these, in order. Respondents are called
    # `human_0001` and so on, after the `panel`.
    respondents, presentations, _ = profile_ids.shape
    judges = [f"{panel}_{number:04d}" for number in range(1, respondents + 1)]
    order = np.arange(1, presentations + 1)
    names = [f"{judge}_task_{task:02d}" for judge in judges for task in order]
    task = np.tile(np.repeat(order, 2), respondents)
    judge = pd.array(judges, dtype="string").take(np.repeat(np.arange(respondents), 2 * presentations))
    first = [None] * tasks + [f"task_{number:02d}" for number in order[: presentations - tasks]]
    repeat_of = [name and f"{judge}_{name}" for judge in judges for name in first]
    return _task_table(names, profile_ids, judge, task, repeat_of)


def _task_table(
    names: list[str], profile_ids: Integers, judge: object, task: object, repeat_of: list[str | None]
) -> pd.DataFrame:
    rows = np.repeat(np.arange(len(names)), 2)
    originals = pd.array(repeat_of, dtype="string").take(rows)
    columns: dict[str, Any] = {
        "task_id": pd.array(names, dtype="string").take(rows),
        "position": factor(np.tile(np.arange(2), len(names)), POSITIONS),
        "profile_id": profile_ids.reshape(-1),
        "judge_id": judge,
        "task": task,
        "repeat": ~originals.isna(),
        "repeat_of": originals,
    }
    types = {"profile_id": "Int64", "judge_id": "string", "task": "Int64", "repeat": "boolean"}
    return pd.DataFrame(columns).astype(types)


def add_derived(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """Add the derived attributes to a table that contains the attributes they follow from."""
    added: dict[str, pd.Categorical[str]] = {}
    for derived in study.derived:
        source = table[derived.source].astype("category").cat
        implied = {name: index for index, level in enumerate(derived.levels) for name in level.covers}
        lookup = np.array([*(implied.get(name, -1) for name in source.categories), -1])
        added[derived.id] = factor(lookup[source.codes.to_numpy()], study.levels(derived.id))
    return table.assign(**added)


def factor(codes: Integers, categories: Iterable[str]) -> pd.Categorical[str]:
    """Make an unordered categorical from codes into ``categories``."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(list(categories)))


def _cells(study: Study, codes: dict[str, Integers]) -> pd.DataFrame:
    """Attributes of profiles in categories, with their probability, 0 for those that restrictions name."""
    level_shares = drawn_shares(study)
    cells = {name: factor(codes[name], study.levels(name)) for name in level_shares}
    probability = np.ones(1)
    for name, shares in level_shares.items():
        probability = probability * shares[codes[name]]
    if study.design.restrictions:
        probability = np.where(is_allowed(study, codes), probability, 0.0) / share_left(study)
    return add_derived(study, pd.DataFrame(cells)).assign(probability=probability)


def _allowed_rows(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """Rows that restrictions leave."""
    if not study.design.restrictions:
        return table
    return table[table["probability"] > 0].reset_index(drop=True)
