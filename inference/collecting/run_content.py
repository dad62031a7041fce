"""What a run puts before models: the pairs, profiles or items, as they are shown, on one occasion."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..design.run_design import DrawnDesign
from ..design.subjects import Subject, SubjectTable, is_single, pair_subjects, single_subjects, takes
from ..design.testing_pairs import ANCHOR
from ..errors import InputError
from ..readers.judgments import judged_texts, lines_of, strata_of, with_texts
from ..study.models import ItemStudy, Study
from ..tables.columns import occasion_name
from ..tables.files import file_hash, read_table
from ..tables.schema import PAIR_KIND

if TYPE_CHECKING:
    from ..requests.profile_pictures import Pictures

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
    n_swapped: int = 0  # pairs that are repeats with exchanged positions


def profile_content(
    study: Study,
    design: DrawnDesign,
    pairs: int | None,
    images: bool,
    pictures: Pictures | None,
    which: str,
    occasion: int,
) -> RunContent:
    """Gather what models are shown of a design; arguments as of `RunFolder.content`."""
    tasks, everywhere = design.first_pairs(pairs, which), design.asked("all")
    if occasion > 1:
        tasks = tasks[(tasks[PAIR_KIND] == ANCHOR).to_numpy(bool)]
    if images and pictures is None and "media" not in design.posts:
        raise InputError(
            "The posts of the design have no pictures; collect with --stimuli text, or add a column 'media' "
            "to posts.parquet in the folder of the design."
        )
    posts = design.posts[design.posts["profile_id"].isin(tasks["profile_id"]).to_numpy()]
    versions = pictures.of(posts["profile_id"]) if pictures is not None else None
    subjects, table = design_subjects(study, tasks, posts, images, versions, occasion)
    all_posts = cache(lambda: design_subjects(study, tasks, design.posts, images=False, versions=None)[1])

    def texts(numbers: Collection[int]) -> list[str]:
        """Texts of profiles; those that only an earlier call asked about are gathered when needed."""
        if images:
            return []
        return _texts(table if all(number in table for number in numbers) else all_posts(), numbers)

    stimuli = "links" if pictures is not None and pictures.links else "images" if images else "text"
    facts = {**design.drawn, "sha256": design.sha256(), "stimuli": stimuli}
    panel_sha256 = design.panel_sha256()
    facts |= {} if panel_sha256 is None else {"panel": panel_sha256}
    part = len(tasks) < len(everywhere) or _has_anchors(study)
    if is_single(study):
        names = {f"{PROFILE}{number}" for number in tasks["profile_id"]}
        return RunContent(
            subjects,
            len(names),
            facts,
            lambda name: texts([int(name.removeprefix(PROFILE))]),
            names=_names_on_occasion(occasion, names) if part else None,
        )
    by_task = everywhere.sort_values(["task_id", "position"], kind="stable")
    pairs_of = by_task["profile_id"].to_numpy().reshape(-1, 2).tolist()
    sides = dict(zip(by_task["task_id"].iloc[::2].tolist(), pairs_of, strict=True))
    return RunContent(
        subjects,
        len(tasks) // 2,
        facts,
        lambda name: texts(sides.get(name, [])),
        everywhere,
        design.profiles,
        names=_names_on_occasion(occasion, tasks["task_id"]) if part else None,
        n_swapped=int(tasks["repeat"].sum()) // 2,
    )


def _has_anchors(study: Study | ItemStudy) -> bool:
    """Whether subjects may be asked on several occasions, so that those of one are a part of the run."""
    return study.instrument is not None and study.instrument.anchors > 0


def _names_on_occasion(occasion: int, names: Iterable[str]) -> set[str]:
    return {occasion_name(str(name), occasion) for name in names}


def design_subjects(
    study: Study,
    tasks: pd.DataFrame,
    posts: pd.DataFrame,
    images: bool,
    versions: Mapping[str, Sequence[str]] | None,
    occasion: int = 1,
) -> tuple[Callable[[], Iterator[Subject]], SubjectTable]:
    """Return what makes an iterator over pairs or single profiles, and the table of what they show."""
    fields, seed = study.collect.fields, study.collect.seed
    if fields is not None and study.content is None:
        fields = [study.feature_labels.get(name, name) for name in fields]
    kinds = ["image"] * len(posts) if images else None
    table = SubjectTable(posts, "profile_id", fields, kinds, versions=versions)
    if is_single(study):
        names = sorted(set(tasks["profile_id"].tolist()))
        anchors = set()
        if PAIR_KIND in tasks:
            anchors = set(tasks.loc[(tasks[PAIR_KIND] == ANCHOR).to_numpy(bool), "profile_id"])
        single = partial(single_subjects, anchors=anchors, occasion=occasion)
        return lambda: single(names, table, seed, PROFILE), table
    return lambda: pair_subjects(tasks, table, seed, occasion), table


def item_content(
    study: ItemStudy, first: int | None, images: bool, assigned: set[str] | None, occasion: int
) -> RunContent:
    """Gather what models are shown of the items of a study, ``assigned`` to people or all."""
    path = study.file(study.items)
    all_items = read_table(path, "items")
    items = all_items
    if assigned is not None:
        items = items[items["item_id"].isin(assigned).to_numpy()].reset_index(drop=True)
    anchors = set(all_items["item_id"].iloc[: study.instrument.anchors]) if study.instrument else set()
    items = items.iloc[:first]
    if occasion > 1:
        items = items[items["item_id"].isin(anchors).to_numpy()]
    items = with_texts(items)
    kinds = _stimulus_kinds(items, images)
    pictured = np.array(kinds, dtype=bool)
    if pictured.any() and ("media" not in items or items["media"][pictured].isna().any()):
        raise InputError(f"{path}: column 'media' is missing or empty; name the image or clip of every item.")
    fields = study.collect.fields
    table = SubjectTable(items, "item_id", fields, kinds, beside=fields is not None)
    names = items["item_id"].tolist()
    item_ids = set(names)
    strata = strata_of(study, items, str(path))
    put_to = {
        prompt.id: sum(takes(prompt, those) for those in strata.values())
        for prompt in study.prompts
        if prompt.only
    }
    lines = lines_of(study, items, str(path))
    return RunContent(
        lambda: single_subjects(
            names, table, study.collect.seed, strata=strata, anchors=anchors, occasion=occasion
        ),
        len(names),
        {"items": file_hash(path)},
        lambda name: judged_texts(_texts(table, item_ids & {name}), bool(lines)),
        put_to=put_to,
        lines=lambda column, name: lines.get(column, {}).get(name, 0),
        names=_names_on_occasion(occasion, item_ids) if len(items) < len(all_items) or anchors else None,
    )


def _stimulus_kinds(items: pd.DataFrame, images: bool) -> list[str]:
    """Say what each item is shown as: "image", "video", or empty for text."""
    modality = [str(kind) for kind in items["modality"]] if "modality" in items else [""] * len(items)
    default = "image" if images else ""
    return [kind if kind in ("image", "video") else default for kind in modality]


def _texts(table: SubjectTable, names: Iterable[Any]) -> list[str]:
    return [
        str(value) for name in names for value in table.show(name).fields.values() if isinstance(value, str)
    ]
