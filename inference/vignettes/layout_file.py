"""Layout files: what a kind of picture is made of, read and checked.

A layout gives the width of the picture, the colours of its themes, styles of text, and its parts
(see ``layout_parts`` and data/layouts/README.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..design.stimuli.source import read_checked
from ..errors import InputError
from ..study.base import Amount, Part, Text
from ..study.checks import suggestion
from ..study.yaml import Location
from ..tables.columns import did_you_mean, listed
from ..tables.files import LAYOUTS
from .colours import RGB, parse_colour
from .icons import ICONS, Icon, parse_icon
from .layout_parts import (
    AnyPiece,
    Column,
    Container,
    IconPiece,
    Piece,
    RulePiece,
    SpacePiece,
    TextPiece,
    parsed_by,
    walk,
)

BACKGROUND = "background"  # the colour that every theme has
WIDEST = 4096
FIELD, VALUE = "field", "value"  # places that `each` fills


Colour = Annotated[RGB, parsed_by(parse_colour)]
Drawn = Annotated[Icon, parsed_by(parse_icon)]


class Style(Part):
    """How words look: size in pixels, weight from 100 to 900, line height as a multiple of the size."""

    size: Annotated[int, Field(ge=4, le=400)]
    weight: Annotated[int, Field(ge=100, le=900)] = 400
    leading: Annotated[Amount, Field(ge=1, le=4)] = 1.3
    colour: Text


class LayoutFile(Part):
    """A layout as its file holds it."""

    width: Annotated[int, Field(ge=16, le=WIDEST)]
    themes: Annotated[dict[str, dict[str, Colour]], Field(min_length=1)]
    styles: dict[str, Style] = Field(default_factory=dict)
    icons: dict[str, Drawn] = Field(default_factory=dict)
    content: AnyPiece


@dataclass(frozen=True)
class Layout:
    """A layout, checked.

    Attributes
    ----------
    path : Path
        Its file.
    width : int
        Of the picture in pixels; the height follows from what stands in it.
    themes : dict
        Colours by name, for each theme.
    styles : dict
        Styles of text by name.
    icons : dict
        Icons by name, those that ship and its own.
    content : Piece
        The part that fills the picture.
    fields : tuple of str
        Columns of a record that the layout names, in order of appearance, each once; one with ``each`` shows
        all others as well.
    """

    path: Path
    width: int
    themes: Mapping[str, Mapping[str, RGB]]
    styles: Mapping[str, Style]
    icons: Mapping[str, Icon]
    content: Piece
    fields: tuple[str, ...]


def load_layout(name_or_path: str, folder: Path | None = None) -> Layout:
    """Read a layout that ships, or a file of the study.

    Parameters
    ----------
    name_or_path : such as ``post``, or the path of a YAML file
    folder : the folder of the study file, against which a path is taken; by default the current one

    Raises
    ------
    InputError
        There is no such layout, or its file is malformed or contradicts itself; names file, line and remedy.

    Examples
    --------
    >>> layout = load_layout("post")
    >>> layout.width, sorted(layout.themes), layout.fields[:3]
    (1050, ['dark', 'light'], ('face', 'name', 'handle'))
    """
    path = _find(name_or_path, folder or Path())
    file, marked = read_checked(path, LayoutFile)
    icons = {name: parse_icon(drawn) for name, drawn in ICONS.items()} | file.icons
    problems = [*_theme_problems(file), *_name_problems(file, icons)]
    if problems:
        location, sentence = min(problems, key=lambda problem: marked.line(problem[0]))
        raise marked.error(location, sentence)
    return Layout(path, file.width, file.themes, file.styles, icons, file.content, _fields(file.content))


def _find(name_or_path: str, folder: Path) -> Path:
    shipped = {file.stem: file for file in sorted(LAYOUTS.glob("*.yaml"))}
    if name_or_path in shipped:
        return shipped[name_or_path]
    path = folder / name_or_path
    if not path.is_file():
        raise InputError(
            f"There is no layout '{name_or_path}'{did_you_mean(name_or_path, shipped)}; use one of "
            f"{listed(shipped)}, or the path of a layout file from {folder.resolve()}."
        )
    return path


def _fields(content: Piece) -> tuple[str, ...]:
    named: list[str] = []
    for _, piece in walk(content, ()):
        template = piece.template
        named += [piece.when] if piece.when is not None else []
        named += template.fields if template is not None else []
    return tuple(dict.fromkeys(name for name in named if name not in (FIELD, VALUE)))


def _theme_problems(file: LayoutFile) -> Iterator[tuple[Location, str]]:
    first, *others = file.themes
    if BACKGROUND not in file.themes[first]:
        yield (
            ("themes", first),
            f"theme {first} has no colour '{BACKGROUND}', which the picture begins with; add it.",
        )
    for other in others:
        for name in file.themes[first]:
            if name not in file.themes[other]:
                yield ("themes", other), f"theme {other} lacks the colour '{name}' of {first}; add it."
        for name in file.themes[other]:
            if name not in file.themes[first]:
                yield (
                    ("themes", other, name),
                    f"theme {first} lacks the colour '{name}' of {other}; add or remove it.",
                )


def _name_problems(file: LayoutFile, icons: Mapping[str, Icon]) -> Iterator[tuple[Location, str]]:
    colours = next(iter(file.themes.values()))
    if not isinstance(file.content, Container):
        yield ("content",), f"content is one {file.content.KIND}; put it into a column."
    for name, style in file.styles.items():
        if style.colour not in colours:
            yield ("styles", name, "colour"), f"colour: {suggestion(style.colour, colours)}"
    for location, piece in walk(file.content, ("content",)):
        if isinstance(piece, TextPiece) and piece.style not in file.styles:
            yield (*location, "style"), f"style: {suggestion(piece.style, file.styles)}"
        if isinstance(piece, IconPiece) and piece.icon not in icons:
            yield (*location, "icon"), f"icon: {suggestion(piece.icon, icons)}"
        for number, part in enumerate(piece.parts if isinstance(piece, Column) else ()):
            if isinstance(part, SpacePiece) and part.space == "fill":
                sentence = "space: 'fill' is for rows; write how many pixels it is high."
                yield (*location, piece.KIND, number, "space"), sentence
        for key, colour in _colours_of(piece):
            if colour not in colours:
                yield (*location, key), f"{key}: {suggestion(colour, colours)}"


def _colours_of(piece: Piece) -> list[tuple[str, str]]:
    match piece:
        case Container():
            return [(key, name) for key in ("fill", "border") if (name := getattr(piece, key)) is not None]
        case IconPiece():
            return [("colour", piece.colour)]
        case RulePiece():
            return [("rule", piece.rule)]
        case _:
            return []
