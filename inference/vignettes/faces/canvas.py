"""Flat shapes on a square canvas, drawn large and scaled down so that edges are smooth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageChops, ImageColor, ImageDraw

from ...errors import InputError

Points = NDArray[np.float64]  # shape (n, 2), in units
UNITS = 400  # along the side of a canvas, whatever its size in pixels
FINER = 4  # pixels drawn along each pixel kept
LARGEST = 2048  # pixels along the side of a picture
STEPS = 12  # points drawn between two given ones


class Canvas:
    """A square on which shapes are filled in flat colours, in units of 1/400 of its side.

    Parameters
    ----------
    size : int
        Pixels along the side of the finished picture.
    colour : str
        Of the ground, as '#rrggbb'.
    """

    def __init__(self, size: int, colour: str) -> None:
        if not 1 <= size <= LARGEST:
            raise InputError(f"A picture of {size} pixels is asked for; ask for 1 to {LARGEST:,}.")
        self._side = size * FINER
        self._image = Image.new("RGB", (self._side, self._side), colour)
        self._pen = ImageDraw.Draw(self._image)

    def fill(self, outline: ArrayLike, colour: str, *within: Points) -> None:
        """Fill a shape, of which only what lies in all shapes of ``within`` shows."""
        if not within:
            self._pen.polygon(self._pixels(outline), fill=ImageColor.getrgb(colour))
            return
        mask = self._mask(outline)
        for other in within:
            mask = ImageChops.darker(mask, self._mask(other))
        self._image.paste(ImageColor.getrgb(colour), (0, 0), mask)

    def finished(self) -> Image.Image:
        """Return the picture in its size, as RGBA without a transparent pixel."""
        return self._image.reduce(FINER).convert("RGBA")

    def _mask(self, outline: ArrayLike) -> Image.Image:
        mask = Image.new("1", (self._side, self._side))
        ImageDraw.Draw(mask).polygon(self._pixels(outline), fill=1)
        return mask

    def _pixels(self, outline: ArrayLike) -> list[tuple[float, float]]:
        scaled = np.asarray(outline, dtype=float) * (self._side / UNITS)
        return [(x, y) for x, y in scaled.tolist()]


def curve(*points: tuple[float, float]) -> Points:
    """Smooth line through points (Catmull and Rom's spline, doi:10.1016/B978-0-12-079050-0.50020-5).

    Returns
    -------
    array of shape (12 (n - 1) + 1, 2)

    Examples
    --------
    >>> curve((0, 0), (2, 1), (4, 0))[12].tolist()
    [2.0, 1.0]
    """
    given = np.array(points, dtype=float)
    padded = np.vstack([2 * given[0] - given[1], given, 2 * given[-1] - given[-2]])
    pieces = [_piece(padded[start : start + 4]) for start in range(len(given) - 1)]
    return np.vstack([*pieces, given[-1:]])


def blob(*points: tuple[float, float]) -> Points:
    """Smooth closed shape through points, of shape (12 n, 2)."""
    given = np.array(points, dtype=float)
    padded = np.vstack([given[-1:], given, given[:2]])
    return np.vstack([_piece(padded[start : start + 4]) for start in range(len(given))])


def oval(x: float, y: float, width: float, height: float | None = None) -> Points:
    """Ellipse about a point, with its half width and half height (by default a circle)."""
    turn = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    return np.column_stack([x + width * np.cos(turn), y + (height or width) * np.sin(turn)])


def ribbon(line: Points, start: float, end: float | None = None, middle: float | None = None) -> Points:
    """Outline of a stroke with round ends along a line; ``start``, ``middle`` and ``end`` are its widths."""
    last = start if end is None else end
    between = (start + last) / 2 if middle is None else middle
    along = np.gradient(line, axis=0)
    length = np.hypot(*along.T)
    along = along / np.where(length == 0, 1, length)[:, None]
    across = np.column_stack([-along[:, 1], along[:, 0]])
    half = np.interp(np.linspace(0, 1, len(line)), [0, 0.5, 1], [start / 2, between / 2, last / 2])[:, None]
    turn = np.linspace(0, np.pi, 9)[1:-1, None]
    ends = [
        line[at] + half[at] * (np.cos(turn) * sign * across[at] + np.sin(turn) * sign * along[at])
        for at, sign in ((-1, 1), (0, -1))
    ]
    return np.vstack([line + half * across, ends[0], (line - half * across)[::-1], ends[1]])


def mirrored(shape: Points) -> Points:
    """Turn a shape about the upright middle line of the canvas."""
    return np.column_stack([UNITS - shape[:, 0], shape[:, 1]])


def symmetrical(*points: tuple[float, float]) -> Points:
    """Smooth closed shape from the points of its right half, from the top down to the bottom."""
    left = [(UNITS - x, y) for x, y in points[::-1] if x != UNITS / 2]
    return blob(*points, *left)


def mixed(colour: str, other: str, share: float) -> str:
    """Mix a share of another colour into one.

    Examples
    --------
    >>> mixed("#000000", "#ffffff", 0.2)
    '#333333'
    """
    pairs = zip(ImageColor.getrgb(colour)[:3], ImageColor.getrgb(other)[:3], strict=True)
    return "#" + "".join(f"{round(one + share * (two - one)):02x}" for one, two in pairs)


def _piece(four: Points) -> Points:
    """Return the spline between the second and the third of four points, of shape (12, 2)."""
    t = np.linspace(0, 1, STEPS, endpoint=False)[:, None]
    before, first, second, after = four
    return 0.5 * (
        2 * first
        + (second - before) * t
        + (2 * before - 5 * first + 4 * second - after) * t**2
        + (3 * first - before - 3 * second + after) * t**3
    )


def scalloped(line: Points, radius: float, count: int) -> Sequence[Points]:
    """Circles along a line, as the edge of curly hair."""
    length = np.append(0, np.cumsum(np.hypot(*np.diff(line, axis=0).T)))
    at = np.linspace(0, length[-1], count)
    centres = np.column_stack([np.interp(at, length, line[:, axis]) for axis in (0, 1)])
    return [oval(x, y, radius) for x, y in centres]
