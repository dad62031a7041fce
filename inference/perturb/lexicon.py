"""Lexicons of substitutions: read, inflected, and looked up by the words that they replace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..study.yaml import Location, MarkedYaml, read_marked_yaml
from ..tables.columns import did_you_mean, listed
from ..tables.files import PERTURB
from . import english, spanish
from .words import key_of

LANGUAGES = ("en", "es")
ARROWS = ("<->", "->", "<-")
PARTS = {
    "en": ("noun", "verb", "adjective", "phrase"),
    "es": ("masculine", "feminine", "person", "adjective", "verb", "phrase"),
}
_INFLECT: dict[str, Callable[[str, str, Mapping[str, Any]], dict[str, str]]] = {
    "en": english.forms,
    "es": spanish.forms,
}
Key = tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One line of a lexicon: part of speech, what is replaced, by any of what, and where that stands."""

    part: str
    old: str
    new: tuple[str, ...]
    place: Location


@dataclass(frozen=True)
class Lexicon:
    """Replacements by the words that they stand for.

    Attributes
    ----------
    name : str
        What it is for, such as ``preserving`` or ``dialect to uk``.
    language : str
    n_entries : int
        Lines of the file that hold in this direction.
    replacements : dict of tuple of str to tuple of str
        Every inflected form, lower case, word by word, and what may replace it.
    longest : int
        Words of the longest key.
    """

    name: str
    language: str
    n_entries: int
    replacements: Mapping[Key, tuple[str, ...]]
    longest: int


@cache
def load_lexicon(kind: str, language: str, to: str | None = None) -> Lexicon:
    """Load the lexicon of a kind that ships: ``preserving``, ``drift`` or ``dialect``.

    Parameters
    ----------
    kind, language : str
    to : str, optional
        Variety that a dialect lexicon leads to; by default the file's second.

    Raises
    ------
    InputError
        There is no such variety, or a line of the file cannot be read.

    Examples
    --------
    >>> load_lexicon("dialect", "en", "uk").replacements[("parking", "lots")]
    ('car parks',)
    """
    return read_lexicon(PERTURB / language / f"{kind}.yaml", language, to)


def varieties(language: str) -> dict[str, str]:
    """Return the varieties of a language's dialect lexicon, by id, in words."""
    return _varieties(read_marked_yaml(PERTURB / language / "dialect.yaml"))


def read_lexicon(path: Path, language: str, to: str | None = None) -> Lexicon:
    """Read a lexicon of one's own; its format is that of the ones that ship.

    A line is ``old -> new``, ``old -> new | other`` or, where it holds both ways, ``old <-> new``, under
    its part of speech; only ``phrase`` is not inflected. A form that would have to become two different
    forms, as *put* of *put* and *put* of *placed*, is left out.

    Raises
    ------
    InputError
        A line cannot be read; the sentence names file and line.
    """
    marked = read_marked_yaml(path)
    known = _varieties(marked)
    if to is not None and to not in known:
        raise InputError(
            f"{path}: there is no variety '{to}'{did_you_mean(to, known)}; use one of: {listed(known)}."
        )
    backwards = bool(known) and to == next(iter(known))
    found = list(_entries(marked, language, backwards))
    irregular = _irregular(language)
    table: dict[Key, tuple[str, ...]] = {}
    for entry in found:
        try:
            forms = _inflected(entry, language, irregular)
        except ValueError as problem:
            raise marked.error(entry.place, f"{problem}; list it under 'phrase' with its forms.") from None
        for key, news in forms.items():
            table[key] = tuple(dict.fromkeys((*table.get(key, ()), *news)))
    label = f"{path.stem} to {to or list(known)[-1]}" if known else path.stem
    n_lines = len({entry.place for entry in found})
    return Lexicon(label, language, n_lines, table, max(map(len, table), default=0))


def _varieties(marked: MarkedYaml) -> dict[str, str]:
    content = marked.content
    return dict(content.get("varieties") or {}) if isinstance(content, dict) else {}


@cache
def _irregular(language: str) -> Mapping[str, Any]:
    content = read_marked_yaml(PERTURB / language / "forms.yaml").content
    assert isinstance(content, dict)
    return content


def _entries(marked: MarkedYaml, language: str, backwards: bool) -> Iterable[Entry]:
    content = marked.content
    if not isinstance(content, dict):
        raise marked.error((), f"a lexicon lists substitutions by part ({listed(PARTS[language])}).")
    for part, lines in content.items():
        if part == "varieties":
            continue
        if part not in PARTS[language] or not isinstance(lines, list):
            hint = did_you_mean(str(part), PARTS[language])
            raise marked.error(
                (str(part),), f"'{part}' is no part with a list{hint}; use {listed(PARTS[language])}."
            )
        for place, line in enumerate(lines):
            yield from _directed(marked, str(part), place, line, backwards)


def _directed(marked: MarkedYaml, part: str, place: int, line: object, backwards: bool) -> Iterable[Entry]:
    arrow = next((sign for sign in ARROWS if isinstance(line, str) and f" {sign} " in line), None)
    if arrow is None:
        raise marked.error((part, place), f"{line!r} is no substitution; write it as old -> new.")
    left, right = (
        tuple(word.strip() for word in side.split("|")) for side in str(line).split(f" {arrow} ", 1)
    )
    if not all(left + right):
        raise marked.error((part, place), f"{line!r} lacks a word; write it as old -> new.")
    if (arrow == "<->") or (arrow == "->") != backwards:
        sides = (right, left) if backwards else (left, right)
        yield from (Entry(part, old, sides[1], (part, place)) for old in sides[0])
    if arrow == "<->" and not _varieties(marked):
        yield from (Entry(part, old, left, (part, place)) for old in right)


def _inflected(entry: Entry, language: str, irregular: Mapping[str, Any]) -> dict[Key, list[str]]:
    """Pair the forms of old and new by name; a form with two different partners has none.

    Nor has one that is more often another word (Spanish *como*), unless it is what the line itself names.
    """
    inflect = _INFLECT[language]
    other_words = set(irregular["ambiguous"]) - {entry.old}
    olds = inflect(entry.part, entry.old, irregular)
    olds = {name: form for name, form in olds.items() if form not in other_words}
    found: dict[Key, list[str]] = {}
    for new in entry.new:
        news = inflect(entry.part, new, irregular)
        partners: dict[Key, set[str]] = {}
        for name, form in olds.items():
            key = tuple(key_of(form).split())
            partners.setdefault(key, set()).add(news.get(name, form))
        for key, forms in partners.items():
            if len(forms) == 1 and tuple(key_of(*forms).split()) != key:
                found.setdefault(key, []).extend(forms)
    return found
