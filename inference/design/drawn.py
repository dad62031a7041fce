"""The design of a run: which profiles meet in which task, and which items each person rates."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError, listed
from ..study.models import Study
from ..study.parts import Assignment
from ..tables.columns import coerce, stream
from ..tables.files import read_table, write_table
from ..tables.limits import EXPORT_BYTES, parse_json, read_content
from ..tables.schema import POSITIONS, SWAPPED_SUFFIX, require_columns
from .profiles import draw_shared_pairs, enumerate_profiles, shared_table
from .stimuli import load_posts, profile_values
from .subjects import label_fields

Integers = NDArray[np.int64]


def assign_raters(items: pd.DataFrame, plan: Assignment, people: int | None, seed: int) -> pd.DataFrame:
    """Assign items to people so that nobody meets two items of one topic.

    Items are split into as many subsets as there are types, by a Latin square: each subset has one item of
    every topic, and of each type equally many. A person belongs to one subset. Within it, every item goes to
    the people with the fewest items so far, among them to those who have met its type least, then its
    modality. So loads within a subset differ by one at most; where the number of people is a multiple of
    the number of types and no topic lacks a type, they do so over all people.

    Parameters
    ----------
    items : DataFrame of n rows
        ``item_id``, the columns that the plan names, and ``modality`` if there is one.
    plan : Assignment
    people : int, optional
        By default as few as can be: ``plan.raters`` for each subset.
    seed : int

    Returns
    -------
    DataFrame
        ``rater`` (from 1), ``subset`` (from 1), ``order`` (from 1 for each rater), ``item_id, repeat``; of a
        person's items the share ``plan.repeats``, drawn at random, comes once more after all others.

    Raises
    ------
    InputError
        A column is missing, an item is there twice, a topic has one type twice, or people are too few.

    Examples
    --------
    >>> names = ["a1", "a2", "b1", "b2"]
    >>> items = pd.DataFrame({"item_id": names, "topic": list("aabb"), "type": [1, 2, 1, 2]})
    >>> plan = Assignment(within="topic", across="type", raters=1)
    >>> assign_raters(items, plan, None, seed=1).groupby("rater")["item_id"].apply(sorted).tolist()
    [['a1', 'b2'], ['a2', 'b1']]
    """
    _check_items(items, plan)
    rng = stream(seed, "assignment")
    kind, types = pd.factorize(items[plan.across], sort=True)
    topic = _shuffled_ranks(items[plan.within], rng)
    modality = pd.factorize(items["modality"])[0] if "modality" in items else np.zeros(len(items), dtype=int)
    subset = (topic + kind) % len(types)
    team = _team_sizes(np.bincount(subset, minlength=len(types)), plan.raters, people)
    rows: list[pd.DataFrame] = []
    first = 1
    for number, size in enumerate(team):
        mine = np.flatnonzero(subset == number)
        mine = mine[np.argsort(topic[mine])]
        chosen = _spread(kind[mine], modality[mine], int(size), plan.raters, rng)
        for person in range(size):
            held = rng.permutation(mine[(chosen == person).any(axis=1)])
            again = rng.permutation(held)[: round(plan.repeats * len(held))]
            rows.append(_rows(items, first + person, number + 1, held, again))
        first += int(size)
    return pd.concat(rows, ignore_index=True)


def _check_items(items: pd.DataFrame, plan: Assignment) -> None:
    require_columns(items, ["item_id", plan.within, plan.across], "items")
    if items.empty:
        raise InputError("items: there are no rows; give items to be rated.")
    for column in ("item_id", plan.within, plan.across):
        if items[column].isna().any():
            row = int(items[column].isna().to_numpy().argmax()) + 1
            raise InputError(f"items: row {row} of column '{column}' is empty; fill it in.")
    for columns in (["item_id"], [plan.within, plan.across]):
        twice = items.duplicated(columns).to_numpy()
        if twice.any():
            row = int(twice.argmax())
            what = ", ".join(f"{name} {items[name].iloc[row]}" for name in columns)
            raise InputError(f"items: row {row + 1} repeats {what}; keep one item.")


def _shuffled_ranks(topics: pd.Series[str], rng: np.random.Generator) -> Integers:
    """Number the topics in random order, shape (n,)."""
    codes, names = pd.factorize(topics)
    return np.asarray(rng.permutation(len(names))[codes], dtype=np.int64)


def _team_sizes(sizes: Integers, raters: int, people: int | None) -> Integers:
    """Share people out among subsets by their number of items; each has at least ``raters`` of them."""
    used = sizes > 0
    least = raters * int(used.sum())
    people = least if people is None else people
    if people < least:
        raise InputError(
            f"There are {people} people, but {raters} for each of {int(used.sum())} subsets are needed; have "
            f"{least} or more."
        )
    team = np.where(used, raters, 0)
    for _ in range(people - least):
        team[int(np.argmax(sizes / np.maximum(team, 1)))] += 1
    return team


def _spread(
    kind: Integers, modality: Integers, people: int, raters: int, rng: np.random.Generator
) -> Integers:
    """Choose the people of each item, shape (items, raters)."""
    load = np.zeros(people, dtype=np.int64)
    met = np.zeros((people, kind.max(initial=0) + 1), dtype=np.int64)
    seen = np.zeros((people, modality.max(initial=0) + 1), dtype=np.int64)
    chosen = np.empty((len(kind), raters), dtype=np.int64)
    for row, (one, shown) in enumerate(zip(kind, modality, strict=True)):
        order = np.lexsort((rng.random(people), seen[:, shown], met[:, one], load))
        found = order[:raters]
        load[found] += 1
        met[found, one] += 1
        seen[found, shown] += 1
        chosen[row] = found
    return chosen


def _rows(items: pd.DataFrame, rater: int, subset: int, held: Integers, again: Integers) -> pd.DataFrame:
    rows = np.concatenate([held, again])
    return pd.DataFrame(
        {
            "rater": rater,
            "subset": subset,
            "order": np.arange(1, len(rows) + 1),
            "item_id": items["item_id"].astype("string").array.take(rows),
            "repeat": pd.array(np.arange(len(rows)) >= len(held), dtype="boolean"),
        }
    )


TABLES = ("tasks", "profiles", "posts")
CHUNK = 5000  # rows that are hashed at a time


@dataclass(frozen=True)
class DrawnDesign:
    """The tasks that all models share, and their profiles.

    Attributes
    ----------
    tasks : DataFrame
        ``task_id, position, profile_id, judge_id, task, repeat, repeat_of``; two rows per task.
    profiles : DataFrame
        ``profile_id``, attributes, derived attributes and stimuli of the profiles that occur in tasks.
    posts : DataFrame
        ``profile_id`` and the fields that a judge is shown.
    drawn : dict
        ``pairs, swapped_share, seed``, and ``restrictions`` where there are any.
    """

    tasks: pd.DataFrame
    profiles: pd.DataFrame
    posts: pd.DataFrame
    drawn: dict[str, Any]

    def first_pairs(self, pairs: int | None) -> pd.DataFrame:
        """Tasks of the first pairs and of their swapped repeats; all tasks where ``pairs`` is None."""
        if pairs is None:
            return self.tasks
        original = self.tasks["task_id"].str.removesuffix(SWAPPED_SUFFIX)
        wanted = original[~self.tasks["repeat"].astype(bool)].unique()[:pairs]
        if len(wanted) < pairs:
            raise InputError(
                f"The design has {len(wanted):,} pairs, so the first {pairs:,} cannot be asked; ask fewer or "
                "draw a larger design into another folder."
            )
        return self.tasks[original.isin(wanted).to_numpy()]

    def sha256(self) -> str:
        """Hash of tasks and posts."""
        digest = hashlib.sha256()
        for table in (self.tasks[["task_id", "position", "profile_id"]], self.posts):
            for start in range(0, len(table), CHUNK):
                rows = table.iloc[start : start + CHUNK].astype("string")
                digest.update(pd.util.hash_pandas_object(rows, index=False).to_numpy().tobytes())
        return digest.hexdigest()


def draw_design(study: Study, pairs: int, swapped_share: float, seed: int) -> DrawnDesign:
    """Draw the tasks of a conjoint for models, as in `conjury.inference.simulation.conjoint.simulate`."""
    if pairs < 1:
        raise InputError(f"The number of pairs is {pairs}; ask for at least one.")
    if not 0 <= swapped_share <= 1:
        raise InputError(f"The share of swapped pairs is {swapped_share:g}; give one from 0 to 1.")
    everything = enumerate_profiles(study)
    rows, swapped = draw_shared_pairs(everything, pairs, swapped_share, seed)
    tasks = shared_table(everything["profile_id"].to_numpy()[rows], swapped)
    used = everything.iloc[np.unique(rows)].drop(columns="probability").reset_index(drop=True)
    drawn = {"pairs": pairs, "swapped_share": swapped_share, "seed": seed, **restrictions_of(study)}
    return DrawnDesign(tasks, used, _posts(study, used, seed), drawn)


def restrictions_of(study: Study) -> dict[str, Any]:
    """State the combinations that a design leaves out; empty where there are none."""
    named = [part.levels for part in study.design.restrictions]
    return {"restrictions": named} if named else {}


def check_restrictions(study: Study, design: DrawnDesign, run: Path) -> None:
    """Refuse a design that was drawn with other attributes or restrictions than those of the study file."""
    missing = [one.id for one in study.attributes if one.id not in design.profiles]
    if missing:
        raise InputError(
            f"{run}: the design was drawn without {listed(missing)}, which the study file has now; draw a "
            "new design into another folder with --out."
        )
    if design.drawn.get("restrictions") != restrictions_of(study).get("restrictions"):
        raise InputError(
            f"{run}: the design was drawn under other restrictions than the study file has now; restore "
            "them, or draw a new design into another folder with --out."
        )


def _posts(study: Study, profiles: pd.DataFrame, seed: int) -> pd.DataFrame:
    if study.content is None:
        return label_fields(study, profiles)
    kit = load_posts(study.folder, study.content, profile_values(study))
    return kit.posts(profiles, seed)


def save_design(design: DrawnDesign, folder: Path) -> None:
    """Write a design; ``design.json`` comes last and makes it valid."""
    for name in TABLES:
        write_table(getattr(design, name), folder / f"{name}.parquet")
    draft = folder / ".design.json.tmp"
    draft.write_text(json.dumps(design.drawn, indent=2) + "\n", encoding="utf-8")
    draft.replace(folder / "design.json")


def load_design(folder: Path) -> DrawnDesign | None:
    """Read a design, or return None where there is none."""
    facts = folder / "design.json"
    if not facts.is_file():
        return None
    try:
        drawn = parse_json(read_content(facts, EXPORT_BYTES).decode("utf-8"))
    except ValueError:
        drawn = None
    if not isinstance(drawn, dict):
        raise InputError(f"{facts}: the file is damaged; run `conjury design` again.")
    tables = {name: read_table(folder / f"{name}.parquet") for name in TABLES}
    source = str(folder / "tasks.parquet")
    require_columns(tables["tasks"], ["task_id", "position", "profile_id", "repeat"], source)
    tasks = tables["tasks"].assign(
        task_id=coerce(tables["tasks"]["task_id"], "string", source),
        repeat=coerce(tables["tasks"]["repeat"], "boolean", source),
    )
    if (tasks.groupby("task_id", dropna=False).size() != len(POSITIONS)).any():
        raise InputError(f"{source}: a task has not two profiles; run `conjury design` again.")
    if "repeat_of" not in tasks:
        original = tasks["task_id"].str.removesuffix(SWAPPED_SUFFIX)
        tasks["repeat_of"] = original.where(tasks["repeat"].to_numpy(bool))
    return DrawnDesign(tasks, tables["profiles"], tables["posts"], drawn)


def save_assignment(assignment: pd.DataFrame, folder: Path) -> None:
    """Write who rates what, as Parquet and as CSV."""
    path = folder / "assignment.parquet"
    if path.is_file() and not read_table(path).equals(assignment):
        raise InputError(
            f"{path}: there is another assignment already, drawn with other items, people or seed; draw the "
            "new one into another folder with --out."
        )
    write_table(assignment, path)
    write_table(assignment, path.with_suffix(".csv"))
