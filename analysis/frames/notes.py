"""Notes on results: sentences whose ids stay ids, so that reports can print labels in their places."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from conjury.inference.errors import listed
from conjury.inference.tables.frames import UNNOTED, WARNED

__all__ = ["Note"]

# Names of values that are ids: in the plural where there are several; a number may follow, as in judge2. A
# level is a pair of attribute and level, a label one of task and label, which alone is printed; a side is
# either of two that are compared, whatever they are.
IDS = (
    "judge",
    "prompt",
    "condition",
    "dimension",
    "task",
    "metric",
    "feature",
    "level",
    "label",
    "column",
    "result",
    "side",
)
# The formats are few: a template may come from a file of others.
PLACE = re.compile(r"\{(?P<name>\w+)(?P<quoted>!r)?(?::(?P<format>,|g|\+?,?\.\df|\.\d%|\d{1,2}))?\}")
# Columns of keys whose ids are of something else than they are called; levels without attribute are text.
OF_COLUMNS = {
    "left": "side", "right": "side", "group": "judge", "quantity": "metric", "statistic": "metric",
    "level": "value",
}  # fmt: skip
MEASURED, MOST_MEASURED = ("dimension", "task"), 6  # columns of what is measured, and how many a note names
ABOUT = ("judge", "prompt", "condition")
PAIRS = ("level", "label")
IN_PYTHON = {"`wild`": "the wild bootstrap", "`mixed`": "the mixed model", "by weights=": "by `--weights`"}
DOUBT = "doubt"  # kind of notes by which the numbers may mean nothing, which commands print first
EXCLUSION = "exclusion"  # kind of notes on what is excluded
FIRST_NOTES = 3  # of the first screen of a command
Label = Callable[[str, str, str], str]  # of what an id is, the id, and the attribute or task of a pair


@dataclass(frozen=True, eq=False, repr=False)
class Note(str):
    """A sentence about a result: as a string it has ids as they are, and its parts are known beside it.

    Parameters
    ----------
    template : str
        The sentence; where there are values, their names in braces are their places.
    values : dict
        Values by name: numbers, text, notes as parts of a sentence, and ids, which are called by what they
        are of (``judge``, ``dimension`` and so on, as `IDS` lists them); names in the plural have lists.
    result : str
        Name of the result that the note is about.
    judge, prompt, condition : str
        Whose answers it is about.
    kind : str
        By what programs select the note, where they do.

    Examples
    --------
    >>> note = Note("{n} answers of {judges} are missing.", {"n": 2, "judges": ["gpt", "human"]}, "amce")
    >>> print(note)
    amce: 2 answers of gpt, human are missing.
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    judge: str = ""
    prompt: str = ""
    condition: str = ""
    kind: str = ""

    def __new__(
        cls,
        template: str,
        values: Mapping[str, Any] | None = None,
        result: str = "",
        judge: str = "",
        prompt: str = "",
        condition: str = "",
        kind: str = "",
    ) -> Note:
        """A string of what the note is about and its sentence, with ids as they are."""
        who = " ".join(filter(None, (judge, prompt, condition)))
        about = ", ".join(filter(None, (result, who)))
        return super().__new__(cls, ": ".join(filter(None, (about, _fill(template, values or {})))))

    @classmethod
    def of(cls, template: str, **values: Any) -> Note:
        """A note that is about no single judge; values by their names in the template."""
        return cls(template, {name: _plain(value) for name, value in values.items()})

    def is_of(self, kind: str) -> bool:
        """Whether programs select the note by a kind, its own or that of a note in it."""
        parts = [part for part in self.values.values() if isinstance(part, Note)]
        return self.kind == kind or any(part.is_of(kind) for part in parts)

    def sentence(self, label: Label | None = None) -> str:
        """The sentence with labels for ids, or ids; a note without one is whom it is about."""
        return _fill(self.template, self.values, label) or self.about(label)

    def about(self, label: Label | None = None) -> str:
        """Whose answers the note is about."""
        ids = {name: id for name in ABOUT if (id := getattr(self, name))}
        if label is None:
            return " ".join(ids.values())
        return ", ".join(label(name, id, "") for name, id in ids.items())


def note_of(text: str) -> Note:
    """A sentence as a note, which it may be."""
    return text if isinstance(text, Note) else Note(text)


def excluding(template: str, **values: Any) -> Note:
    """A note on what is excluded, which commands print before all others but doubts."""
    return replace(Note.of(template, **values), kind=EXCLUSION)


def doubting(template: str, **values: Any) -> Note:
    """A note by which the numbers may mean nothing."""
    return replace(Note.of(template, **values), kind=DOUBT)


def rank_notes(notes: Iterable[str]) -> list[str]:
    """Notes in the order in which people need them: doubts, exclusions, all others."""
    return sorted(notes, key=lambda note: [not note_of(note).is_of(kind) for kind in (DOUBT, EXCLUSION)])


def join_notes(notes: Iterable[str], gap: str = " ") -> Note:
    """Notes one after another as one, without those that are empty."""
    parts = [note_of(note) for note in notes if note]
    if len(parts) == 1:
        return parts[0]
    named = {f"part{n}": part for n, part in enumerate(parts, start=1)}
    return Note(gap.join(f"{{{name}}}" for name in named), named)


def name_keys(keys: Mapping[Any, object], gap: str = ", ") -> Note:
    """Ids by what they are of, as a part of a note: those of a row of a table, such as its judge and task."""
    named: dict[str, str] = {}
    for n, (name, id) in enumerate(keys.items()):
        column = str(name)
        of = OF_COLUMNS.get(column, column if column.isidentifier() else "key")
        if id:
            named[f"{of}{n}" if of in named else of] = str(id)
    return Note(gap.join(f"{{{name}}}" for name in named), named)


def note_under(keys: Mapping[str, object], text: str) -> Note:
    """A note with the ids in front that it is about."""
    about = name_keys(keys)
    return Note.of("{keys}: {note}", keys=about, note=text) if about else note_of(text)


def joined_dimensions(notes: Iterable[str]) -> tuple[str, ...]:
    """Notes, each once: those of `note_under` that differ in their dimension, or task, alone are one."""
    joined: dict[tuple[Any, ...], tuple[Note, str, list[str]]] = {}
    for note in map(note_of, notes):
        keys = note.values.get("keys")
        ids = dict(keys.values) if isinstance(keys, Note) else {}
        column = next((name for name in MEASURED if name in ids), "")
        name = ids.pop(column, "")
        same = (column, *ids.items(), str(note.values["note"])) if column else (str(note),)
        names = joined.setdefault(same, (note, column, []))[2]
        names += [name] if name not in names else []
    return tuple(
        _of_several(note, column, names) if len(names) > 1 else note
        for note, column, names in joined.values()
    )


def _of_several(note: Note, column: str, names: list[str]) -> Note:
    """A note of `note_under` about several dimensions or tasks."""
    keys = note.values["keys"]
    template = keys.template.replace(f"{{{column}}}", f"{{{column}s:{MOST_MEASURED}}}")
    values = {name: id for name, id in keys.values.items() if name != column} | {f"{column}s": names}
    return replace(note, values={**note.values, "keys": Note(template, values)})


@contextmanager
def noted_warnings(*without: type[Warning]) -> Iterator[list[Note]]:
    """Collect the warnings of the block as notes, ``without`` those of some kinds."""
    notes: list[Note] = []
    tokens = WARNED.set([]), UNNOTED.set(without)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for kind in without:
                warnings.simplefilter("ignore", kind)
            yield notes
    finally:
        WARNED.reset(tokens[0])
        UNNOTED.reset(tokens[1])
    messages = [warning.message for warning in caught if issubclass(warning.category, UserWarning)]
    notes += [note_of(text) for message in messages for text in getattr(message, "args", ())[:1]]


def for_command(note: str) -> str:
    """A note with options of the command in place of arguments in Python."""
    text = re.sub(r"vcov='(\w+)'", r"`--vcov \1`", str(note))
    for name, words in IN_PYTHON.items():
        text = text.replace(name, words)
    return text


def _fill(template: str, values: Mapping[str, Any], label: Label | None = None) -> str:
    """A template with all values in their places; other braces are text."""

    def put(place: re.Match[str]) -> str:
        if place["name"] not in values:
            return place[0]
        value = _worded(place["name"], values[place["name"]], label)
        return repr(value) if place["quoted"] else format(value, place["format"] or "")

    return PLACE.sub(put, template)


class _Several(list[str]):
    """Several values in a sentence; the format of their place is how many are listed."""

    def __format__(self, limit: str) -> str:
        return listed(self, int(limit)) if limit else listed(self)


def _worded(name: str, value: Any, label: Label | None) -> Any:
    """A value as its place in a template has it."""
    of = name.rstrip("0123456789")
    if isinstance(value, Note):
        return value.sentence(label)
    if of in PAIRS and not isinstance(value, str):  # a column may be called so, too
        feature, id = value
        return label(of, id, feature) if label else f"{feature}={id}" if of == "level" else id
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _Several(str(_worded(of.removesuffix("s"), each, label)) for each in value)
    return label(of, value, "") if label and of in IDS else value


def _plain(value: Any) -> Any:
    """A value as JSON can have it."""
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def record_notes(value: Any) -> Any:
    """Anything with notes as JSON has it: a note with parts is a mapping that begins with its text."""
    if isinstance(value, Note):
        parts = {entry.name: getattr(value, entry.name) for entry in fields(value)}
        parts = {name: record_notes(part) for name, part in parts.items() if part}
        return str(value) if parts == {"template": value} else {"text": str(value), **parts}
    if isinstance(value, Mapping):
        return {name: record_notes(part) for name, part in value.items()}
    return [record_notes(part) for part in value] if isinstance(value, list | tuple) else value


def read_note(entry: Any) -> Note:
    """A note as `record_notes` wrote it; where its parts do not fit it is text, as in earlier versions."""
    if not isinstance(entry, Mapping):
        return Note(str(entry))
    values = {name: _read_value(value) for name, value in (entry.get("values") or {}).items()}
    about = {name: str(entry[name]) for name in ("result", *ABOUT, "kind") if name in entry}
    try:
        return Note(str(entry.get("template", "")), values, **about)
    except (ValueError, TypeError, IndexError):
        return Note(str(entry.get("text", "")))


def _read_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_read_value(part) for part in value]
    return read_note(value) if isinstance(value, Mapping) else value
