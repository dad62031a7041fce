"""What a task or item showed: profiles side by side, texts, pictures and clips, and fields beyond these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...collecting.run_content import PROFILE, RunContent, item_content
from ...design.subjects import UNSHOWN, SubjectTable
from ...errors import InputError
from ...study.asking import LineLabels
from ...study.models import ItemStudy, Study
from ...tables.columns import as_text
from ...tables.limits import whole_text
from ...tables.schema import POSITIONS
from ..displayed_fields import PostFields, SubjectDisplay, post_fields, shown_items, shown_posts
from .run_sources import RunSources

KEPT = 4096  # contents that are kept ready
Files = Mapping[str, tuple[Path, str]]


@dataclass(frozen=True)
class TaskContent:
    """What one task or item showed."""

    # two profiles of a pair, or one profile or item; empty where it is not known
    shown: tuple[SubjectDisplay, ...] = ()
    # files of pictures and clips by their names on a page
    files: Files = field(default_factory=dict)
    # attributes with their levels, or further fields of an item: one value for each that is shown
    unseen: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # judged texts, which parsing rules do not read where an answer repeats them
    texts: tuple[str, ...] = ()
    # why something is missing
    note: str = ""


class Contents:
    """Contents of tasks and items of the runs of one study."""

    def __init__(self, sources: RunSources) -> None:
        self._runs, self._study, self._items = sources.runs, sources.study, sources.items
        self.of = lru_cache(maxsize=KEPT)(self._of)
        self._pairs = lru_cache(maxsize=None)(self._pairs_of)
        self._profiles = lru_cache(maxsize=None)(self._rows_of_profiles)
        self._fields = lru_cache(maxsize=None)(self._fields_of)
        self._attributes = lru_cache(maxsize=None)(self._attributes_of)
        self._item_content = lru_cache(maxsize=None)(self._read_item_content)
        self.files: dict[str, tuple[Path, str]] = {}  # of all contents so far
        names: Iterable[Any] = () if self._items is None else self._items["item_id"]
        self._rows = {str(name): row for row, name in enumerate(names)}

    def _of(self, run: int, subject: str) -> TaskContent:
        """What a task or item of a run showed."""
        try:
            content = self._of_profiles(run, subject) if self._items is None else self._item(subject)
        except (InputError, OSError) as error:
            return TaskContent(note=str(error))
        self.files.update(content.files)
        return content

    def first_tasks(self, run: int, subjects: Iterable[str]) -> set[str]:
        """Those of the tasks or items whose content is known, without repeats of earlier tasks."""
        if self._items is not None:
            return {str(subject) for subject in subjects if str(subject) in self._rows}
        tasks, pairs = self._runs[run].design_tasks, self._pairs(run)
        if tasks is None or pairs is None:
            return set()
        repeats = set(tasks["task_id"][tasks["repeat"].fillna(False).to_numpy(bool)])
        return {str(subject) for subject in subjects if subject in pairs and subject not in repeats}

    def lines(self, column: str, subject: str) -> int:
        """Number of lines of an item where each takes a label."""
        content = self._item_content()
        return 0 if content is None else content.lines(column, subject)

    # ---- profiles ----

    def _of_profiles(self, run: int, subject: str) -> TaskContent:
        design = self._runs[run].design
        numbers = self.profiles_of(run, subject)
        if design is None or not numbers:
            return TaskContent(note="The folder of the run has no design with this task.")
        posts = design.posts.iloc[self._profiles(run, "posts").get_indexer(pd.Index(numbers))]
        items = shown_posts(self._fields(run), posts, {}, self._runs[run].root)
        displays = tuple(_clean_display(items.of(str(number))) for number in numbers)
        return TaskContent(displays, items.files, self._levels(run, numbers), self._texts(posts, numbers))

    def profiles_of(self, run: int, subject: str) -> list[int]:
        """Numbers of the profiles of a task, in the order of their positions, or of one profile."""
        if subject.startswith(PROFILE) and subject.removeprefix(PROFILE).isdecimal():
            return [int(subject.removeprefix(PROFILE))]
        pairs = self._pairs(run)
        return [] if pairs is None or subject not in pairs else [int(number) for number in pairs[subject]]

    def _pairs_of(self, run: int) -> dict[str, tuple[int, ...]] | None:
        tasks = self._runs[run].design_tasks
        if tasks is None:
            return None
        ordered = tasks.sort_values(["task_id", "position"], kind="stable")
        sides = ordered["profile_id"].to_numpy(dtype=np.int64).reshape(-1, len(POSITIONS))
        names = as_text(ordered["task_id"].iloc[:: len(POSITIONS)])
        return dict(zip(names, map(tuple, sides.tolist()), strict=True))

    def _rows_of_profiles(self, run: int, table: str) -> pd.Index[Any]:
        rows: pd.DataFrame = getattr(self._runs[run].design, table)
        return pd.Index(rows["profile_id"].astype("int64").to_numpy())

    def _fields_of(self, run: int) -> PostFields:
        design = self._runs[run].design
        assert design is not None
        return post_fields(self._study if isinstance(self._study, Study) else None, design.posts)

    def _attributes_of(self, run: int) -> list[tuple[str, np.ndarray]]:
        """Attributes, and their levels in words of all profiles."""
        design = self._runs[run].design
        assert design is not None
        profiles = design.profiles
        labels = self._study.level_labels if self._study is not None else {}
        names = self._study.feature_labels if self._study is not None else {}
        attributes = []
        for name in (name for name in profiles if name not in UNSHOWN):
            codes, values = pd.factorize(as_text(profiles[name]).fillna(""))
            words = [labels.get(str(name), {}).get(value, value) for value in values]
            attributes.append((names.get(str(name), str(name)), np.array(words, dtype=object)[codes]))
        return attributes

    def _levels(self, run: int, numbers: Sequence[int]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Attributes and their levels in words, one for each profile."""
        rows = self._profiles(run, "profiles").get_indexer(pd.Index(numbers))
        return tuple((name, tuple(words[rows])) for name, words in self._attributes(run))

    def _texts(self, posts: pd.DataFrame, numbers: Sequence[int]) -> tuple[str, ...]:
        """Texts that a model was shown of these profiles."""
        if not isinstance(self._study, Study):
            return ()
        fields = self._study.collect.fields
        if fields is not None and self._study.content is None:
            fields = [self._study.feature_labels.get(name, name) for name in fields]
        table = SubjectTable(posts, "profile_id", fields)
        values = (value for number in numbers for value in table.show(number).fields.values())
        return tuple(value for value in values if isinstance(value, str))

    # ---- items ----

    def _item(self, subject: str) -> TaskContent:
        assert self._items is not None
        assert isinstance(self._study, ItemStudy)
        row = self._rows.get(subject)
        if row is None:
            return TaskContent(note=f"There is no item '{subject}' in {self._study.items}.")
        response, frame = self._study.response, self._items.iloc[[row]]
        lines = response.lines if isinstance(response, LineLabels) else None
        note, display, files = "", SubjectDisplay(()), {}
        try:
            items = shown_items(self._study, frame, lines)
            display, files = items.of(subject), dict(items.files)
        except InputError as error:
            note = str(error)
            without = frame.drop(columns=[name for name in ("media", "modality") if name in frame])
            display = shown_items(self._study, without, lines).of(subject)
        content = self._item_content()
        texts = () if content is None else tuple(content.shown(subject))
        return TaskContent((_clean_display(display),), files, self._further(frame, display), texts, note)

    def _further(
        self, frame: pd.DataFrame, display: SubjectDisplay
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Fields of an item that judges do not see, such as its strata."""
        assert self._study is not None
        visible_names, labels = {name for name, _ in display.fields}, self._study.level_labels
        response = self._study.response
        visible_names |= {response.lines} if isinstance(response, LineLabels) else set()
        fields = []
        for name in frame:
            value = (
                as_text(frame[name]).iloc[0] if name not in UNSHOWN and name not in visible_names else pd.NA
            )
            if not pd.isna(value):
                label = self._study.feature_labels.get(str(name), str(name))
                fields.append((label, (labels.get(str(name), {}).get(value, whole_text(value)),)))
        return tuple(fields)

    def _read_item_content(self) -> RunContent | None:
        assert isinstance(self._study, ItemStudy)
        try:
            return item_content(self._study, None, images=False, assigned=None, occasion=1)
        except InputError:
            return None


def _clean_display(display: SubjectDisplay) -> SubjectDisplay:
    """The same without characters that no page can contain."""
    fields = tuple((whole_text(name), whole_text(value)) for name, value in display.fields)
    lines = tuple(whole_text(line) for line in display.lines)
    return SubjectDisplay(fields, display.media_name, display.kind, whole_text(display.alt), lines)
