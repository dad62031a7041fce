"""The texts of posts and the replies to them, read from a study's data files, which are checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field, ValidationError

from ...study.study_yaml import MarkedYaml, Part, Text, read_marked_yaml, suggestion

REMEDIES = {"missing": "add it", "string_type": "put words in quotes"}
WITH_REMEDY = "with_remedy"  # type of a problem whose sentence states what to do
File = TypeVar("File", bound=BaseModel)


def read_checked(path: Path, model: type[File]) -> tuple[File, MarkedYaml]:
    """Read a YAML file into a pydantic model; raises InputError with file, line and remedy."""
    marked = read_marked_yaml(path)
    try:
        return model.model_validate(marked.content), marked
    except ValidationError as problems:
        first = min(problems.errors(), key=lambda problem: marked.line(problem["loc"]))
        place = ".".join(str(step) for step in first["loc"]) or "the file"
        if first["type"] == "unknown_field":
            at = (*first["loc"], first["ctx"]["field"])
            raise marked.error(at, f"{place}: {first['msg']}") from None
        if first["type"] == WITH_REMEDY:
            raise marked.error(first["loc"], f"{place}: {first['msg']}") from None
        remedy = REMEDIES.get(first["type"], "correct it")
        raise marked.error(first["loc"], f"{place}: {first['msg'].rstrip('.')}; {remedy}.") from None


def stimulus_counts(ids: Iterable[str]) -> Counter[str]:
    """Count stimuli by level, from ids such as ``politics_07``."""
    return Counter(name.rpartition("_")[0] for name in ids)


def check_counts(
    marked: MarkedYaml, field: str, noun: str, counts: Mapping[str, int], ids: Iterable[str]
) -> None:
    """Refuse a file with other levels, or another number of ``noun`` for a level, than ``ids`` ask for."""
    targets = stimulus_counts(ids)
    for level, count in counts.items():
        if level not in targets:
            raise marked.error((field, level), f"{field}: {suggestion(level, targets)}")
        if count != targets[level]:
            raise marked.error(
                (field, level),
                f"{level} has {count} {noun} and the study asks for {targets[level]}; "
                f"{'add' if count < targets[level] else 'remove'} {abs(targets[level] - count)}.",
            )
    for level in targets:
        if level not in counts:
            raise marked.error(
                (field,), f"{level} is missing from {field}; add {targets[level]} {noun} for it."
            )


REPLIES = ("agree", "disagree")


class Template(Part):
    """One text with its places (see ``wording.fill``), and a reply of each kind."""

    text: Text
    agree: Text
    disagree: Text


class TextsFile(Part):
    """A file of texts by topic."""

    intensifier: Text
    topics: dict[str, list[Template]] = Field(min_length=1)


@dataclass(frozen=True)
class Texts:
    """Texts by id, such as ``politics_07``, and the word that stands for a curse."""

    templates: dict[str, Template]
    intensifier: str


def load_texts(path: Path, ids: Sequence[str]) -> Texts:
    """Read a file of texts."""
    file, marked = read_checked(path, TextsFile)
    counts = {topic: len(templates) for topic, templates in file.topics.items()}
    check_counts(marked, "topics", "texts", counts, ids)
    first: dict[str, int] = {}
    for topic, templates in file.topics.items():
        for position, template in enumerate(templates):
            at = ("topics", topic, position, "text")
            sentence = text_problem(template.text)
            if sentence is not None:
                raise marked.error(at, f"{topic} {position}: {sentence}")
            if template.text in first:
                raise marked.error(
                    at, f"this text is already on line {first[template.text]}; use another text."
                )
            first[template.text] = marked.line(at)
            for reply in REPLIES:
                if "{" in getattr(template, reply):
                    raise marked.error(
                        (*at[:3], reply), f"{topic} {position}: a reply has no places; remove the braces."
                    )
    numbered = {
        f"{topic}_{number:02d}": template
        for topic, templates in file.topics.items()
        for number, template in enumerate(templates)
    }
    return Texts({name: numbered[name] for name in ids}, file.intensifier)


FORMS = ("singular", "plural", "adjective")  # of an insult
INTENSIFIER = "curse"
ARTICLE = "a"

_SLOT = re.compile(r"\{(\w+)(?:\|([^{}|]+))?\}( ?)")
_ARTICLE = re.compile(r"\{([aA])\}(\W+)(\w[\w-]*)")
_TAKES_AN = re.compile(
    r"(?!eu|ewe|onc?e\b|uni(?!n|m)|us[aeu]|ut[ei])[aeiou]|hono|hones|hour|heir",
    re.IGNORECASE,
)


def fill(text: str, insult: Mapping[str, str] | None, intensifier: str | None) -> str:
    """Fill the places of a text."""
    # `{plural|people}` is that form of the insult, or the word after the bar where there is none; `{a}`
    # becomes "a" or "an" by the next word; a place with a capital gets one.
    forms = insult or {}

    def word(slot: re.Match[str]) -> str:
        place, neutral, space = slot.group(1), slot.group(2), slot.group(3)
        if place.lower() == ARTICLE:
            return slot.group()
        filler = intensifier if place.lower() == INTENSIFIER else forms.get(place.lower())
        if filler is None:
            return neutral + space if neutral else ""
        return (filler[0].upper() + filler[1:] if place[0].isupper() else filler) + space

    return _ARTICLE.sub(_article_before, _SLOT.sub(word, text))


def text_problem(text: str) -> str | None:
    """State what is wrong with the places of a text and how to mend it; None where nothing is."""
    slots = list(_SLOT.finditer(text))
    names = [slot.group(1).lower() for slot in slots]
    places = (*FORMS, INTENSIFIER, ARTICLE)
    unknown = [slot.group() for slot, name in zip(slots, names, strict=True) if name not in places]
    if unknown:
        return (
            f"'{unknown[0].strip()}' is not a place in a text; use one of {', '.join(places)} in the braces."
        )
    if re.search(r"[{}]", _SLOT.sub("", text)):
        return "a brace of a place is missing or its words contain a bar or a brace; write {singular|guy}."
    insults = [name for name in names if name in FORMS]
    for n_places, what, example in (
        (len(insults), "the insult", "{singular|guy}, {plural|people} or {adjective}"),
        (names.count(INTENSIFIER), "the intensifier", "{curse} before a noun or an adjective"),
    ):
        if n_places != 1:
            count = "no place" if n_places == 0 else f"{n_places} places"
            return f"the text has {count} for {what}; write {example}{'' if n_places == 0 else ' once'}."
    for slot, name in zip(slots, names, strict=True):
        if name in FORMS[:2] and not slot.group(2):
            return (
                f"'{{{name}}}' has no word for posts without an insult; write {{{name}|people}} or the like."
            )
        if not slot.group(2) and not re.match(r"[\w{]", text[slot.end() :] if slot.group(3) else ""):
            return f"'{slot.group().strip()}' must be followed by a space and a word; add them."
    return None


def _article_before(match: re.Match[str]) -> str:
    article, space, word = match.groups()
    return article + ("n" if _TAKES_AN.match(word) else "") + space + word
