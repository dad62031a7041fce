"""Layout files: what a kind of picture consists of, read and checked (see data/layouts/README.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field

from ..design.stimuli.wording import read_checked
from ..errors import InputError, did_you_mean, listed
from ..study.study_yaml import Amount, Location, Part, Text, suggestion
from ..tables.files import LAYOUTS, ROOT
from .layout_parts import (
    RGB,
    AnyPiece,
    Column,
    Container,
    IconPiece,
    Piece,
    RulePiece,
    SpacePiece,
    TextPiece,
    parse_colour,
    parsed_by,
    walk,
)

ICONS = ROOT / "data" / "icons.yaml"
ICON_UNITS = 24.0  # along the side of an icon, whatever its size in pixels
CURVE_STEPS = 24  # points drawn along a curve
NUMBERS = {"M": 2, "L": 2, "C": 6, "Z": 0}  # how many numbers follow each letter
TOKEN = re.compile(r"[A-Za-z]|-?(?:\d+\.?\d*|\.\d+)|[^\s,]")
BACKGROUND = "background"  # the colour that every theme has
WIDEST = 4096
FIELD, VALUE = "field", "value"  # places that `each` fills

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Icon:
    """Lines through points, in units of 1/24 of the side from the upper left corner."""

    lines: tuple[tuple[Point, ...], ...]


@cache
def shipped_icons() -> dict[str, Icon]:
    """Return the icons of data/icons.yaml by name."""
    paths = yaml.safe_load(ICONS.read_text(encoding="utf-8"))
    return {name: parse_icon(path) for name, path in paths.items()}


def parse_icon(path: str) -> Icon:
    """Parse the path of an icon: the letters M, L, C and Z of SVG, with absolute coordinates from 0 to 24."""
    lines: list[list[Point]] = []
    for letter, points in _steps(path):
        if letter == "M":
            lines.append(points)
        elif not lines:
            raise ValueError(f"the path '{_short(path)}' does not begin with M; begin it with a point.")
        elif letter == "Z":
            lines[-1].append(lines[-1][0])
        else:
            lines[-1] += points if letter == "L" else _curve(lines[-1][-1], *points)
    if not lines:
        raise ValueError("the path of the icon is empty; write M, L, C and Z with their points.")
    return Icon(tuple(map(tuple, lines)))


Colour = Annotated[RGB, parsed_by(parse_colour)]
IconPath = Annotated[Icon, parsed_by(parse_icon)]


class Style(Part):
    """Style of a text: size in pixels, weight from 100 to 900, line height as a multiple of the size."""

    size: Annotated[int, Field(ge=4, le=400)]
    weight: Annotated[int, Field(ge=100, le=900)] = 400
    leading: Annotated[Amount, Field(ge=1, le=4)] = 1.3
    colour: Text


class LayoutFile(Part):
    """A layout as its file gives it."""

    width: Annotated[int, Field(ge=16, le=WIDEST)]
    themes: Annotated[dict[str, dict[str, Colour]], Field(min_length=1)]
    styles: dict[str, Style] = Field(default_factory=dict)
    icons: dict[str, IconPath] = Field(default_factory=dict)
    content: AnyPiece


@dataclass(frozen=True)
class VignetteLayout:
    """A layout, checked."""

    path: Path
    width: int  # of the picture in pixels; the height follows from its parts
    themes: Mapping[str, Mapping[str, RGB]]
    styles: Mapping[str, Style]
    icons: Mapping[str, Icon]
    content: Piece
    fields: tuple[str, ...]  # columns of a record that the layout names; `each` shows all others as well


def load_layout(name_or_path: str, folder: Path | None = None) -> VignetteLayout:
    """Load a layout that ships, or a layout file of a study.

    Parameters
    ----------
    name_or_path : str
        Such as ``post``, or the path of a YAML file.
    folder : Path, optional
        The folder of the study file, to which a path is relative; by default the current one.

    Returns
    -------
    VignetteLayout
        The layout, checked.

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
    icons = shipped_icons() | file.icons
    problems = [*_theme_problems(file), *_name_problems(file, icons)]
    if problems:
        location, sentence = min(problems, key=lambda problem: marked.line(problem[0]))
        raise marked.error(location, sentence)
    return VignetteLayout(
        path, file.width, file.themes, file.styles, icons, file.content, _fields(file.content)
    )


def is_shipped(name: str) -> bool:
    """Whether a layout of that name ships."""
    return name in _shipped()


def _shipped() -> dict[str, Path]:
    return {file.stem: file for file in sorted(LAYOUTS.glob("*.yaml"))}


def _find(name_or_path: str, folder: Path) -> Path:
    shipped = _shipped()
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
    first, *other_themes = file.themes
    if BACKGROUND not in file.themes[first]:
        sentence = f"theme {first} has no colour '{BACKGROUND}', the colour of the empty picture; add it."
        yield ("themes", first), sentence
    for theme in other_themes:
        for name in (name for name in file.themes[first] if name not in file.themes[theme]):
            yield ("themes", theme), f"theme {theme} lacks the colour '{name}' of {first}; add it."
        for name in (name for name in file.themes[theme] if name not in file.themes[first]):
            sentence = f"theme {first} lacks the colour '{name}' of {theme}; add or remove it."
            yield ("themes", theme, name), sentence


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
                sentence = "space: 'fill' is for rows; write its height in pixels."
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


def _steps(path: str) -> list[tuple[str, list[Point]]]:
    tokens = TOKEN.findall(path)
    steps = []
    at = 0
    while at < len(tokens):
        letter = tokens[at]
        if letter not in NUMBERS:
            raise ValueError(f"'{letter}' in the path '{_short(path)}' is none of M, L, C, Z; correct it.")
        arguments = tokens[at + 1 : at + 1 + NUMBERS[letter]]
        at += 1 + NUMBERS[letter]
        if len(arguments) < NUMBERS[letter] or any(token[-1].isalpha() for token in arguments):
            raise ValueError(
                f"{letter} in the path '{_short(path)}' takes {NUMBERS[letter]} numbers; add the others."
            )
        numbers = [float(token) for token in arguments]
        if any(not 0 <= number <= ICON_UNITS for number in numbers):
            raise ValueError(
                f"the path '{_short(path)}' leaves the square of 24 by 24 units; move its points into it."
            )
        steps.append((letter, list(zip(numbers[::2], numbers[1::2], strict=True))))
    return steps


def _curve(start: Point, first: Point, second: Point, end: Point) -> list[Point]:
    points = []
    for step in range(1, CURVE_STEPS + 1):
        t = step / CURVE_STEPS
        shares = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        controls = (start, first, second, end)
        x, y = (sum(share * p[axis] for share, p in zip(shares, controls, strict=True)) for axis in (0, 1))
        points.append((x, y))
    return points


def _short(path: str) -> str:
    return path if len(path) <= 40 else f"{path[:39]}…"
