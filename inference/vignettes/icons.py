"""Icons: lines in a square of 24 units, drawn large and scaled down so that their edges are smooth."""

from __future__ import annotations

import re
from dataclasses import dataclass

from PIL import Image, ImageDraw

from .colours import RGB

UNITS = 24.0  # along the side of an icon, whatever its size in pixels
FINER = 4  # pixels drawn along each pixel kept
STEPS = 24  # points drawn along a curve
NUMBERS = {"M": 2, "L": 2, "C": 6, "Z": 0}  # how many numbers follow each letter
TOKEN = re.compile(r"[A-Za-z]|-?(?:\d+\.?\d*|\.\d+)|[^\s,]")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Icon:
    """Lines through points, in units of 1/24 of the side from the upper left corner."""

    lines: tuple[tuple[Point, ...], ...]


def parse_icon(path: str) -> Icon:
    """Read the path of an icon: the letters M, L, C and Z of SVG, with absolute coordinates from 0 to 24.

    M begins a line at a point, L draws it straight on to a point, C along a cubic curve (two control points
    and its end), and Z back to where it began.

    Raises
    ------
    ValueError
        Another letter, too few numbers, or a point outside the square.

    Examples
    --------
    >>> parse_icon("M 2 4 L 22 4 L 12 20 Z").lines
    (((2.0, 4.0), (22.0, 4.0), (12.0, 20.0), (2.0, 4.0)),)
    """
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


def draw_icon(icon: Icon, size: int, stroke: float, colour: RGB, background: RGB) -> Image.Image:
    """Draw an icon in one colour, its lines ``stroke`` units wide and round at their ends.

    Returns
    -------
    RGB image of ``size`` by ``size`` pixels

    Examples
    --------
    >>> slash = parse_icon("M 2 22 L 22 2")
    >>> draw_icon(slash, 24, 2, (0, 0, 0), (255, 255, 255)).getpixel((12, 11))
    (0, 0, 0)
    """
    scale = size * FINER / UNITS
    mask = Image.new("L", (size * FINER, size * FINER))
    pen = ImageDraw.Draw(mask)
    half = stroke * scale / 2
    for line in icon.lines:
        points = [(x * scale - 0.5, y * scale - 0.5) for x, y in line]
        pen.line(points, fill=255, width=round(2 * half))
        for x, y in points:
            pen.ellipse((x - half, y - half, x + half, y + half), fill=255)
    drawn = Image.new("RGB", (size, size), background)
    drawn.paste(colour, (0, 0), mask.reduce(FINER))
    return drawn


def _steps(path: str) -> list[tuple[str, list[Point]]]:
    tokens = TOKEN.findall(path)
    steps = []
    at = 0
    while at < len(tokens):
        letter = tokens[at]
        if letter not in NUMBERS:
            raise ValueError(f"'{letter}' in the path '{_short(path)}' is none of M, L, C, Z; correct it.")
        given = tokens[at + 1 : at + 1 + NUMBERS[letter]]
        at += 1 + NUMBERS[letter]
        if len(given) < NUMBERS[letter] or any(token[-1].isalpha() for token in given):
            raise ValueError(
                f"{letter} in the path '{_short(path)}' takes {NUMBERS[letter]} numbers; add the others."
            )
        numbers = [float(token) for token in given]
        if any(not 0 <= number <= UNITS for number in numbers):
            raise ValueError(
                f"the path '{_short(path)}' leaves the square of 24 by 24 units; move its points into it."
            )
        steps.append((letter, list(zip(numbers[::2], numbers[1::2], strict=True))))
    return steps


def _curve(start: Point, first: Point, second: Point, end: Point) -> list[Point]:
    points = []
    for step in range(1, STEPS + 1):
        t = step / STEPS
        shares = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        given = (start, first, second, end)
        x, y = (sum(share * p[axis] for share, p in zip(shares, given, strict=True)) for axis in (0, 1))
        points.append((x, y))
    return points


def _short(path: str) -> str:
    return path if len(path) <= 40 else f"{path[:39]}…"


ICONS = {  # drawn for conjury; layouts may bring their own
    "reply": "M 12 3.5 C 17.2 3.5 21 6.9 21 11.4 C 21 15.9 17.2 19.2 12 19.2 C 10.9 19.2 9.9 19.1 8.9 18.8"
    " L 4.2 20.8 L 5.1 16.8 C 3.8 15.4 3 13.5 3 11.4 C 3 6.9 6.8 3.5 12 3.5 Z",
    "repost": "M 4 13 L 4 9.5 C 4 7.6 5.4 6.2 7.3 6.2 L 19.6 6.2 M 16.4 3 L 19.8 6.2 L 16.4 9.4"
    " M 20 11 L 20 14.5 C 20 16.4 18.6 17.8 16.7 17.8 L 4.4 17.8 M 7.6 14.6 L 4.2 17.8 L 7.6 21",
    "like": "M 12 20.3 C 7.2 17.2 3 13.6 3 9.2 C 3 6.3 5.2 4.2 7.8 4.2 C 9.6 4.2 11.1 5.1 12 6.6"
    " C 12.9 5.1 14.4 4.2 16.2 4.2 C 18.8 4.2 21 6.3 21 9.2 C 21 13.6 16.8 17.2 12 20.3 Z",
    "share": "M 12 15 L 12 3.4 M 7.6 7.6 L 12 3.2 L 16.4 7.6"
    " M 4 14 L 4 17.6 C 4 19.4 5.1 20.5 6.9 20.5 L 17.1 20.5 C 18.9 20.5 20 19.4 20 17.6 L 20 14",
    "save": "M 6 3.5 L 18 3.5 L 18 20.5 L 12 16 L 6 20.5 Z",
    "more": "M 5 12 L 5.1 12 M 12 12 L 12.1 12 M 19 12 L 19.1 12",
    "place": "M 12 21 C 8 16.8 5.5 13.4 5.5 9.8 C 5.5 6.1 8.4 3.3 12 3.3 C 15.6 3.3 18.5 6.1 18.5 9.8"
    " C 18.5 13.4 16 16.8 12 21 Z M 12 7.4 C 13.4 7.4 14.4 8.4 14.4 9.8 C 14.4 11.2 13.4 12.2 12 12.2"
    " C 10.6 12.2 9.6 11.2 9.6 9.8 C 9.6 8.4 10.6 7.4 12 7.4 Z",
    "work": "M 4.5 8 L 19.5 8 C 20.3 8 21 8.7 21 9.5 L 21 18.5 C 21 19.3 20.3 20 19.5 20 L 4.5 20"
    " C 3.7 20 3 19.3 3 18.5 L 3 9.5"
    " C 3 8.7 3.7 8 4.5 8 Z M 8.5 8 L 8.5 5 L 15.5 5 L 15.5 8 M 3 13.2 L 21 13.2",
    "calendar": "M 4 5.8 L 20 5.8 L 20 20.3 L 4 20.3 Z M 4 10.4 L 20 10.4"
    " M 8.2 3.2 L 8.2 7.4 M 15.8 3.2 L 15.8 7.4",
    "star": "M 12 3.2 L 14.7 8.8 L 20.9 9.6 L 16.4 13.9 L 17.5 20 L 12 17.1 L 6.5 20 L 7.6 13.9 L 3.1 9.6"
    " L 9.3 8.8 Z",
    "truck": "M 2.5 6 L 14.5 6 L 14.5 16.8 L 9.3 16.8 M 5.3 16.8 L 2.5 16.8 L 2.5 6"
    " M 14.5 9.6 L 18.4 9.6 L 21.5 13 L 21.5 16.8 L 19.3 16.8 M 15.3 16.8 L 14.5 16.8"
    " M 7.3 14.8 C 8.4 14.8 9.3 15.7 9.3 16.8 C 9.3 17.9 8.4 18.8 7.3 18.8 C 6.2 18.8 5.3 17.9 5.3 16.8"
    " C 5.3 15.7 6.2 14.8 7.3 14.8 Z"
    " M 17.3 14.8 C 18.4 14.8 19.3 15.7 19.3 16.8 C 19.3 17.9 18.4 18.8 17.3 18.8 C 16.2 18.8 15.3 17.9"
    " 15.3 16.8 C 15.3 15.7 16.2 14.8 17.3 14.8 Z",
}
