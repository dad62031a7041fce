"""Lexicons of substitutions: read, inflected, and looked up by the words that they replace."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import InputError, did_you_mean, listed
from ..study.study_yaml import Location, MarkedYaml, read_marked_yaml
from ..tables.files import PERTURB
from .spans import key_of

LANGUAGES = ("en", "es")
ARROWS = ("<->", "->", "<-")
PHRASE = "phrase"  # the part of speech that is not inflected
PARTS = {
    "en": ("noun", "verb", "adjective", PHRASE),
    "es": ("masculine", "feminine", "person", "adjective", "verb", PHRASE),
}
Key = tuple[str, ...]


@dataclass(frozen=True)
class _Entry:
    """A substitution in one direction: part of speech, old word, new words, and its place in the file."""

    part: str
    old: str
    new: tuple[str, ...]
    place: Location


@dataclass(frozen=True)
class Lexicon:
    """Replacements by the words that they replace.

    Parameters
    ----------
    name : str
        What it is for, such as ``preserving`` or ``dialect to uk``.
    language : str
        "en" or "es".
    n_entries : int
        Lines of the file that apply in this direction.
    replacements : dict of tuple of str to tuple of str
        Replacements of every inflected form, lower case, word by word.
    longest : int
        Words of the longest key.

    Examples
    --------
    >>> lexicon = load_lexicon("drift", "en")
    >>> lexicon.replacements[("dogs",)], lexicon.longest
    (('cats',), 2)
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
    kind : {"preserving", "drift", "dialect"}
        What the lexicon is for.
    language : {"en", "es"}
        Language of the texts.
    to : str, optional
        Variety that a dialect lexicon leads to; by default the file's second.

    Returns
    -------
    Lexicon
        Replacements of every inflected form.

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
    """List the varieties of a language's dialect lexicon.

    Parameters
    ----------
    language : {"en", "es"}
        Language of the texts.

    Returns
    -------
    dict of str to str
        Names of the varieties by id.

    Examples
    --------
    >>> varieties("en")
    {'us': 'American English', 'uk': 'British English'}
    """
    return _varieties(read_marked_yaml(PERTURB / language / "dialect.yaml"))


def read_lexicon(path: Path, language: str, to: str | None = None) -> Lexicon:
    """Read a lexicon in the format of those that ship.

    A line is ``old -> new``, ``old -> new | other`` or, in both directions, ``old <-> new``, under its part
    of speech. Words are inflected by the forms that ship, ``phrase`` is not inflected. A form that would have
    to become two different forms, as *put* of *put* and *put* of *placed*, is excluded.

    Parameters
    ----------
    path : Path
        A YAML file.
    language : {"en", "es"}
        Language of the words.
    to : str, optional
        Variety that a dialect lexicon leads to; by default the file's second.

    Returns
    -------
    Lexicon
        Replacements of every inflected form.

    Raises
    ------
    InputError
        A line cannot be read, or there are no forms of a word; the sentence names file and line.

    Examples
    --------
    >>> read_lexicon(PERTURB / "en" / "drift.yaml", "en").replacements[("dogs",)]
    ('cats',)
    """
    marked = read_marked_yaml(path)
    names = _varieties(marked)
    if to is not None and to not in names:
        raise InputError(
            f"{path}: there is no variety '{to}'{did_you_mean(to, names)}; use one of: {listed(names)}."
        )
    backwards = bool(names) and to == next(iter(names))
    entries = list(_entries(marked, language, backwards))
    table: dict[Key, tuple[str, ...]] = {}
    for entry in entries:
        for key, news in _inflected_forms(marked, entry, language).items():
            table[key] = tuple(dict.fromkeys((*table.get(key, ()), *news)))
    label = f"{path.stem} to {to or list(names)[-1]}" if names else path.stem
    n_lines = len({entry.place for entry in entries})
    return Lexicon(label, language, n_lines, table, max(map(len, table), default=0))


def _varieties(marked: MarkedYaml) -> dict[str, str]:
    content = marked.content
    return dict(content.get("varieties") or {}) if isinstance(content, dict) else {}


def _entries(marked: MarkedYaml, language: str, backwards: bool) -> Iterable[_Entry]:
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
            yield from _entries_of_line(marked, str(part), place, line, backwards)


def _entries_of_line(
    marked: MarkedYaml, part: str, place: int, line: object, backwards: bool
) -> Iterable[_Entry]:
    arrow = next((sign for sign in ARROWS if isinstance(line, str) and f" {sign} " in line), None)
    if arrow is None:
        raise marked.error((part, place), f"{line!r} is no substitution; write it as old -> new.")
    sources, targets = (
        tuple(word.strip() for word in side.split("|")) for side in str(line).split(f" {arrow} ", 1)
    )
    if not all(sources + targets):
        raise marked.error((part, place), f"{line!r} lacks a word; write it as old -> new.")
    if (arrow == "<->") or (arrow == "->") != backwards:
        sides = (targets, sources) if backwards else (sources, targets)
        yield from (_Entry(part, old, sides[1], (part, place)) for old in sides[0])
    if arrow == "<->" and not _varieties(marked):
        yield from (_Entry(part, old, sources, (part, place)) for old in targets)


@cache
def _stored_forms(language: str) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Forms by part and word, in one order for all words of a part, by tests/fixtures/perturb."""
    with (PERTURB / language / "forms.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return {(row["part"], row["word"]): tuple(row["forms"].split("|")) for row in rows}


@cache
def _ambiguous(language: str) -> frozenset[str]:
    """Forms that are more often another word, such as Spanish *como*."""
    content = read_marked_yaml(PERTURB / language / "ambiguous.yaml").content
    return frozenset(map(str, content if isinstance(content, list) else ()))


def _inflected_forms(marked: MarkedYaml, entry: _Entry, language: str) -> dict[Key, list[str]]:
    """Pairs of old and new forms; a form with two partners, or that is more often another word, has none."""

    def forms(word: str) -> tuple[str, ...]:
        if entry.part == PHRASE:
            return (word,)
        if (entry.part, word) not in _stored_forms(language):
            raise marked.error(
                entry.place,
                f"there are no forms of '{word}' ({entry.part}); list each of its forms under '{PHRASE}'.",
            )
        return _stored_forms(language)[entry.part, word]

    excluded = _ambiguous(language) - {entry.old}
    replacements: dict[Key, list[str]] = {}
    for new in entry.new:
        partners: dict[Key, set[str]] = {}
        for old_form, new_form in zip(forms(entry.old), forms(new), strict=True):
            if old_form and old_form not in excluded:
                key = tuple(key_of(old_form).split())
                partners.setdefault(key, set()).add(new_form or old_form)
        for key, news in partners.items():
            if len(news) == 1 and tuple(key_of(*news).split()) != key:
                replacements.setdefault(key, []).extend(news)
    return replacements
