"""What is judged, as models are shown it: the fields of one item or of the two profiles of a pair."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ..errors import InputError
from ..study.models import ItemStudy, Study
from ..study.study_fields import Prompt
from ..tables.columns import occasion_name, stream
from ..tables.schema import OPTION_ORDERS, PAIR_KIND, PAIR_KINDS, POSITIONS

UNSHOWN = ("profile_id", "item_id", "modality", "media", "media_sha256", "alt")


@dataclass(frozen=True, slots=True)
class PresentedSubject:
    """One profile or item: its position ("A", "B", or empty), the fields shown, its image or clip if any."""

    # `versions` are its pictures by the cues that they show, where there are several.

    position: str
    fields: Mapping[str, Any]
    media: str | None = None
    kind: str = "image"
    versions: Mapping[str, str] = field(default_factory=dict)

    def under(self, prompt: Prompt) -> PresentedSubject:
        """Return this with the picture that a prompt shows."""
        return replace(self, media=self.versions[prompt.cues]) if self.versions else self


@dataclass(frozen=True, slots=True)
class Subject:
    """What one request is about, with what was drawn to show it and the strata to which it belongs."""

    # `order` is "given" or "swapped" for a pair, `kind` and `occasion` as in the contract of answers.

    id: str
    shown: tuple[PresentedSubject, ...]
    arrangement: dict[str, Any] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    kind: str = PAIR_KINDS[0]
    occasion: int = 1

    @property
    def name(self) -> str:
        """Its id on this occasion."""
        return occasion_name(self.id, self.occasion)


class SubjectTable:
    """Profiles or items by their number, without the memory of a dictionary each."""

    def __init__(
        self,
        table: pd.DataFrame,
        key: str,
        fields: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        beside: bool = False,
        versions: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        names = [str(name) for name in table if name not in UNSHOWN] if fields is None else list(fields)
        for name in names:
            if name not in table:
                raise InputError(
                    f"collect, fields: there is no field '{name}'; use one of "
                    f"{', '.join(str(column) for column in table if column not in UNSHOWN)}."
                )
        self._rows = {name: row for row, name in enumerate(table[key].tolist())}
        self._columns = {name: _deduplicated_values(table[name]) for name in names}
        self._kinds = list(kinds) if kinds is not None else [""] * len(table)
        self._versions = {cues: list(files) for cues, files in (versions or {}).items()}
        by_column = any(self._kinds) and not self._versions
        self._media = _deduplicated_values(table["media"]) if by_column else [None] * len(table)
        self._beside = beside

    def __contains__(self, name: Any) -> bool:
        return name in self._rows

    def show(self, name: Any, position: str = "") -> PresentedSubject:
        """Return what is shown of one of them."""
        row = self._rows[name]
        kind = self._kinds[row]
        if self._versions:
            versions = {cues: files[row] for cues, files in self._versions.items()}
            return PresentedSubject(position, {}, next(iter(versions.values())), kind, versions)
        media = self._media[row] if kind else None
        if media is not None and not self._beside:
            return PresentedSubject(position, {}, media, kind)
        values = ((field, column[row]) for field, column in self._columns.items())
        fields = {field: value for field, value in values if value is not None}
        return PresentedSubject(position, fields, media, kind or "image")


def label_fields(study: Study, profiles: pd.DataFrame) -> pd.DataFrame:
    """Fields of profiles that have no content of their own: attributes and levels in words."""
    # Attributes that share a label are named by their ids.
    labels = [attribute.label for attribute in study.attributes]
    words = {
        attribute.label if labels.count(attribute.label) == 1 else attribute.id: profiles[attribute.id]
        .astype("string")
        .map(study.level_labels[attribute.id])
        for attribute in study.attributes
    }
    return pd.DataFrame({"profile_id": profiles["profile_id"], **words})


def pair_subjects(
    tasks: pd.DataFrame, table: SubjectTable, seed: int, occasion: int = 1
) -> Iterator[Subject]:
    """Both profiles of each task, tasks in an order drawn by ``seed``."""
    by_task = tasks.sort_values(["task_id", "position"], kind="stable")
    sides = by_task["profile_id"].to_numpy().reshape(-1, len(POSITIONS))
    first = by_task.iloc[:: len(POSITIONS)]
    names = first["task_id"].tolist()
    orders = np.where(first["repeat"].to_numpy(bool), *OPTION_ORDERS[::-1]).tolist()
    kinds = first[PAIR_KIND].tolist() if PAIR_KIND in first else [PAIR_KINDS[0]] * len(first)
    for index in stream(seed, "order of requests").permutation(len(names)).tolist():
        profiles = [int(number) for number in sides[index]]
        stimuli = tuple(table.show(number, side) for number, side in zip(profiles, POSITIONS, strict=True))
        yield Subject(
            str(names[index]),
            stimuli,
            dict(zip(POSITIONS, profiles, strict=True)),
            order=orders[index],
            kind=str(kinds[index]),
            occasion=occasion,
        )


def single_subjects(
    names: Sequence[Any],
    table: SubjectTable,
    seed: int,
    prefix: str = "",
    strata: Mapping[Any, Mapping[str, str]] | None = None,
    anchors: Collection[Any] = (),
    occasion: int = 1,
) -> Iterator[Subject]:
    """One profile or item at a time, in an order drawn by ``seed``; ``strata`` are those of each."""
    for index in stream(seed, "order of requests").permutation(len(names)).tolist():
        name = names[index]
        kind = PAIR_KINDS[-1] if name in anchors else PAIR_KINDS[0]
        of = (strata or {}).get(name, {})
        yield Subject(f"{prefix}{name}", (table.show(name),), strata=of, kind=kind, occasion=occasion)


def takes(prompt: Prompt, strata: Mapping[str, str]) -> bool:
    """Whether a prompt is put to subjects of these strata."""
    return all(strata.get(column) in values for column, values in prompt.only.items())


def write_fields(stimulus: PresentedSubject, form: str, salt: str) -> str:
    """Write judged text so that a model reads it as data."""
    # `json` makes one JSON object, in which quotes and line ends are escaped; `delimited` puts each field
    # between tags that end in a number which the text does not contain.
    if form == "json":
        return json.dumps(_python_values(stimulus.fields), ensure_ascii=False)
    body = "\n".join(f"{name}: {value}" for name, value in _python_values(stimulus.fields).items())
    tag, turn = "", 0
    while not tag or tag in body:
        tag = hashlib.sha256(f"{salt}:{stimulus.position}:{turn}".encode()).hexdigest()[:8]
        turn += 1
    return f"<data-{tag}>\n{body}\n</data-{tag}>"


def is_single(study: Study | ItemStudy) -> bool:
    """Whether a request shows one profile or item."""
    return isinstance(study, ItemStudy) or study.collect.form == "single"


class _StoredTexts(Sequence[str | None]):
    """Texts of a column where Arrow has them, a tenth of the memory that they take in Python."""

    def __init__(self, column: pd.Series[Any]) -> None:
        stored = pa.array(column, from_pandas=True)
        self._texts = stored.combine_chunks() if isinstance(stored, pa.ChunkedArray) else stored

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, row: Any) -> Any:
        return self._texts[row].as_py()


def _deduplicated_values(column: pd.Series[Any]) -> Sequence[Any]:
    """Return the values of a column, equal ones as one object, and None for missing ones."""
    if isinstance(column.dtype, pd.StringDtype):
        return _StoredTexts(column)
    cache: dict[tuple[type, Any], Any] = {}
    values = column.astype(object).where(column.notna(), None)
    return [cache.setdefault((type(value), value), value) for value in values]


def _python_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in fields.items()}
