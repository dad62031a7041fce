"""Who sees what: the planned tasks of each slot, and what they show.

A slot is one participation that is wanted: a planned set of tasks with a name such as ``human_0007``. Of a
conjoint, slots are the people of the design (`conjury.inference.design.task_panels`); of items, the raters
of the study's Latin square, or draws that show every item equally often. Positions are those of the design,
which draws them at random, so that a pair has one name and the same positions for people and models. The
order of tasks is drawn from the seed for each slot, so everybody who is given a slot sees the same; a
swapped repeat stays last. Nothing is drawn twice: the same study, folder and seed give the same plan on
every host, and a hash of it in the database proves it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..collecting.past_runs import run_folder
from ..collecting.people_tasks import PeoplePlan, add_people
from ..collecting.run_folder import RunFolder
from ..design.profiles import draw_panel, enumerate_profiles
from ..design.run_design import DrawnDesign, assign_raters, check_restrictions, save_assignment
from ..design.task_panels import panel_name
from ..errors import InputError, counted
from ..study.asking import Choice, Label, LineLabels
from ..study.load import load_any_study
from ..study.models import AnyStudy, ItemStudy, Study
from ..study.panel_section import PanelSection
from ..tables.columns import stream
from ..tables.files import file_hash, read_table
from ..tables.limits import RESPONDENTS, read_json
from ..tables.schema import POSITIONS, SAMPLING
from ..tables.writing import atomic_write
from .displayed_fields import ShownItems, shown_items, shown_profiles

PRACTICE = "practice"
PANEL_FILE = "panel.json"


@dataclass(frozen=True)
class PlannedTask:
    """One task as it is shown.

    Parameters
    ----------
    name : str
        Name of the pair (``task_id``) or of the item.
    subjects : tuple of str
        Numbers of the profiles in positions A and B, or the item.
    repeat_of : str, optional
        Name of the task that is shown again.
    sampling : float, optional
        Probability with which the task was sampled, where it was.

    Examples
    --------
    >>> task = PlannedTask("pair_17", ("33", "34"), repeat_of="pair_2")
    >>> task.name, task.repeat_of
    ('pair_17', 'pair_2')
    """

    name: str  # task_id of a pair, or item_id
    subjects: tuple[str, ...]  # profile numbers in positions A and B, or the item
    repeat_of: str | None = None
    sampling: float | None = None


@dataclass(frozen=True)
class Slot:
    """The planned tasks of one participation.

    Parameters
    ----------
    number : int
        Number of the slot, from 1.
    name : str
        Name of the slot, the ``judge_id`` of whoever fills it.
    tasks : tuple of PlannedTask
        Tasks in the order in which they are shown.
    practice : PlannedTask, optional
        A task that comes first and is not analysed.

    Examples
    --------
    >>> slot = Slot(1, "human_0001", (PlannedTask("pair_17", ("33", "34")),))
    >>> slot.name, len(slot.tasks)
    ('human_0001', 1)
    """

    number: int
    name: str
    tasks: tuple[PlannedTask, ...]
    practice: PlannedTask | None = None


@dataclass(frozen=True)
class PanelPlan:
    """A study as people take part in it.

    Parameters
    ----------
    study, section
        The study and its section ``panel``, with defaults where it has none.
    folder : Path
        Folder of the run, which keeps design, database and tables.
    slots : tuple of Slot
        The planned participations, by number.
    shown : ShownItems
        What profiles or items show, by number or id.
    design : DrawnDesign or None
        The design that the tasks are from; None for a study of items.
    by_number : mapping of int to Slot
        Slots by their number; made from ``slots``.

    Examples
    --------
    >>> import tempfile
    >>> plan = make_plan("moderation", people=2, out=tempfile.mkdtemp())
    >>> plan.study.name, plan.by_number[2].name, len(plan.sha256())
    ('moderation', 'human_0002', 64)
    """

    study: Study | ItemStudy
    section: PanelSection
    folder: Path
    slots: tuple[Slot, ...]
    shown: ShownItems
    design: DrawnDesign | None = None
    by_number: Mapping[int, Slot] = field(default_factory=dict)

    def sha256(self) -> str:
        """Hash of who sees what on which pages, and of how it is answered.

        What is seen is the words, and the content of pictures and clips. Texts of pages may change.
        """
        section, digest = self.section, hashlib.sha256()
        pages = (section.consent is not None, section.instructions is not None)
        digest.update(repr((self.study.response, *pages, section.attention, section.questions)).encode())
        further = filter(None, (section.comprehension, *section.task_questions))
        digest.update("".join(map(repr, further)).encode())
        for slot in self.slots:
            digest.update(repr((slot.number, slot.name, slot.tasks, slot.practice)).encode())
        every = (task for slot in self.slots for task in (*slot.tasks, slot.practice) if task is not None)
        for name in sorted({name for task in every for name in task.subjects}):
            display = self.shown.of(name)
            content = "" if display.media_name is None else file_hash(self.shown.files[display.media_name][0])
            digest.update(repr((name, display.fields, display.lines, display.kind, content)).encode())
        return digest.hexdigest()


def make_plan(
    study: str | Path | AnyStudy,
    *,
    out: str | Path | None = None,
    people: int | None = None,
    images: bool | None = None,
    pictures: Path = Path("stimuli"),
) -> PanelPlan:
    """Draw or read who sees what, and write the design of the run.

    Parameters
    ----------
    study : str, Path or study
        A study that ships, the path of a study file, or a loaded study.
    out : path, optional
        Folder of the run; by default ``runs/STUDY``.
    people : int, optional
        Number of slots; by default that of the run before, else that of the study file.
    images : bool, optional
        Whether profiles are shown as the pictures that ``conjury render`` has drawn into ``pictures``; by
        default as in the run before, else not.
    pictures : Path
        Folder in which ``conjury render`` keeps pictures.

    Returns
    -------
    PanelPlan
        Slots with their tasks, and what profiles or items show.

    Raises
    ------
    InputError
        For a study whose answers people cannot give on a page, and where the run has another design.

    Examples
    --------
    >>> import tempfile
    >>> plan = make_plan("moderation", people=2, out=tempfile.mkdtemp())
    >>> [slot.name for slot in plan.slots], len(plan.slots[0].tasks)
    (['human_0001', 'human_0002'], 16)
    """
    loaded_study = labelling_study(load_any_study(study) if isinstance(study, str | Path) else study)
    section = loaded_study.panel or PanelSection()
    folder = run_folder(loaded_study, out)
    images = _shows_pictures(folder, images, loaded_study.here)
    if isinstance(loaded_study, ItemStudy):
        plan = _plan_of_items(loaded_study, section, folder, people)
    elif isinstance(loaded_study, Study):
        plan = _plan_of_pairs(loaded_study, section, folder, people, images, pictures)
    else:
        raise InputError(
            f"Study {loaded_study.name} is of no kind that people can judge; use conjoint or items."
        )
    return PanelPlan(**{**vars(plan), "by_number": {slot.number: slot for slot in plan.slots}})


def has_begun(study: AnyStudy, out: str | Path | None) -> bool:
    """Whether the folder of the run has a panel."""
    return (run_folder(study, out).path / "design" / PANEL_FILE).is_file()


def begun_plan(study: AnyStudy, out: str | Path | None) -> PanelPlan:
    """Read the plan of a panel that has begun; InputError where the folder of the run has none."""
    folder = run_folder(study, out).path
    if not has_begun(study, out):
        demo = folder.with_name(f"{folder.name}_demo")
        hint = f" (or --out {demo})" if out is None and demo.is_dir() else ""
        raise InputError(
            f"{folder} has no panel; begin one with `conjury panel {study.here}`, or name its folder with "
            f"--out{hint}."
        )
    return make_plan(study, out=out)


def labelling_study(study: AnyStudy) -> AnyStudy:
    """The study with the labels that people give: its gold labels, where those are not what models answer."""
    gold = study.gold if isinstance(study, ItemStudy) else None
    if gold is None or not gold.levels or not isinstance(study.response, Label | LineLabels):
        return study
    response = study.response.model_copy(update={"labels": gold.levels})
    return study.model_copy(update={"response": response})


def _shows_pictures(folder: RunFolder, images: bool | None, study: str) -> bool:
    """Whether people of a run see pictures; the run keeps it with the name of the study."""
    path = folder.path / "design" / PANEL_FILE
    before = read_json(path, "restore or remove it") if path.exists() else {}
    if not isinstance(before, dict):
        raise InputError(f"{path}: the file should contain one mapping; restore or remove it.")
    chosen = bool(before.get("images", False)) if images is None else images
    settings = {"study": study, "images": chosen}
    if settings != before:
        with atomic_write(path) as file:
            file.write(json.dumps(settings).encode())
    return chosen


# ---- pairs ----


def _plan_of_pairs(
    study: Study, section: PanelSection, folder: RunFolder, people: int | None, images: bool, pictures: Path
) -> PanelPlan:
    if not isinstance(study.response, Choice) or study.collect.form != "pair":
        raise InputError(
            f"Study {study.name} does not ask for a choice between two profiles; people judge conjoints by "
            "choices (response: {form: choice}, collect: {form: pair})."
        )
    design = folder.design
    if design is None or design.panel is None or people is not None:
        n_people = people or section.people or study.design.respondents
        if not 0 < n_people <= RESPONDENTS:
            raise InputError(f"--people {n_people:,}: give a number from 1 to {RESPONDENTS:,}.")
        panel = None if design is None else design.panel
        if design is None or panel is None or panel.tasks["judge_id"].nunique() != n_people:
            design = add_people(study, PeoplePlan(people=n_people), out=folder.path)
    check_restrictions(study, design, folder.path)
    seed = int(design.drawn["seed"])
    assert design.panel is not None
    practice = _practice_pair(study, seed) if section.practice else None
    slots = tuple(_slots_of_pairs(design.panel.tasks, seed, practice))
    further = () if practice is None else tuple(int(name) for name in practice.subjects)
    displays = shown_profiles(study, design, further, images, pictures, folder.path)
    return PanelPlan(study, section, folder.path, slots, displays, design)


def _practice_pair(study: Study, seed: int) -> PlannedTask:
    """Draw a pair that everybody practises on; it is no part of the design."""
    profiles = enumerate_profiles(study)
    probability = profiles["probability"].to_numpy(dtype=float)
    rows = draw_panel(probability, 1, 1, stream(seed, PRACTICE)).reshape(-1)
    return PlannedTask(PRACTICE, tuple(str(profiles["profile_id"].iloc[row]) for row in rows))


def _slots_of_pairs(tasks: pd.DataFrame, seed: int, practice: PlannedTask | None) -> Iterator[Slot]:
    ordered = tasks.sort_values(["judge_id", "task", "position"], kind="stable")
    for number, (judge, judge_rows) in enumerate(ordered.groupby("judge_id", sort=True), start=1):
        first = judge_rows.iloc[:: len(POSITIONS)]
        sides = judge_rows["profile_id"].to_numpy(dtype=np.int64).reshape(-1, len(POSITIONS))
        chances = first[SAMPLING].to_numpy(dtype=float)
        planned = []
        for row, (name, original) in enumerate(zip(first["task_id"], first["repeat_of"], strict=True)):
            chance = None if np.isnan(chances[row]) else float(chances[row])
            pair = tuple(str(profile) for profile in sides[row])
            planned.append(PlannedTask(str(name), pair, None if pd.isna(original) else str(original), chance))
        rng = stream(seed, "presentation", str(judge))
        yield Slot(number, str(judge), order_tasks(planned, rng), practice)


def order_tasks(tasks: Sequence[PlannedTask], rng: np.random.Generator) -> tuple[PlannedTask, ...]:
    """Order tasks at random; what is repeated comes first and its repeat last, as far apart as can be."""
    repeats = [task for task in tasks if task.repeat_of is not None]
    repeated = {task.repeat_of for task in repeats}
    originals = [task for task in tasks if task.name in repeated]
    single_tasks = [task for task in tasks if task.name not in repeated and task.repeat_of is None]
    return (*originals, *(single_tasks[index] for index in rng.permutation(len(single_tasks))), *repeats)


# ---- items ----


def _plan_of_items(
    study: ItemStudy, section: PanelSection, folder: RunFolder, people: int | None
) -> PanelPlan:
    if isinstance(study.response, Choice):
        raise InputError(f"Study {study.name} asks for choices between items; ask for ratings or labels.")
    items = read_table(study.file(study.items), "items")
    panel_items = items[(items["item_id"] != (section.practice_item or "")).to_numpy(bool)].reset_index(
        drop=True
    )
    if section.practice_item is not None and len(panel_items) == len(items):
        raise InputError(
            f"panel.practice_item: there is no item '{section.practice_item}' in {study.items}; name one."
        )
    path = folder.path / "design" / "assignment.parquet"
    if path.is_file() and people is None:
        assignment = read_table(path)
    else:
        assignment = _draw_assignment(study, section, panel_items, people or section.people)
        save_assignment(assignment, folder.path / "design")
    unknown = set(assignment["item_id"].astype(str)) - set(items["item_id"].astype(str))
    if unknown:
        raise InputError(
            f"{path}: {counted(len(unknown), 'item is', 'items are')} not in {study.items}, such as "
            f"{min(unknown)}; draw the assignment anew in another folder with --out."
        )
    practice = None if section.practice_item is None else PlannedTask(PRACTICE, (section.practice_item,))
    name = panel_name_of(study)
    slots = []
    for number, (_, rater_rows) in enumerate(assignment.groupby("rater", sort=True), start=1):
        rows = rater_rows.sort_values("order", kind="stable")
        tasks = tuple(
            PlannedTask(str(item), (str(item),), repeat_of=str(item) if repeat else None)
            for item, repeat in zip(rows["item_id"], rows["repeat"], strict=True)
        )
        slots.append(Slot(number, f"{name}_{number:04d}", tasks, practice))
    lines = study.response.lines if isinstance(study.response, LineLabels) else None
    return PanelPlan(study, section, folder.path, tuple(slots), shown_items(study, items, lines))


def panel_name_of(study: ItemStudy | Study) -> str:
    """Return the id of the first panel of people of a study."""
    if isinstance(study, Study):
        return panel_name(study)
    return next((judge.id for judge in study.judges if judge.kind == "human"), "human")


def _draw_assignment(
    study: ItemStudy, section: PanelSection, items: pd.DataFrame, people: int | None
) -> pd.DataFrame:
    """Draw who judges which items."""
    seed = study.collect.seed
    if study.assignment is not None:
        return assign_raters(items, study.assignment, people, seed)
    if people is None:
        raise InputError(
            f"Study {study.name} does not say how many people take part; write `people` in its section "
            "`panel`, or use --people."
        )
    each = section.items or len(items)
    if each > len(items):
        raise InputError(f"panel.items is {each:,}, but there are {len(items):,} items; ask for fewer.")
    draws = balanced_items(len(items), people, each, stream(seed, "assignment"))
    order = np.tile(np.arange(1, each + 1), people)
    return pd.DataFrame(
        {
            "rater": np.repeat(np.arange(1, people + 1), each),
            "order": order,
            "item_id": items["item_id"].astype("string").array.take(draws.reshape(-1)),
            "repeat": pd.array([False] * len(order), dtype="boolean"),
        }
    )


def balanced_items(items: int, people: int, each: int, rng: np.random.Generator) -> Any:
    """Draw items for people so that all are drawn equally often, to within one; shape (people, each)."""
    load = np.zeros(items, dtype=np.int64)
    draws = np.empty((people, each), dtype=np.int64)
    for person in range(people):
        draws[person] = np.lexsort((rng.random(items), load))[:each]
        load[draws[person]] += 1
        draws[person] = rng.permutation(draws[person])
    return draws


__all__ = ["PanelPlan", "PlannedTask", "Slot", "make_plan"]
