"""A run's folder: the design or items that it puts before models, and the study files it began with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..design.drawn import (
    DrawnDesign,
    check_asked,
    check_restrictions,
    draw_design,
    load_design,
    no_people,
    restrictions_of,
    save_design,
)
from ..design.subjects import Subject, SubjectTable, is_single, pair_subjects, single_subjects, takes
from ..errors import InputError, listed
from ..ledger import Count, Ledger
from ..readers.judgments import judged_texts, lines_of, strata_of, with_texts
from ..requests.media import MediaParts
from ..requests.templates import Templates
from ..study.asking import Sampling
from ..study.base import Part
from ..study.models import ItemStudy, Study
from ..study.parts import Prompt
from ..tables.files import read_table
from ..vignettes.pictures import Pictures

ROUTE = {"base_url", "key_variable", "samples"}  # where and how often a model is asked changes no answer
OPEN = ("prompts", "judges")  # to these a later run may add
ADDED = ("subjects.panel",)  # what a run may have begun without


def run_facts(
    study: Study | ItemStudy,
    judge_id: str,
    ask: Sampling,
    prompts: Sequence[Prompt],
    subjects: Mapping[str, Any],
    drawn: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """State all that requests of a run depend on."""
    templates = Templates(study.folder)
    hashes = {
        prompt.id: {
            field: templates.sha256(name)
            for field, name in (("template", prompt.template), ("user", prompt.user))
            if name is not None
        }
        | ({} if prompt.response is None else {"response": prompt.response.model_dump(exclude_none=True)})
        | ({"pictures": drawn[prompt.cues]} if drawn else {})
        for prompt in prompts
    }
    return {
        **study_facts(study, subjects),
        "prompts": hashes,
        "judges": {judge_id: ask.model_dump(exclude=ROUTE | _usual(ask, "takes"))},
    }


def study_facts(study: Study | ItemStudy, subjects: Mapping[str, Any]) -> dict[str, Any]:
    """State what answers are read by: question, response form, how subjects are shown, and the subjects."""
    return {
        "study": study.name,
        "question": study.question,
        "response": study.response.model_dump(exclude_none=True),
        "collect": study.collect.model_dump(
            exclude={"swapped_share", "media_hosts"} | _usual(study.collect, "video")
        ),
        "subjects": dict(subjects),
    }


def _usual(part: Part, *fields: str) -> set[str]:
    """Name those of the fields that say nothing unusual: runs may have begun before there were any."""
    return {
        name
        for name in fields
        if getattr(part, name) == type(part).model_fields[name].get_default(call_default_factory=True)
    }


def begun_facts(before: dict[str, Any] | None, counts: Sequence[Count]) -> dict[str, Any] | None:
    """Leave out prompts and judges without any request yet; None where nothing has begun."""
    if before is None or not counts:
        return None
    prompts, judges = {count.prompt_id for count in counts}, {count.judge_id for count in counts}
    return {
        **before,
        "prompts": {name: value for name, value in before["prompts"].items() if name in prompts},
        "judges": {name: value for name, value in before["judges"].items() if name in judges},
    }


def check_study(before: dict[str, Any] | None, now: dict[str, Any], run: Path) -> None:
    """Refuse to read answers by a study that has changed since they were asked for."""
    merged_facts({name: value for name, value in (before or {}).items() if name in now} or None, now, run)


def check_answers(before: dict[str, Any] | None, study: Study | ItemStudy, run: Path) -> None:
    """Refuse to read answers to prompts that ask for another form of answer now; raises as above."""
    asked = (before or {}).get("prompts", {})
    now = {
        prompt.id: None if prompt.response is None else prompt.response.model_dump(exclude_none=True)
        for prompt in study.prompts
        if prompt.id in asked
    }
    then = {name: asked[name].get("response") for name in now}
    merged_facts({"prompts": then}, {"prompts": now}, run)


def merged_facts(before: dict[str, Any] | None, now: dict[str, Any], run: Path) -> dict[str, Any]:
    """Add new prompts and judges to the facts of a run."""
    if before is None:
        return now
    changed = list(_differences(before, now, ""))
    if changed:
        raise InputError(
            f"{run}: this run was begun with other inputs, so its answers would not belong together; since "
            f"then there changed {listed(changed, 5)}. Restore them, or collect into another folder "
            "with --out."
        )
    parts = [part for part in (*OPEN, "subjects") if part in now]
    return {**before, **{part: {**before[part], **now[part]} for part in parts}}


def _differences(before: Any, now: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys([*before, *now]):
            inside = f"{place}.{name}" if place else str(name)
            if name in before and name in now:
                yield from _differences(before[name], now[name], inside)
            elif place not in OPEN and (name in before or inside not in ADDED):
                yield inside
    elif before != now:
        short = all(len(repr(value)) <= 40 for value in (before, now))
        hashed = place.endswith(("sha256", "template", "user", "pictures"))
        yield f"{place} (from {before!r} to {now!r})" if short and not hashed else place


PROFILE = "profile_"


@dataclass(frozen=True)
class RunContent:
    """What models are shown, and what identifies it."""

    subjects: Callable[[], Iterator[Subject]]  # makes an iterator over all subjects anew
    count: int
    facts: dict[str, Any]  # as `run_facts` takes them
    shown: Callable[[str], Sequence[str]]  # judged texts of a subject, by its name
    tasks: pd.DataFrame | None = None  # the design, where the study is a conjoint of pairs
    profiles: pd.DataFrame | None = None
    put_to: Mapping[str, int] = field(default_factory=dict)  # subjects of prompts that are put to some only
    lines: Callable[[str, str], int] = lambda column, subject: 0  # of a subject in a column
    names: Collection[str] | None = None  # of the subjects, where these are not all of the run


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps its design, ledger and tables."""

    path: Path

    @property
    def ledger(self) -> Path:
        """The file of the ledger."""
        return self.path / "ledger.sqlite"

    @property
    def batches(self) -> Path:
        """Folder of batch files that wait."""
        return self.path / "batches"

    @cached_property
    def design(self) -> DrawnDesign | None:
        """The design that was drawn, if any."""
        return load_design(self.path / "design")

    def draw(
        self,
        study: Study,
        pairs: int | None,
        swapped_share: float | None,
        seed: int | None,
        keep: bool = True,
    ) -> DrawnDesign:
        """Draw and, with ``keep``, store the design of a study, or return the same one that is there."""
        before = self.design
        collect = study.collect
        wanted: dict[str, Any] = {
            "pairs": study.design.pairs if pairs is None else pairs,
            "swapped_share": collect.swapped_share if swapped_share is None else swapped_share,
            "seed": collect.seed if seed is None else seed,
        }
        if before is not None:
            check_restrictions(study, before, self.path)
            if before.drawn == wanted | restrictions_of(study):
                return before
            said = ", ".join(f"{name} {value}" for name, value in before.drawn.items() if name in wanted)
            raise InputError(
                f"{self.path}: there is another design already ({said}); draw the new one into another "
                "folder with --out."
            )
        design = draw_design(study, **wanted)
        if keep:
            save_design(design, self.path / "design")
        self.__dict__["design"] = design
        return design

    def content(
        self,
        study: Study | ItemStudy,
        pairs: int | None = None,
        images: bool = False,
        keep: bool = True,
        pictures: Pictures | None = None,
        tasks: str = "models",
    ) -> RunContent:
        """Gather what models are shown, of ``pictures`` or the posts' column ``media`` where as images.

        ``tasks`` are the pairs of models, the tasks of people, or all, as in `DrawnDesign.asked`.
        """
        check_asked(tasks)
        if isinstance(study, ItemStudy):
            return _items(study, pairs, images, self._assigned(study) if tasks == "panel" else None)
        self.check_people(study, tasks)
        design = self.design or self.draw(study, None, None, None, keep)
        check_restrictions(study, design, self.path)
        return _profiles(study, design, pairs, images, pictures, tasks)

    def check_people(self, study: Study, tasks: str) -> None:
        """Refuse tasks of people where the run has no design, or one without them."""
        if tasks == "models":
            return
        if self.design is None:
            raise InputError(
                f"--tasks {tasks}: there is no design in {self.path}; draw one that has tasks of people with "
                f"`conjury design {study.here} --people N --out {self.path}`."
            )
        if self.design.panel is None:
            raise no_people(tasks)

    def _assigned(self, study: ItemStudy) -> set[str]:
        """Items that people rate, by the assignment that was drawn."""
        path = self.path / "design" / "assignment.parquet"
        if not path.is_file():
            raise InputError(
                f"--tasks panel: {self.path} does not say which items people rate; draw it with `conjury "
                f"design {study.here}`, or take the items of people's judgments with --panel FILE."
            )
        return set(read_table(path)["item_id"].astype(str))

    def media(
        self, study: Study | ItemStudy, ledger: Ledger | None, pictures: Pictures | None = None
    ) -> MediaParts:
        """Return what turns images and clips of subjects into parts of messages; files are stored by hash."""
        folder = study.folder if pictures is None else pictures.root
        return MediaParts(folder, study.collect, ledger, self.path / "cuts")


def _profiles(
    study: Study,
    design: DrawnDesign,
    pairs: int | None,
    images: bool,
    pictures: Pictures | None,
    which: str,
) -> RunContent:
    tasks, everywhere = design.first_pairs(pairs, which), design.asked("all")
    if images and pictures is None and "media" not in design.posts:
        raise InputError(
            "The posts of the design have no pictures; collect with --stimuli text, or add a column 'media' "
            "to posts.parquet in the folder of the design."
        )
    versions = pictures.of(design.posts["profile_id"]) if pictures is not None else None
    subjects, table = design_subjects(study, tasks, design.posts, images, versions)
    shown = "links" if pictures is not None and pictures.links else "images" if images else "text"
    facts = {**design.drawn, "sha256": design.sha256(), "stimuli": shown}
    own = design.panel_sha256()
    facts |= {} if own is None else {"panel": own}
    part = len(tasks) < len(everywhere)
    if is_single(study):
        names = {f"{PROFILE}{number}" for number in tasks["profile_id"]}
        return RunContent(
            subjects,
            len(names),
            facts,
            lambda name: _texts(table, [int(name.removeprefix(PROFILE))]),
            names=names if part else None,
        )
    by_task = everywhere.sort_values(["task_id", "position"], kind="stable")
    pairs_of = by_task["profile_id"].to_numpy().reshape(-1, 2).tolist()
    sides = dict(zip(by_task["task_id"].iloc[::2], pairs_of, strict=True))
    return RunContent(
        subjects,
        len(tasks) // 2,
        facts,
        lambda name: _texts(table, sides.get(name, [])),
        everywhere,
        design.profiles,
        names=set(tasks["task_id"]) if part else None,
    )


def design_subjects(
    study: Study,
    tasks: pd.DataFrame,
    posts: pd.DataFrame,
    images: bool,
    versions: Mapping[str, Sequence[str]] | None,
) -> tuple[Callable[[], Iterator[Subject]], SubjectTable]:
    """Return what makes an iterator over pairs or single profiles, and the table of what they show."""
    fields, seed = study.collect.fields, study.collect.seed
    if fields is not None and study.content is None:
        fields = [study.feature_labels.get(name, name) for name in fields]
    kinds = ["image"] * len(posts) if images else None
    table = SubjectTable(posts, "profile_id", fields, kinds, versions=versions)
    if is_single(study):
        names = sorted(set(tasks["profile_id"].tolist()))
        return lambda: single_subjects(names, table, seed, PROFILE), table
    return lambda: pair_subjects(tasks, table, seed), table


def _items(study: ItemStudy, first: int | None, images: bool, assigned: set[str] | None) -> RunContent:
    path = (study.folder / study.items).resolve()
    if not path.is_relative_to(study.folder.resolve()):
        raise InputError(f"{study.items}: the items lie outside the folder of the study; move them there.")
    everything = read_table(path, "items")
    items = everything
    if assigned is not None:
        items = items[items["item_id"].isin(assigned).to_numpy()].reset_index(drop=True)
    items = with_texts(items.iloc[:first])
    kinds = _kinds(items, images)
    pictured = np.array(kinds, dtype=bool)
    if pictured.any() and ("media" not in items or items["media"][pictured].isna().any()):
        raise InputError(f"{path}: column 'media' is missing or empty; name the image or clip of every item.")
    fields = study.collect.fields
    table = SubjectTable(items, "item_id", fields, kinds, beside=fields is not None)
    names = items["item_id"].tolist()
    known = set(names)
    strata = strata_of(study, items, str(path))
    put_to = {
        prompt.id: sum(takes(prompt, those) for those in strata.values())
        for prompt in study.prompts
        if prompt.only
    }
    lines = lines_of(study, items, str(path))
    return RunContent(
        lambda: single_subjects(names, table, study.collect.seed, strata=strata),
        len(names),
        {"items": hashlib.sha256(path.read_bytes()).hexdigest()},
        lambda name: judged_texts(_texts(table, known & {name}), bool(lines)),
        put_to=put_to,
        lines=lambda column, name: lines.get(column, {}).get(name, 0),
        names=known if len(items) < len(everything) else None,
    )


def _kinds(items: pd.DataFrame, images: bool) -> list[str]:
    """Say what each item is shown as: "image", "video", or empty for text."""
    modality = [str(kind) for kind in items["modality"]] if "modality" in items else [""] * len(items)
    instead = "image" if images else ""
    return [kind if kind in ("image", "video") else instead for kind in modality]


def _texts(table: SubjectTable, names: Iterable[Any]) -> list[str]:
    return [
        str(value) for name in names for value in table.show(name).fields.values() if isinstance(value, str)
    ]
