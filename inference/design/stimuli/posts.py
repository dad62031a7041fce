"""Posts: what the profiles of a design look like to a judge, with random numbers that belong to a profile."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from string import Formatter

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from ...errors import InputError, did_you_mean, listed
from ...study.asking import Cues, Roles
from ...study.study_yaml import Location, MarkedYaml, Part, Text
from ...tables.columns import rows_of, stream
from .wording import REPLIES, Texts, check_counts, fill, read_checked

Integers = NDArray[np.int64]


def draw_below(sizes: int | Integers, profile_ids: Integers, seed: int, *names: str) -> Integers:
    """Draw a whole number from 0 to below ``sizes`` for each profile."""
    # The number is a hash of the profile's id and of a key drawn from the stream of `seed` and `names`: the
    # finaliser of Steele, Lea and Flood's SplitMix64 (doi:10.1145/2660193.2660195).
    key = stream(seed, "posts", *names).integers(2**64, size=1, dtype=np.uint64)
    mixed = _mix(_mix(profile_ids.astype(np.uint64)) ^ key)
    numbers: Integers = (mixed % np.asarray(sizes, dtype=np.uint64)).astype(np.int64)
    return numbers


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
class PostAuthors:
    """Authors by id, such as ``black_male_03``, and those who reply."""

    authors: dict[str, Person]
    repliers: list[Person]


def load_people(path: Path, ids: Sequence[str]) -> PostAuthors:
    """Read a file of people."""
    file, marked = read_checked(path, PeopleFile)
    check_counts(
        marked, "authors", "authors", {group: len(names) for group, names in file.authors.items()}, ids
    )
    _check_patterns(file.handles, marked)
    people: dict[Location, Person] = {}
    lines: dict[Stem, int] = {}
    for location, name in _located_names(file):
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
    return PostAuthors({name: authors[name] for name in ids}, repliers)


def _located_names(file: PeopleFile) -> Iterator[tuple[Location, str]]:
    for group, names in file.authors.items():
        for number, name in enumerate(names):
            yield ("authors", group, number), name
    for number, name in enumerate(file.repliers):
        yield ("repliers", number), name


def _check_patterns(handles: Handles, marked: MarkedYaml) -> None:
    for kind, places in PLACES.items():
        for position, pattern in enumerate(getattr(handles, kind)):
            parsed = [part[1:] for part in Formatter().parse(pattern) if part[1] is not None]
            fields, formatted = [place for place, _, _ in parsed], any(part[1] or part[2] for part in parsed)
            if not set(fields) <= places or fields.count("number") != 1 or len(fields) == 1 or formatted:
                names = ", ".join(f"{{{place}}}" for place in sorted(places))
                raise marked.error(
                    ("handles", kind, position),
                    f"'{pattern}' must contain {NUMBER} once and a part of the name; use the places {names}.",
                )


def _stems(name: str, handles: Handles, marked: MarkedYaml, location: Location) -> list[Stem]:
    words = [word for word in map(_account_letters, name.split()) if word]
    if not 1 <= len(words) <= 2:
        raise marked.error(location, f"'{name}' is not a name of one or two words; shorten it.")
    patterns = handles.two_words if len(words) == 2 else handles.one_word
    called = [
        pattern.format(first=words[0], last=words[-1], name=words[0], number=NUMBER) for pattern in patterns
    ]
    return [(before, after) for before, _, after in (account.partition(NUMBER) for account in called)]


def _account_letters(word: str) -> str:
    """Return the letters of a word in lower case, with the marks that belong to them, and its digits."""
    return "".join(sign for sign in word if sign.isalnum() or unicodedata.category(sign) in MARKS).lower()


Strings = NDArray[np.object_]
CHUNK = 5000  # posts that are written at a time: as Python texts they take several times the memory
MINUTES_A_DAY = 24 * 60
ACCOUNT_NUMBERS = (10, 10_000)  # from, to below
COLUMNS = (
    *("profile_id", "name", "handle", "text", "likes", "posted"),
    *("reply_name", "reply_handle", "reply_text", "alt"),
)
WITH_FACES = (
    *("profile_id", "name", "handle", "face", "text", "likes", "posted"),
    *("reply_name", "reply_handle", "reply_face", "reply_text"),
)
REPLIER = "replier"


@dataclass(frozen=True)
class PostKit:
    """All that posts are made of.

    Parameters
    ----------
    texts, people, insults
        As in the files of the study.
    likes : dict
        The fewest and the most likes by level.
    days : tuple
        The first and the last day on which posts are written.
    roles : Roles
        Which column of the profiles is which part of a post.

    Examples
    --------
    >>> from conjury.inference.design.profiles import enumerate_profiles
    >>> from conjury.inference.design.stimuli import load_posts, profile_values
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> kit = load_posts(study.folder, study.content, profile_values(study))
    >>> kit.likes["low"], len(kit.posts(enumerate_profiles(study).head(2), seed=1))
    ((0, 5), 2)
    """

    texts: Texts
    people: PostAuthors
    insults: dict[str, dict[str, str]]
    likes: dict[str, tuple[int, int]]
    days: tuple[date, date]
    roles: Roles

    def posts(self, profiles: pd.DataFrame, seed: int) -> pd.DataFrame:
        """Write the post of each profile in the given order; ``alt`` is the post in one sentence.

        What a profile leaves open (likes within their range, time, account name, who replies) is drawn by
        ``seed`` and ``profile_id``, so a profile has one post whichever others are asked for.
        """
        starts = range(0, max(len(profiles), 1), CHUNK)
        parts = [self._described(profiles.iloc[start : start + CHUNK], seed) for start in starts]
        return pd.concat(parts) if len(parts) > 1 else parts[0]

    def _described(self, profiles: pd.DataFrame, seed: int) -> pd.DataFrame:
        table = self.signed(profiles, seed)
        columns = ["likes", "name", "handle", "text", "posted", "reply_name", "reply_handle", "reply_text"]
        alt = pd.array([_alt(*row) for row in rows_of(table[columns])], dtype="string")
        return table.assign(alt=alt)[list(COLUMNS)]

    def signed(self, profiles: pd.DataFrame, seed: int, cues: Cues = "both") -> pd.DataFrame:
        """Write the posts without ``alt``, with the ids of the faces of those who write and reply.

        ``cues`` is what is shown of an author's identity. The face, or the name and the handle, that are not
        shown are those of the anonymous author of the same number; all else stays as it is.
        """
        ids = _column(profiles, "profile_id").to_numpy(dtype=np.int64)
        authors = list(self.people.authors.values())
        author = _codes(profiles, self.roles.author, list(self.people.authors))
        hidden = author if cues == "both" else self._stand_ins()[author]
        name_author, face_author = (author if cues in ("both", cue) else hidden for cue in ("name", "face"))
        replier = draw_below(len(self.people.repliers), ids, seed, "replier")
        replies = self._replies(profiles)
        unanswered = pd.isna(replies)
        columns: dict[str, Strings] = {
            "name": _objects([person.name for person in authors])[name_author],
            "handle": _handles(authors, name_author, ids, seed, "author"),
            "face": _objects(list(self.people.authors))[face_author],
            "text": self._texts(profiles),
            "posted": self._times(ids, seed),
            "reply_name": _objects([person.name for person in self.people.repliers])[replier],
            "reply_handle": _handles(self.people.repliers, replier, ids, seed, "replier"),
            "reply_face": _objects(self.replier_ids)[replier],
            "reply_text": replies,
        }
        for name in ("reply_name", "reply_handle", "reply_face"):
            columns[name][unanswered] = None
        table: dict[str, object] = {name: pd.array(texts, dtype="string") for name, texts in columns.items()}
        likes = self._counts(profiles, ids, seed)
        numbers = {"profile_id": pd.array(ids, dtype="Int64"), "likes": pd.array(likes, dtype="Int64")}
        return pd.DataFrame(table | numbers, index=profiles.index)[list(WITH_FACES)]

    @property
    def replier_ids(self) -> list[str]:
        """Ids of those who reply, such as ``replier_04``."""
        return [f"{REPLIER}_{number:02d}" for number in range(len(self.people.repliers))]

    def _stand_ins(self) -> Integers:
        """Position of the anonymous author who replaces each author, shape (authors,)."""
        ids = list(self.people.authors)
        positions = {name: position for position, name in enumerate(ids)}
        numbers = [name.rpartition("_")[2] for name in ids]
        stand_ins = [positions.get(f"{self.roles.anonymous}_{number}") for number in numbers]
        if None in stand_ins:
            lacking = ids[stand_ins.index(None)]
            number = lacking.rpartition("_")[2]
            raise InputError(
                f"No author {self.roles.anonymous}_{number} exists to replace {lacking}, whose name or face "
                "is hidden; give the group of content.roles.anonymous as many authors as the others, or "
                "show both cues."
            )
        return np.array(stand_ins, dtype=np.int64)

    def _texts(self, profiles: pd.DataFrame) -> Strings:
        kinds = [self.roles.no_insult, *self.insults]
        words = {self.roles.no_insult: None, **self.insults}
        filled = [
            fill(template.text, words[kind], word)
            for template in self.texts.templates.values()
            for kind in kinds
            for word in (None, self.texts.intensifier)
        ]
        text = _codes(profiles, self.roles.text, list(self.texts.templates))
        insult = _codes(profiles, self.roles.insult, kinds)
        intensified = _column(profiles, self.roles.intensifier) == self.roles.with_intensifier
        texts: Strings = _objects(filled)[(text * len(kinds) + insult) * 2 + intensified.to_numpy(np.int64)]
        return texts

    def _replies(self, profiles: pd.DataFrame) -> Strings:
        texts = [getattr(template, reply) for template in self.texts.templates.values() for reply in REPLIES]
        text = _codes(profiles, self.roles.text, list(self.texts.templates))
        reply = _find(_column(profiles, self.roles.reply), REPLIES)
        rows = np.where(reply < 0, len(texts), text * len(REPLIES) + reply)
        replies: Strings = _objects([*texts, None])[rows]
        return replies

    def _counts(self, profiles: pd.DataFrame, ids: Integers, seed: int) -> Integers:
        ranges = np.array(list(self.likes.values()), dtype=np.int64)
        fewest, most = ranges[_codes(profiles, self.roles.likes, list(self.likes))].T
        counts: Integers = fewest + draw_below(most - fewest + 1, ids, seed, "likes")
        return counts

    def _times(self, ids: Integers, seed: int) -> Strings:
        first, last = self.days
        minutes = ((last - first).days + 1) * MINUTES_A_DAY
        times = np.datetime64(first, "m") + draw_below(minutes, ids, seed, "posted").astype("timedelta64[m]")
        return np.datetime_as_string(times).astype(object)


def _handles(people: Sequence[Person], who: Integers, ids: Integers, seed: int, role: str) -> Strings:
    """Account names of shape (n,), for the people numbered ``who``."""
    counts = np.array([len(person.stems) for person in people], dtype=np.int64)
    starts = np.cumsum(counts) - counts
    before, after = (_objects([stem[part] for person in people for stem in person.stems]) for part in (0, 1))
    stem = starts[who] + draw_below(counts[who], ids, seed, role, "pattern")
    low, high = ACCOUNT_NUMBERS
    numbers = low + draw_below(high - low, ids, seed, role, "number")
    handles: Strings = before[stem] + numbers.astype(str).astype(object) + after[stem]
    return handles


def _alt(
    likes: int,
    name: str,
    handle: str,
    text: str,
    posted: str,
    reply_name: str | None,
    reply_handle: str | None,
    reply: str | None,
) -> str:
    liked = "1 like" if likes == 1 else f"{likes} likes"
    answered = "" if reply is None else f"a reply by {reply_name} (@{reply_handle}), saying “{reply}”, and "
    return f"Post by {name} (@{handle}) of {posted[:10]}, saying “{text}”, with {answered}{liked}."


def _column(profiles: pd.DataFrame, name: str) -> pd.Series:
    if name not in profiles:
        raise InputError(
            f"The profiles have no column '{name}'{did_you_mean(name, profiles)}; name the columns under "
            "content: roles: in the study file."
        )
    return profiles[name]


def _codes(profiles: pd.DataFrame, name: str, levels: Sequence[str]) -> Integers:
    column = _column(profiles, name)
    codes = _find(column, levels)
    if (codes < 0).any():
        wrong = column[codes < 0].iloc[0]
        raise InputError(
            f"The profiles' column '{name}' contains '{wrong}'{did_you_mean(str(wrong), levels)}, not in "
            f"the files of the study; use one of {listed(levels)}."
        )
    return codes


def _find(column: pd.Series, levels: Sequence[str]) -> Integers:
    """Positions of values among the ``levels`` ones, -1 for others."""
    values = column.astype("category").cat
    positions: Integers = np.append(pd.Index(levels).get_indexer(values.categories), -1)[values.codes]
    return positions.astype(np.int64)


def _objects(values: Sequence[str | None]) -> Strings:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
