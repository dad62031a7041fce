"""Random numbers that belong to a profile: the same whichever other profiles are asked for."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...study.base import Location, MarkedYaml, Part, Text
from ...tables.columns import stream
from .wording import check_counts, read_checked

Integers = NDArray[np.int64]


def draw_below(sizes: int | Integers, profile_ids: Integers, seed: int, *names: str) -> Integers:
    """Draw a whole number from 0 to below ``sizes`` for each profile.

    The number is a hash of the profile's id and of a key drawn from the stream of ``seed`` and ``names``: the
    finaliser of Steele, Lea and Flood's SplitMix64 (doi:10.1145/2660193.2660195).
    """
    key = stream(seed, "posts", *names).integers(2**64, size=1, dtype=np.uint64)
    mixed = _mix(_mix(profile_ids.astype(np.uint64)) ^ key)
    drawn: Integers = (mixed % np.asarray(sizes, dtype=np.uint64)).astype(np.int64)
    return drawn


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


NUMBER = "{number}"
MARKS = ("Mn", "Mc")  # vowel signs and the like, without which names in many scripts are misspelt
PLACES = {"two_words": {"first", "last", "number"}, "one_word": {"name", "number"}}
Stem = tuple[str, str]  # what stands before and after the number of an account


class Handles(Part):
    """Patterns of account names, for owners with a name of two words and of one."""

    two_words: list[Text] = Field(min_length=1)
    one_word: list[Text] = Field(min_length=1)


class PeopleFile(Part):
    """A file of authors by group, repliers, and patterns of account names."""

    handles: Handles
    authors: dict[str, list[Text]] = Field(min_length=1)
    repliers: list[Text] = Field(min_length=1)


@dataclass(frozen=True)
class Person:
    """A name, and the accounts that it may have, each but for its number."""

    name: str
    stems: list[Stem]


@dataclass(frozen=True)
class People:
    """Authors by id, such as ``black_male_03``, and those who reply."""

    authors: dict[str, Person]
    repliers: list[Person]


def load_people(path: Path, ids: Sequence[str]) -> People:
    """Read a file of people."""
    file, marked = read_checked(path, PeopleFile)
    check_counts(
        marked, "authors", "authors", {group: len(names) for group, names in file.authors.items()}, ids
    )
    _check_patterns(file.handles, marked)
    people: dict[Location, Person] = {}
    lines: dict[Stem, int] = {}
    for location, name in _everyone(file):
        person = Person(name, _stems(name, file.handles, marked, location))
        for stem in person.stems:
            if stem in lines:
                raise marked.error(
                    location,
                    f"an account of '{name}' would be called '{NUMBER.join(stem)}' like one of line "
                    f"{lines[stem]}; change one of the two names.",
                )
        lines |= dict.fromkeys(person.stems, marked.line(location))
        people[location] = person
    authors = {
        f"{group}_{number:02d}": people["authors", group, number]
        for group, names in file.authors.items()
        for number in range(len(names))
    }
    repliers = [people["repliers", number] for number in range(len(file.repliers))]
    return People({name: authors[name] for name in ids}, repliers)


def _everyone(file: PeopleFile) -> Iterator[tuple[Location, str]]:
    for group, names in file.authors.items():
        for number, name in enumerate(names):
            yield ("authors", group, number), name
    for number, name in enumerate(file.repliers):
        yield ("repliers", number), name


def _check_patterns(handles: Handles, marked: MarkedYaml) -> None:
    for kind, places in PLACES.items():
        for position, pattern in enumerate(getattr(handles, kind)):
            found = [place for _, place, _, _ in Formatter().parse(pattern) if place is not None]
            if not set(found) <= places or found.count("number") != 1 or len(found) == 1:
                names = ", ".join(f"{{{place}}}" for place in sorted(places))
                raise marked.error(
                    ("handles", kind, position),
                    f"'{pattern}' must contain {NUMBER} once and a part of the name; use the places {names}.",
                )


def _stems(name: str, handles: Handles, marked: MarkedYaml, location: Location) -> list[Stem]:
    words = [word for word in map(_as_in_account, name.split()) if word]
    if not 1 <= len(words) <= 2:
        raise marked.error(location, f"'{name}' is not a name of one or two words; shorten it.")
    patterns = handles.two_words if len(words) == 2 else handles.one_word
    called = [
        pattern.format(first=words[0], last=words[-1], name=words[0], number=NUMBER) for pattern in patterns
    ]
    return [(before, after) for before, _, after in (account.partition(NUMBER) for account in called)]


def _as_in_account(word: str) -> str:
    """Return the letters of a word in lower case, with the marks that belong to them, and its digits."""
    return "".join(sign for sign in word if sign.isalnum() or unicodedata.category(sign) in MARKS).lower()
