"""The design of a run: which profiles meet in which task, and which items each person rates."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InputError, check_share, listed
from ..study.models import Study
from ..study.study_fields import Assignment
from ..tables.columns import coerce, stream
from ..tables.files import read_table, write_table
from ..tables.frames import any_frame
from ..tables.limits import read_json
from ..tables.schema import PAIR_KIND, POSITIONS, SAMPLING, SWAPPED_SUFFIX, fields_of, require_columns
from ..tables.writing import write_text
from .profiles import draw_shared_pairs, enumerate_profiles, shared_table
from .stimuli import load_posts, profile_values
from .subjects import label_fields
from .task_panels import TaskPanel, check_asked, check_same_pairs, no_people_error
from .testing_pairs import DESIGN, check_instrument, instrument_of, is_added, testing_rows, with_testing_pairs

Integers = NDArray[np.int64]


@any_frame
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
        The columns that name topics and types, the raters per item, and the share of repeats.
    people : int, optional
        By default as few as can be: ``plan.raters`` for each subset.
    seed : int
        Seed of the assignment.

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
        members = np.flatnonzero(subset == number)
        members = members[np.argsort(topic[members])]
        chosen = _assign_people(kind[members], modality[members], int(size), plan.raters, rng)
        for person in range(size):
            rows_of_person = rng.permutation(members[(chosen == person).any(axis=1)])
            repeats = rng.permutation(rows_of_person)[: round(plan.repeats * len(rows_of_person))]
            rows.append(_rater_rows(items, first + person, number + 1, rows_of_person, repeats))
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
        is_duplicate = items.duplicated(columns).to_numpy()
        if is_duplicate.any():
            row = int(is_duplicate.argmax())
            what = ", ".join(f"{name} {items[name].iloc[row]}" for name in columns)
            raise InputError(f"items: row {row + 1} repeats {what}; keep one item.")


def _shuffled_ranks(topics: pd.Series[str], rng: np.random.Generator) -> Integers:
    """Number the topics in random order, shape (n,)."""
    codes, names = pd.factorize(topics)
    return np.asarray(rng.permutation(len(names))[codes], dtype=np.int64)


def _team_sizes(sizes: Integers, raters: int, people: int | None) -> Integers:
    """Share people out among subsets by their number of items; each has at least ``raters`` of them."""
    mask = sizes > 0
    least = raters * int(mask.sum())
    people = least if people is None else people
    if people < least:
        raise InputError(
            f"There are {people} people, but {raters} are needed for each of {int(mask.sum())} subsets; use "
            f"at least {least}."
        )
    team = np.where(mask, raters, 0)
    for _ in range(people - least):
        team[int(np.argmax(sizes / np.maximum(team, 1)))] += 1
    return team


def _assign_people(
    kind: Integers, modality: Integers, people: int, raters: int, rng: np.random.Generator
) -> Integers:
    """Choose the people of each item, shape (items, raters)."""
    load = np.zeros(people, dtype=np.int64)
    kind_counts = np.zeros((people, kind.max(initial=0) + 1), dtype=np.int64)
    modality_counts = np.zeros((people, modality.max(initial=0) + 1), dtype=np.int64)
    chosen = np.empty((len(kind), raters), dtype=np.int64)
    for row, (item_kind, item_modality) in enumerate(zip(kind, modality, strict=True)):
        order = np.lexsort(
            (rng.random(people), modality_counts[:, item_modality], kind_counts[:, item_kind], load)
        )
        raters_of_item = order[:raters]
        load[raters_of_item] += 1
        kind_counts[raters_of_item, item_kind] += 1
        modality_counts[raters_of_item, item_modality] += 1
        chosen[row] = raters_of_item
    return chosen


def _rater_rows(
    items: pd.DataFrame, rater: int, subset: int, first_rows: Integers, repeats: Integers
) -> pd.DataFrame:
    rows = np.concatenate([first_rows, repeats])
    return pd.DataFrame(
        {
            "rater": rater,
            "subset": subset,
            "order": np.arange(1, len(rows) + 1),
            "item_id": items["item_id"].astype("string").array.take(rows),
            "repeat": pd.array(np.arange(len(rows)) >= len(first_rows), dtype="boolean"),
        }
    )


TABLES = ("tasks", "profiles", "posts")
PANEL = "panel_tasks"
CHUNK = 5000  # rows that are hashed at a time


@dataclass(frozen=True)
class DrawnDesign:
    """The tasks that all models share, those of people, and their profiles."""

    # `task_id, position, profile_id, judge_id, task, repeat, repeat_of`; two rows per task. Where people's
    # tasks were sampled from them, `sampling_probability` is that of each. Where the study has an instrument,
    # `pair_kind` is that of each
    tasks: pd.DataFrame
    # `profile_id`, attributes, derived attributes and stimuli of the profiles that occur in tasks
    profiles: pd.DataFrame
    posts: pd.DataFrame  # `profile_id` and the fields that a judge is shown
    # `pairs, swapped_share, seed`, and `restrictions` and `instrument` where there are any
    drawn: dict[str, Any]
    # the tasks of people, where there are any
    panel: TaskPanel | None = None

    def asked(self, which: str = "models") -> pd.DataFrame:
        """Tasks that models are asked about: the pairs drawn for models, those of the panel, or all."""
        # Of the panel's, each task is there once; what a respondent sees again is not.
        check_asked(which)
        if which == "models" or (which == "all" and self.panel is None):
            return self.tasks
        if self.panel is None:
            raise no_people_error()
        people = self.panel.distinct()
        new = people[~people["task_id"].isin(self.tasks["task_id"])]
        unknown = dict.fromkeys(("judge_id", "task"), pd.array([pd.NA] * len(new), "string"))
        new = new.assign(**unknown, **{PAIR_KIND: DESIGN})
        shared = self.tasks
        if which == "panel":
            shared = shared[shared["task_id"].isin(people["task_id"]).to_numpy()]
        if SAMPLING not in shared:
            shared = shared.assign(**{SAMPLING: np.nan})
        if new.empty:
            return shared.reset_index(drop=True)
        parts = [shared, new[list(shared.columns)].astype(shared.dtypes.to_dict())]
        return pd.concat([part for part in parts if len(part)], ignore_index=True)

    def first_pairs(self, pairs: int | None, which: str = "models") -> pd.DataFrame:
        """Tasks of the first pairs and of their swapped repeats; all tasks where ``pairs`` is None."""
        # Vacuum and same-quality pairs are among them in any case.
        tasks = self.asked(which)
        if pairs is None:
            return tasks
        original = tasks["task_id"].str.removesuffix(SWAPPED_SUFFIX)
        added = is_added(tasks)
        names = original[~tasks["repeat"].astype(bool) & ~added].unique()[:pairs]
        if len(names) < pairs:
            raise InputError(
                f"The design has {len(names):,} pairs, so the first {pairs:,} cannot be used; use fewer, or "
                "draw a larger design into another folder."
            )
        return tasks[(original.isin(names) | added).to_numpy()]

    def sha256(self) -> str:
        """Hash of the pairs of models and their posts."""
        return self._hash(self.tasks)

    def panel_sha256(self) -> str | None:
        """Hash of the tasks of people that are no pairs of models, and their posts; None where all are."""
        if self.panel is None:
            return None
        people = self.asked("panel")
        tasks = people[~people["task_id"].isin(self.tasks["task_id"])]
        return self._hash(tasks) if len(tasks) else None

    def _hash(self, tasks: pd.DataFrame) -> str:
        """Hash of tasks and of the posts that they show."""
        digest = hashlib.sha256()
        for table in (tasks[["task_id", "position", "profile_id"]], self.posts):
            mask = table["profile_id"].isin(tasks["profile_id"]).to_numpy()
            for start in range(0, len(table), CHUNK):
                rows = table.iloc[start : start + CHUNK][mask[start : start + CHUNK]].astype("string")
                digest.update(pd.util.hash_pandas_object(rows, index=False).to_numpy().tobytes())
        return digest.hexdigest()


def draw_design(study: Study, pairs: int, swapped_share: float, seed: int) -> DrawnDesign:
    """Draw the tasks of a conjoint for models, as simulated studies have them."""
    if pairs < 1:
        raise InputError(f"The number of pairs is {pairs}; give at least 1.")
    check_share("The share of swapped pairs is", swapped_share, "give one from 0 to 1", closed=True)
    all_profiles = enumerate_profiles(study)
    rows, swapped = draw_shared_pairs(all_profiles, pairs, swapped_share, seed)
    numbers = all_profiles["profile_id"].to_numpy()
    tasks = shared_table(numbers[rows], swapped)
    if study.instrument is not None:
        further = testing_rows(study, all_profiles, study.instrument, seed)
        tasks = with_testing_pairs(tasks, numbers[further], study.instrument, len(swapped) == pairs)
        rows = np.concatenate([rows, further])
    profiles = all_profiles.iloc[np.unique(rows)].drop(columns="probability").reset_index(drop=True)
    settings = {"pairs": pairs, "swapped_share": swapped_share, "seed": seed}
    facts = {**settings, **restrictions_of(study), **instrument_of(study)}
    return DrawnDesign(tasks, profiles, _posts(study, profiles, seed), facts)


def restrictions_of(study: Study) -> dict[str, Any]:
    """State the combinations that a design leaves out; empty where there are none."""
    restrictions = [part.levels for part in study.design.restrictions]
    return {"restrictions": restrictions} if restrictions else {}


def check_restrictions(study: Study, design: DrawnDesign, run: Path) -> None:
    """Refuse a design that was drawn with other attributes or restrictions than those of the study file."""
    missing = [attribute.id for attribute in study.attributes if attribute.id not in design.profiles]
    if missing:
        raise InputError(
            f"{run}: the design was drawn without {listed(missing)}, which the study file now contains; draw "
            "a new design into another folder with --out."
        )
    if design.drawn.get("restrictions") != restrictions_of(study).get("restrictions"):
        raise InputError(
            f"{run}: the restrictions of the study file have changed since the design was drawn; restore "
            "them, or draw a new design into another folder with --out."
        )
    check_instrument(study, design.drawn, run)


def check_posts(study: Study, design: DrawnDesign, run: Path) -> None:
    """Refuse a design whose posts are not those that the study makes now, as after an edit of labels."""
    now = _posts(study, design.profiles, design.drawn["seed"]).set_index("profile_id")
    then = design.posts.set_index("profile_id")
    now = now.reindex(then.index).astype("string")
    changed = [name for name in now if name not in then or not then[name].astype("string").equals(now[name])]
    if changed:
        folder = run / "design"
        raise InputError(
            f"{folder}: its posts differ from those of the current study files (in {listed(changed)}); "
            f"restore the study, give another folder by --out, or delete {folder} if no answers have "
            f"been collected yet."
        )


def _posts(study: Study, profiles: pd.DataFrame, seed: int) -> pd.DataFrame:
    if study.content is None:
        return label_fields(study, profiles)
    kit = load_posts(study.folder, study.content, profile_values(study))
    return kit.posts(profiles, seed)


def with_panel(study: Study, design: DrawnDesign, profiles: pd.DataFrame, panel: TaskPanel) -> DrawnDesign:
    """Add tasks of people to a design, and what they show to its profiles and posts."""
    # `profiles` are all of the study, as from `enumerate_profiles`.
    check_same_pairs(design.tasks, panel.tasks, "The tasks of people")
    profile_ids = design.profiles["profile_id"]
    new = sorted(set(panel.tasks["profile_id"]) - set(profile_ids))
    if not new:
        return replace(design, panel=panel)
    all_profiles = profiles.drop(columns="probability").set_index("profile_id", drop=False)
    new_profiles = all_profiles.loc[new].reset_index(drop=True)
    union = all_profiles.loc[[*profile_ids, *new]].reset_index(drop=True)
    posts = pd.concat([design.posts, _posts(study, new_profiles, design.drawn["seed"])], ignore_index=True)
    return replace(design, profiles=union, posts=posts, panel=panel)


def save_design(design: DrawnDesign, folder: Path) -> None:
    """Write a design; ``design.json`` comes last and makes it valid."""
    for name in TABLES:
        write_table(getattr(design, name), folder / f"{name}.parquet")
    facts = dict(design.drawn)
    if design.panel is not None:
        facts["panel"] = design.panel.drawn
        write_table(design.panel.tasks, folder / f"{PANEL}.parquet")
        write_table(_choice_sheet(design, design.panel), folder / f"{PANEL}.csv")
    write_text(folder / "design.json", json.dumps(facts, indent=2) + "\n")


def _choice_sheet(design: DrawnDesign, panel: TaskPanel) -> pd.DataFrame:
    """Tasks of people with what their profiles show, in the columns of choices; ``chosen`` is to be added."""
    sheet = panel.tasks.merge(design.profiles, on="profile_id", how="left")
    sheet = sheet.rename(columns={"task_id": "pair_id"})
    sheet.insert(1, "judge_kind", "human")
    return sheet


def load_design(folder: Path) -> DrawnDesign | None:
    """Read a design, or return None where there is none."""
    facts = folder / "design.json"
    if not facts.is_file():
        return None
    design_facts = read_json(facts, "run `conjury design` again")
    if not isinstance(design_facts, dict):
        raise InputError(f"{facts}: the file should contain one mapping; run `conjury design` again.")
    tables = {name: read_table(folder / f"{name}.parquet") for name in TABLES}
    source = str(folder / "tasks.parquet")
    require_columns(tables["tasks"], ["task_id", "position", "profile_id", "repeat"], source)
    tasks = tables["tasks"].assign(
        task_id=coerce(tables["tasks"]["task_id"], "string", source),
        repeat=coerce(tables["tasks"]["repeat"], "boolean", source),
    )
    if (tasks.groupby("task_id", dropna=False).size() != len(POSITIONS)).any():
        raise InputError(f"{source}: a task does not have two profiles; run `conjury design` again.")
    if "repeat_of" not in tasks:
        original = tasks["task_id"].str.removesuffix(SWAPPED_SUFFIX)
        tasks["repeat_of"] = original.where(tasks["repeat"].to_numpy(bool))
    facts, panel = design_facts.pop("panel", None), None
    if isinstance(facts, dict):
        panel = TaskPanel(_panel_tasks(folder / f"{PANEL}.parquet"), facts)
    return DrawnDesign(tasks, tables["profiles"], tables["posts"], design_facts, panel)


def _panel_tasks(path: Path) -> pd.DataFrame:
    """Read the tasks of people, each column in the type of the contract."""
    table, fields = read_table(path), fields_of(PANEL)
    require_columns(table, list(fields), str(path))
    for name, field in fields.items():
        table[name] = coerce(table[name], field.kind, str(path), field.levels)
    return table


def save_assignment(assignment: pd.DataFrame, folder: Path) -> None:
    """Write who rates what, as Parquet and as CSV."""
    path = folder / "assignment.parquet"
    if path.is_file() and not read_table(path).equals(assignment):
        raise InputError(
            f"{path}: the folder already contains another assignment, drawn with other items, people or "
            "seed; draw the new one into another folder with --out."
        )
    write_table(assignment, path)
    write_table(assignment, path.with_suffix(".csv"))
