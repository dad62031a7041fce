"""Tasks of people: drawn apart, sampled from the pairs that models judge, or those of an imported survey."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError, listed
from ..study.models import Study
from ..tables.columns import as_text, refuse, stream
from ..tables.schema import POSITIONS, SAMPLING, SWAPPED_SUFFIX, validate
from .profiles import draw_panel, factor, panel_table, with_swapped_repeat
from .sampling import draw_sample

Integers = NDArray[np.int64]
COLUMNS = [
    *("judge_id", "task_id", "task", "position", "profile_id", "repeat", "repeat_of"),
    SAMPLING,
]


ASKED = ("models", "panel", "all")  # which tasks a model is asked about


def check_asked(which: str) -> None:
    """Refuse what names no tasks that a model can be asked about."""
    if which not in ASKED:
        raise InputError(f"--tasks {which}: write {', '.join(ASKED[:-1])} or {ASKED[-1]}.")


def no_people_error(which: str = "panel") -> InputError:
    """The error of a design without tasks of people."""
    return InputError(
        f"--tasks {which}: the design has no tasks of people; draw them with `conjury design STUDY --people "
        "N`, or take those of a survey with --panel FILE."
    )


@dataclass(frozen=True)
class TaskPanel:
    """The tasks of people in a design."""

    # two rows per respondent and task: `judge_id, task_id, task, position, profile_id, repeat, repeat_of,
    # sampling_probability`. `task_id` is the `pair_id` of the choices
    tasks: pd.DataFrame
    # `name` of the panel, number of `people`, `sample` ("drawn", "uniform", "strata", "uncertainty" or
    # "imported") and what else the draw depends on
    drawn: dict[str, Any]

    def sha256(self) -> str:
        """Hash of who judges what."""
        columns = self.tasks[["judge_id", "task_id", "position", "profile_id", "repeat"]].astype("string")
        return hashlib.sha256(
            pd.util.hash_pandas_object(columns, index=False).to_numpy().tobytes()
        ).hexdigest()

    def distinct(self) -> pd.DataFrame:
        """Each task once, without the repeats of respondents."""
        first = self.tasks[~self.tasks["repeat"].to_numpy(bool)]
        return first.drop_duplicates(["task_id", "position"]).reset_index(drop=True)


def panel_name(study: Study) -> str:
    """Return the id of the study's first panel of people, "human" where it names none."""
    return next((judge.id for judge in study.judges if judge.kind == "human"), "human")


def draw_people(study: Study, profiles: pd.DataFrame, people: int, seed: int) -> pd.DataFrame:
    """Draw the tasks of each of so many people apart, as `simulate` does; two rows per task."""
    # `profiles` are all of the study, with their `probability`.
    name = panel_name(study)
    rng = stream(seed, "panel", name)
    rows = draw_panel(profiles["probability"].to_numpy(dtype=float), people, study.design.tasks, rng)
    if study.design.repeat_first:
        rows = with_swapped_repeat(rows)
    table = panel_table(profiles["profile_id"].to_numpy()[rows], study.design.tasks, name)
    return table.assign(**{SAMPLING: np.nan})[COLUMNS]


def sample_people(
    study: Study,
    pairs: pd.DataFrame,
    probability: NDArray[np.float64],
    people: int,
    each: int,
    seed: int,
    strata: Integers | None = None,
) -> pd.DataFrame:
    """Sample tasks of people from pairs of models, and assign every task to ``each`` people."""
    # `pairs` are two rows per pair, `probability` that of each pair to be sampled, shape (pairs,). Positions
    # are those of the pair; the repeat, where the design has one, swaps them.
    name = panel_name(study)
    rng = stream(seed, "sampled panel", name)
    sampled_rows = draw_sample(probability, rng, strata)
    assigned = share_among(len(sampled_rows), people, each, rng)
    profile_ids = pairs["profile_id"].to_numpy(dtype=np.int64).reshape(-1, len(POSITIONS))
    rows = sampled_rows[assigned]
    positions, names = profile_ids[rows], pairs["task_id"].to_numpy(dtype=object)[:: len(POSITIONS)][rows]
    chances, repeat_of = probability[rows], np.full(rows.shape, None, dtype=object)
    if study.design.repeat_first:
        positions = with_swapped_repeat(positions)
        repeat_of = np.column_stack([repeat_of, names[:, :1]])
        names = np.column_stack([names, names[:, :1] + SWAPPED_SUFFIX])
        chances = np.column_stack([chances, chances[:, :1]])
    presentations = names.shape[1]
    judges = [f"{name}_{number:04d}" for number in range(1, people + 1)]
    rows_of_pairs = np.repeat(np.arange(names.size), len(POSITIONS))
    originals = pd.array(repeat_of.reshape(-1), dtype="string").take(rows_of_pairs)
    columns: dict[str, Any] = {
        "judge_id": pd.array(np.repeat(judges, presentations), dtype="string").take(rows_of_pairs),
        "task_id": pd.array(names.reshape(-1), dtype="string").take(rows_of_pairs),
        "task": pd.array(np.tile(np.arange(1, presentations + 1), people), dtype="Int64").take(rows_of_pairs),
        "position": factor(np.tile(np.arange(len(POSITIONS)), names.size), POSITIONS),
        "profile_id": pd.array(positions.reshape(-1), dtype="Int64"),
        "repeat": pd.array(~originals.isna(), dtype="boolean"),
        "repeat_of": originals,
        SAMPLING: chances.reshape(-1)[rows_of_pairs],
    }
    return pd.DataFrame(columns)


def share_among(tasks: int, people: int, each: int, rng: np.random.Generator) -> Integers:
    """Assign every task to ``each`` people so that all have equally many, shape (people, tasks of each)."""
    # Each round over all people, in random order, goes on with the tasks where the last one ended; a task
    # that two rounds share goes to others in the second.
    rounds = np.repeat(rng.permutation(tasks), each).reshape(-1, people)
    assigned, last, had = np.empty((people, len(rounds)), dtype=np.int64), -1, np.empty(0, dtype=np.int64)
    for number, tasks_of_round in enumerate(rounds):
        order = rng.permutation(people)
        shared = int((tasks_of_round == last).sum())
        if shared:
            barred = np.isin(order, had)
            order = np.concatenate([order[~barred], order[barred]])
            order[shared:] = rng.permutation(order[shared:])
        assigned[order, number] = tasks_of_round
        last = tasks_of_round[-1]
        had = order[tasks_of_round == last]
    return np.asarray(rng.permuted(assigned, axis=1))


def sample_size(pairs: int, people: int, tasks: int, each: int) -> int:
    """Return how many tasks people judge together; InputError where they cannot have equally many."""
    if people < 1 or not 1 <= each <= people:
        raise InputError(
            f"{each:,} of {people:,} people cannot judge each task; give one person or more, and at most all."
        )
    size, remainder = divmod(people * tasks, each)
    if remainder:
        raise InputError(
            f"{people:,} people with {tasks} tasks give {people * tasks:,} answers, not a multiple of {each} "
            f"people per task; use a number of people that is a multiple of {each}."
        )
    if size > pairs:
        raise InputError(
            f"{people:,} people with {tasks} tasks need {size:,} pairs, and the design has {pairs:,}; use "
            "fewer people, more people per task, or more pairs."
        )
    return size


def imported_people(study: Study, profiles: pd.DataFrame, choices: pd.DataFrame, source: str) -> pd.DataFrame:
    """Tasks that people of a choices table judged, with the numbers of the study's own profiles."""
    # Repeats are not among them, since models are not asked about these.
    human = (choices["judge_kind"] == "human").to_numpy(bool)
    people = choices[human & ~choices["repeat"].to_numpy(bool)].reset_index(drop=True)
    if people.empty:
        raise InputError(f"{source}: the table contains no choices of people; give one that does.")
    varied = [part.id for part in study.attributes] + [part.id for part in study.stimuli]
    absent = [name for name in varied if name not in people or people[name].isna().all()]
    if absent:
        raise InputError(
            f"{source}: column '{absent[0]}' is missing, and profiles cannot be shown without it; add it."
        )
    numbers = _profile_numbers(profiles, people, varied)
    if (numbers == 0).any():
        remedy = "use levels of the study, in combinations that its restrictions allow"
        refuse(source, varied[0], numbers == 0, "belongs to a profile that the study does not have", remedy)
    table = people[["judge_id", "position"]].assign(task_id=as_text(people["pair_id"]), profile_id=numbers)
    n_profiles = table.groupby(["task_id", "position"], observed=True)["profile_id"].transform("nunique")
    if (n_profiles > 1).any():
        name = table["task_id"].iloc[int((n_profiles > 1).to_numpy().argmax())]
        raise InputError(
            f"{source}: pair '{name}' shows different profiles to different people; a pair_id must refer to "
            "the same two profiles in the same positions, so add the respondent to it."
        )
    order = table.groupby("judge_id", sort=False)["task_id"].transform(
        lambda task_ids: pd.factorize(task_ids)[0] + 1
    )
    sampling = people.get(SAMPLING, np.nan)
    table = table.assign(task=order.astype("Int64"), repeat=False, repeat_of=pd.NA, **{SAMPLING: sampling})
    table = table.sort_values(["judge_id", "task", "position"], kind="stable")
    return validate(table[COLUMNS], "panel_tasks", source)


def _profile_numbers(profiles: pd.DataFrame, people: pd.DataFrame, varied: Sequence[str]) -> Integers:
    """Numbers of the profiles with these attributes and stimuli, 0 where there is none."""
    profile_rows, person_rows = (table[list(varied)].astype("string") for table in (profiles, people))
    profile_rows = profile_rows.assign(number=profiles["profile_id"].to_numpy())
    return (
        person_rows.merge(profile_rows, on=list(varied), how="left")["number"]
        .fillna(0)
        .to_numpy(dtype=np.int64)
    )


def panel_summary(panel: TaskPanel) -> str:
    """Who judges how many tasks, and how these were chosen, in words."""
    facts, n = panel.drawn, panel.tasks["judge_id"].nunique()
    distinct = len(panel.distinct()) // len(POSITIONS)
    n_tasks = panel.tasks[~panel.tasks["repeat"].to_numpy(bool)].groupby("judge_id").size() // len(POSITIONS)
    tasks = f"{n_tasks.min()}" if n_tasks.min() == n_tasks.max() else f"{n_tasks.min()} to {n_tasks.max()}"
    shares = "with the planned share of each" if "allocation" in facts else "equally often in each"
    method = {
        "drawn": "drawn separately for each person",
        "uniform": "sampled uniformly from the pairs of models",
        "strata": f"sampled from the pairs of models, {shares} stratum of {facts.get('strata')}",
        "uncertainty": f"sampled from the pairs of models by the uncertainty of {facts.get('judge')}, with a "
        f"uniform share of {facts.get('floor', 0):g}",
        "imported": f"from {facts.get('choices')}",
    }[facts["sample"]]
    people = f"{n:,} {'person' if n == 1 else 'people'}"
    return f"{people} with {tasks} tasks; {distinct:,} different tasks, {method}"


def check_same_pairs(tasks: pd.DataFrame, panel: pd.DataFrame, source: str) -> None:
    """Refuse tasks of people that have the name of a models' pair and show other profiles."""
    keys = ["task_id", "position"]
    matches = panel[[*keys, "profile_id"]].astype({"position": "string"})
    matches = matches.merge(tasks[[*keys, "profile_id"]].astype({"position": "string"}), on=keys)
    conflicts = matches[matches["profile_id_x"] != matches["profile_id_y"]]
    if len(conflicts):
        names = conflicts["task_id"].unique().tolist()
        raise InputError(
            f"{source}: {listed(names, 3)} name other profiles than the pairs of models do; rename the pairs "
            "of people, or use another folder with --out."
        )
