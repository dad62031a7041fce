"""The texts of posts, and the replies to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from ..study_base import Part, Text
from . import wording
from .source import check_counts, read_checked

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
    """Read a file of texts.

    Parameters
    ----------
    path : a YAML file with ``intensifier`` and ``topics``
    ids : the texts that the study asks for, such as ``politics_07``

    Raises
    ------
    InputError
        The file is malformed, holds other topics or another number of texts than asked for, a text twice, or
        a text without its places.
    """
    file, marked = read_checked(path, TextsFile)
    held = {topic: len(templates) for topic, templates in file.topics.items()}
    check_counts(marked, "topics", "texts", held, ids)
    first: dict[str, int] = {}
    for topic, templates in file.topics.items():
        for position, template in enumerate(templates):
            at = ("topics", topic, position, "text")
            sentence = wording.problem(template.text)
            if sentence is not None:
                raise marked.error(at, f"{topic} {position}: {sentence}")
            if template.text in first:
                raise marked.error(
                    at, f"this text already stands on line {first[template.text]}; write another."
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
