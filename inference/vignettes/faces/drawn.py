"""Faces drawn after a file that says, by group, what skin, hair and features they may have.

Features that tell identity are dealt within a group like cards; the rest follow from the number of a face, so
that the fourth face of every group has the same background, clothes, glasses, jaw and mouth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ...design.stimuli.source import read_checked, stimulus_counts
from ...study.base import Part, Text
from ...study.checks import suggestion
from ...study.yaml import Location, MarkedYaml
from ...tables.columns import did_you_mean
from ...tables.streams import stream
from .beards import BEARDS
from .clothing import CLOTHES
from .hair import HAIR
from .portraits import EARRINGS, GLASSES, JAWS, MOUTHS, Figure, Portrait

Colour = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")]
Colours = Annotated[list[Colour], Field(min_length=1)]
Names = Annotated[list[Text], Field(min_length=1)]


class ByNumber(Part):
    """What the faces of one number share in all groups; the fourth face takes the fourth of each list."""

    background: Colours
    clothes: Names
    clothes_colour: Colours
    glasses: Names
    jaw: Names
    mouth: Names


class Group(Part):
    """What the faces of a group may look like; each list is gone through before a value comes again."""

    figure: Figure
    skin: Colours
    eyes: Colours
    hair: Names
    hair_colour: Colours
    beard: Names = Field(default=["none"])
    earrings: Names = Field(default=["none"])


class FacesFile(Part):
    """A file of drawn faces."""

    seed: Annotated[int, Field(ge=0)]
    by_number: ByNumber
    groups: dict[str, Group] = Field(default_factory=dict)


DEALT = ("skin", "eyes", "hair", "hair_colour", "beard", "earrings")
KNOWN: dict[str, Collection[str]] = {
    "hair": HAIR,
    "beard": BEARDS,
    "earrings": EARRINGS,
    "clothes": CLOTHES,
    "glasses": GLASSES,
    "jaw": JAWS["man"],
    "mouth": MOUTHS,
}


def read_drawn_faces(path: Path, authors: Iterable[str]) -> dict[str, Portrait]:
    """Describe the face of each author.

    Parameters
    ----------
    path : a YAML file with ``seed``, ``by_number`` and ``groups``, which may hold more groups than asked for
    authors : ids such as ``black_male_03``

    Raises
    ------
    InputError
        The file is malformed, lacks a group, holds a form that is not drawn here, or too little to tell the
        faces of a group apart.
    """
    file, marked = read_checked(path, FacesFile)
    wanted = stimulus_counts(authors)
    _check_names(file.by_number, ("by_number",), marked)
    faces: dict[str, Portrait] = {}
    for group, count in wanted.items():
        if group not in file.groups:
            meant = did_you_mean(group, set(file.groups) - set(wanted))
            raise marked.error(
                ("groups",), f"{group} is missing from groups{meant}; add what its faces look like."
            )
        _check_names(file.groups[group], ("groups", group), marked)
        for number, face in enumerate(_deal(file, file.groups[group], count)):
            if face in faces.values():
                raise marked.error(
                    ("groups", group),
                    f"{group} has fewer than {count} different faces; write more kinds of hair or skin.",
                )
            faces[f"{group}_{number:02d}"] = face
    return faces


def _check_names(part: Part, at: Location, marked: MarkedYaml) -> None:
    for field, names in part.model_dump().items():
        for position, name in enumerate(names if field in KNOWN else ()):
            if name not in KNOWN[field]:
                raise marked.error((*at, field, position), f"{field}: {suggestion(name, KNOWN[field])}")


def _deal(file: FacesFile, group: Group, count: int) -> list[Portrait]:
    """Describe ``count`` faces; the order in which a list is dealt is the same for lists of equal length."""
    dealt: dict[str, list[str]] = {}
    for field in DEALT:
        values = getattr(group, field)
        order = stream(file.seed, "faces", field).permutation(count)
        dealt[field] = [values[number % len(values)] for number in order]
    return [
        Portrait(
            figure=group.figure,
            **{field: values[number] for field, values in dealt.items()},
            **_by_number(file.by_number, number),
        )
        for number in range(count)
    ]


def _by_number(part: ByNumber, number: int) -> Mapping[str, str]:
    return {field: values[number % len(values)] for field, values in part.model_dump().items()}
