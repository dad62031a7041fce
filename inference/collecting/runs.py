"""A run's folder, and what a study puts before models: the design of a conjoint or a table of items."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..design.drawn import (
    DrawnDesign,
    check_restrictions,
    draw_design,
    load_design,
    restrictions_of,
    save_design,
)
from ..design.subjects import Subject, SubjectTable, is_single, pair_subjects, single_subjects, takes
from ..errors import InputError
from ..ledger import Ledger
from ..readers.item_columns import judged_texts, lines_of, strata_of, with_texts
from ..requests.media_parts import MediaParts
from ..study.models import ItemStudy, Study
from ..tables.files import read_table
from ..vignettes.pictures import Pictures
from .run_inputs import design_facts

PROFILE = "profile_"


@dataclass(frozen=True)
class RunContent:
    """What models are shown, and what identifies it.

    Attributes
    ----------
    subjects : callable
        Makes an iterator over all subjects anew.
    count : int
    facts : dict
        As :func:`conjury.inference.collecting.run_inputs.run_facts` takes them.
    shown : callable
        Judged texts of a subject, by its name.
    tasks, profiles : DataFrame or None
        The design, where the study is a conjoint of pairs.
    put_to : mapping of str to int
        Number of subjects of each prompt that is put to some of them only.
    lines : callable
        Number of lines of a subject in a column, by the names of column and subject.
    """

    subjects: Callable[[], Iterator[Subject]]
    count: int
    facts: dict[str, Any]
    shown: Callable[[str], Sequence[str]]
    tasks: pd.DataFrame | None = None
    profiles: pd.DataFrame | None = None
    put_to: Mapping[str, int] = field(default_factory=dict)
    lines: Callable[[str, str], int] = lambda column, subject: 0


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
        """Draw the design of a study, or return the one that is there if it is the same.

        It is written into the folder unless ``keep`` is False.
        """
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
    ) -> RunContent:
        """Gather what models are shown; a conjoint without a design gets the one its study file describes.

        Nothing is written unless ``keep`` is True. Where ``images`` of profiles are shown, ``pictures`` says
        which; without them it is the column ``media`` of the posts.
        """
        if isinstance(study, ItemStudy):
            return _items(study, pairs, images)
        design = self.design or self.draw(study, None, None, None, keep)
        check_restrictions(study, design, self.path)
        return _profiles(study, design, pairs, images, pictures)

    def media(
        self, study: Study | ItemStudy, ledger: Ledger | None, pictures: Pictures | None = None
    ) -> MediaParts:
        """Return what turns images and clips of subjects into parts of messages; files are stored by hash."""
        folder = study.folder if pictures is None else pictures.root
        return MediaParts(folder, study.collect, ledger, self.path / "cuts")


def _profiles(
    study: Study, design: DrawnDesign, pairs: int | None, images: bool, pictures: Pictures | None
) -> RunContent:
    tasks = design.first_pairs(pairs)
    if images and pictures is None and "media" not in design.posts:
        raise InputError(
            "The posts of the design have no pictures; collect with --stimuli text, or add a column 'media' "
            "to posts.parquet in the folder of the design."
        )
    fields = study.collect.fields
    if fields is not None and study.content is None:
        fields = [study.feature_labels.get(name, name) for name in fields]
    kinds = ["image"] * len(design.posts) if images else None
    versions = pictures.of(design.posts["profile_id"]) if pictures is not None else None
    table = SubjectTable(design.posts, "profile_id", fields, kinds, versions=versions)
    facts = design_facts(design, images)
    if pictures is not None and pictures.links:
        facts["stimuli"] = "links"
    if is_single(study):
        names = sorted(set(tasks["profile_id"].tolist()))
        return RunContent(
            lambda: single_subjects(names, table, study.collect.seed, PROFILE),
            len(names),
            facts,
            lambda name: _texts(table, [int(name.removeprefix(PROFILE))]),
        )
    everywhere = design.tasks.sort_values(["task_id", "position"], kind="stable")
    pairs_of = everywhere["profile_id"].to_numpy().reshape(-1, 2).tolist()
    sides = dict(zip(everywhere["task_id"].iloc[::2], pairs_of, strict=True))
    return RunContent(
        lambda: pair_subjects(tasks, table, study.collect.seed),
        len(tasks) // 2,
        facts,
        lambda name: _texts(table, sides.get(name, [])),
        design.tasks,
        design.profiles,
    )


def _items(study: ItemStudy, first: int | None, images: bool) -> RunContent:
    path = (study.folder / study.items).resolve()
    if not path.is_relative_to(study.folder.resolve()):
        raise InputError(f"{study.items}: the items lie outside the folder of the study; move them there.")
    items = with_texts(read_table(path, "items").iloc[:first])
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
