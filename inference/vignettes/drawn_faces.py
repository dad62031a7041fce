"""Drawn faces and silhouettes: flat shapes from data/faces, filled in the colours of each person.

A faces file lists, by group, the skin, hair and features that its faces may have. Features that signal
identity are dealt within a group like cards; the rest follow from the number of a face, so that the fourth
face of every group has the same background, clothes, glasses, jaw and mouth. The shapes are made by
tests/fixtures/vignettes/make_faces.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageColor, ImageDraw
from pydantic import Field

from ..design.stimuli.wording import read_checked, stimulus_counts
from ..errors import InputError, did_you_mean
from ..study.study_yaml import Location, MarkedYaml, Part, Text, suggestion
from ..tables.columns import stream
from ..tables.files import ROOT

FOLDER = ROOT / "data" / "faces"
UNITS = 400.0  # along the side of the plane of the shapes
FACE_FRAME = (20, 4, 360)  # left, top and side of the part of the plane that a face shows
FINER = 4  # pixels drawn along each final pixel, for smooth edges
LARGEST = 2048  # pixels along the side of a picture
PARTS = {  # of a face, from back to front, and the attributes that name the form of each
    "hair_behind": ("hair",),
    "neck": ("figure", "jaw"),
    "clothes": ("figure", "clothes"),
    "head": ("figure", "jaw"),
    "beard": ("figure", "jaw", "beard"),
    "mouth": ("figure", "mouth"),
    "eyes": ("figure",),
    "earrings": ("earrings",),
    "hair": ("hair",),
    "brows": ("figure",),
    "glasses": ("glasses",),
}
FEATURES = {  # the part, and the position in the names of its forms, that list a feature
    "hair": ("hair", 0),
    "beard": ("beard", 2),
    "earrings": ("earrings", 0),
    "clothes": ("clothes", 1),
    "glasses": ("glasses", 0),
    "jaw": ("head", 1),
    "mouth": ("mouth", 1),
}
DEALT = ("skin", "eyes", "hair", "hair_colour", "beard", "earrings")
GROUNDS: dict[str, str] = yaml.safe_load((FOLDER / "silhouettes.yaml").read_text(encoding="utf-8"))
TINTS = {"": ("#000000", 0.0), "deep ": ("#000000", 0.35), "pale ": ("#ffffff", 0.4)}
SILHOUETTES = len(GROUNDS) * len(TINTS)

Points = NDArray[np.float64]  # shape (n, 2), in units
Colour = str | list[Any]  # '#rrggbb', the name of a tone, or two of these and the share of the second
ColourCode = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")]
ColourCodes = Annotated[list[ColourCode], Field(min_length=1)]
Names = Annotated[list[Text], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Portrait:
    """Everything that a drawn face depends on: colours as '#rrggbb', and names of forms."""

    figure: Literal["man", "woman"]
    skin: str
    eyes: str
    hair: str
    hair_colour: str
    beard: str
    earrings: str
    jaw: str
    mouth: str
    glasses: str
    clothes: str
    clothes_colour: str
    background: str

    def picture(self, size: int) -> Image.Image:
        """Draw the face as a square of ``size`` pixels; a circle in it cuts nothing of the head."""
        shapes = [
            shape
            for part, attributes in PARTS.items()
            for shape in forms()[part][" ".join(getattr(self, name) for name in attributes)]
        ]
        tones = {
            "skin": self.skin,
            "eyes": self.eyes,
            "hair": self.hair_colour,
            "clothes": self.clothes_colour,
        }
        return _fill_shapes(size, self.background, FACE_FRAME, shapes, tones)


@dataclass(frozen=True, slots=True)
class Silhouette:
    """A person without a face: the ``number``-th pale silhouette, each on a colour of its own."""

    number: int

    @property
    def colour(self) -> str:
        """Colour of the ground, as '#rrggbb'."""
        tint, share = list(TINTS.values())[self.number // len(GROUNDS)]
        return _mix_colours(list(GROUNDS.values())[self.number % len(GROUNDS)], tint, share)

    @property
    def description(self) -> str:
        """What the picture shows."""
        tint = list(TINTS)[self.number // len(GROUNDS)]
        return f"a silhouette on {tint}{list(GROUNDS)[self.number % len(GROUNDS)]}"

    def picture(self, size: int) -> Image.Image:
        """Draw it as a square of ``size`` pixels."""
        tones = {"background": self.colour, "person": _mix_colours(self.colour, "#ffffff", 0.86)}
        return _fill_shapes(size, self.colour, (0, 0, UNITS), forms()["silhouette"][""], tones)


class ByNumber(Part):
    """Attributes that the faces of one number share in all groups: the fourth face has the fourth values."""

    background: ColourCodes
    clothes: Names
    clothes_colour: ColourCodes
    glasses: Names
    jaw: Names
    mouth: Names


class FaceGroup(Part):
    """Attributes that the faces of a group may have; no value of a list repeats before all were dealt."""

    figure: Literal["man", "woman"]
    skin: ColourCodes
    eyes: ColourCodes
    hair: Names
    hair_colour: ColourCodes
    beard: Names = Field(default=["none"])
    earrings: Names = Field(default=["none"])


class FacesFile(Part):
    """A file of drawn faces."""

    seed: Annotated[int, Field(ge=0)]
    by_number: ByNumber
    groups: dict[str, FaceGroup] = Field(default_factory=dict)


def read_drawn_faces(path: Path, authors: Iterable[str]) -> dict[str, Portrait]:
    """Return the face of each author, such as ``black_male_03``, by a file that may have more groups."""
    file, marked = read_checked(path, FacesFile)
    counts = stimulus_counts(authors)
    _check_names(file.by_number, ("by_number",), marked)
    faces: dict[str, Portrait] = {}
    for group, count in counts.items():
        if group not in file.groups:
            meant = did_you_mean(group, set(file.groups) - set(counts))
            sentence = f"{group} is missing from groups{meant}; add the attributes of its faces."
            raise marked.error(("groups",), sentence)
        _check_names(file.groups[group], ("groups", group), marked)
        for number, face in enumerate(_deal_faces(file, file.groups[group], count)):
            if face in faces.values():
                sentence = f"{group} has fewer than {count} different faces; add kinds of hair or skin."
                raise marked.error(("groups", group), sentence)
            faces[f"{group}_{number:02d}"] = face
    return faces


@dataclass(frozen=True, slots=True)
class Shape:
    """Outlines filled in one colour; only the part inside all of ``within`` is visible."""

    colour: Colour
    outlines: tuple[Points, ...]
    within: tuple[Points, ...]


@cache
def forms() -> dict[str, dict[str, tuple[Shape, ...]]]:
    """Return the shapes of each form of each part of a face; forms without shapes are empty."""
    table = pq.read_table(FOLDER / "shapes.parquet")
    listed: dict[str, dict[str, list[Shape]]] = {}
    points = [np.reshape(shape.values.to_numpy(), (-1, 2)) for shape in table["shape"]]
    for row, outline in zip(table.drop(["shape"]).to_pylist(), points, strict=True):
        shapes = listed.setdefault(row["part"], {}).setdefault(row["form"], [])
        if row["colour"] is None:  # a form without shapes, such as "none"
            continue
        mirrored = np.column_stack([UNITS - outline[:, 0], outline[:, 1]])
        within = tuple(np.reshape(polygon, (-1, 2)) for polygon in row["within"])
        outlines = (outline, mirrored) if row["pair"] else (outline,)
        shapes.append(Shape(json.loads(row["colour"]), outlines, within))
    return {part: {form: tuple(shapes) for form, shapes in named.items()} for part, named in listed.items()}


@cache
def form_names(feature: str) -> tuple[str, ...]:
    """Return the names that a faces file may give for a feature, such as "glasses"."""
    part, position = FEATURES[feature]
    return tuple(dict.fromkeys(form.split(" ")[position] for form in forms()[part]))


def _check_names(part: Part, at: Location, marked: MarkedYaml) -> None:
    for field, names in part.model_dump().items():
        for position, name in enumerate(names if field in FEATURES else ()):
            if name not in form_names(field):
                raise marked.error((*at, field, position), f"{field}: {suggestion(name, form_names(field))}")


def _deal_faces(file: FacesFile, group: FaceGroup, count: int) -> list[Portrait]:
    """Return ``count`` faces; lists of equal length are dealt in the same order in all groups."""
    dealt: dict[str, list[str]] = {}
    for field in DEALT:
        values = getattr(group, field)
        order = stream(file.seed, "faces", field).permutation(count)
        dealt[field] = [values[number % len(values)] for number in order]
    shared = file.by_number.model_dump()
    return [
        Portrait(
            figure=group.figure,
            **{field: values[number] for field, values in dealt.items()},
            **{field: values[number % len(values)] for field, values in shared.items()},
        )
        for number in range(count)
    ]


def _fill_shapes(
    size: int, ground: str, frame: tuple[float, float, float], shapes: Sequence[Shape], tones: dict[str, str]
) -> Image.Image:
    """Fill shapes, drawn large and scaled down, as RGBA without transparent pixels."""
    if not 1 <= size <= LARGEST:
        raise InputError(f"A picture of {size} pixels is wanted; choose a size from 1 to {LARGEST:,}.")
    side = size * FINER

    def pixels(outline: Points) -> list[tuple[float, float]]:
        return list(map(tuple, ((outline - frame[:2]) * (side / frame[2])).tolist()))

    def mask(outline: Points) -> Image.Image:
        image = Image.new("1", (side, side))
        ImageDraw.Draw(image).polygon(pixels(outline), fill=1)
        return image

    image = Image.new("RGB", (side, side), ground)
    pen = ImageDraw.Draw(image)
    for shape in shapes:
        colour = ImageColor.getrgb(_resolve_colour(shape.colour, tones))
        for outline in shape.outlines:
            if shape.within:
                visible = mask(outline)
                for boundary in shape.within:
                    visible = ImageChops.logical_and(visible, mask(boundary))
                image.paste(colour, (0, 0), visible)
            else:
                pen.polygon(pixels(outline), fill=colour)
    return image.reduce(FINER).convert("RGBA")


def _resolve_colour(colour: Colour, tones: dict[str, str]) -> str:
    """Return a colour of the shapes, mixed from the tones of a person, as '#rrggbb'."""
    if isinstance(colour, str):
        return tones.get(colour, colour)
    first, second, share = colour
    return _mix_colours(_resolve_colour(first, tones), _resolve_colour(second, tones), share)


def _mix_colours(colour: str, second: str, share: float) -> str:
    """Mix a share of another colour into one."""
    pairs = zip(ImageColor.getrgb(colour)[:3], ImageColor.getrgb(second)[:3], strict=True)
    return "#" + "".join(f"{round(start + share * (end - start)):02x}" for start, end in pairs)
