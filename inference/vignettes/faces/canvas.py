"""Flat shapes on a square canvas, drawn large and scaled down so that edges are smooth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageChops, ImageColor, ImageDraw

from ...errors import InputError

Points = NDArray[np.float64]  # shape (n, 2), in units
UNITS = 400  # along the side of the plane on which shapes lie
FINER = 4  # pixels drawn along each pixel kept
LARGEST = 2048  # pixels along the side of a picture
SPLINE = np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]]) / 2  # of Catmull and Rom
WEIGHTS = np.vander(np.arange(12) / 12, 4, increasing=True) @ SPLINE  # of four points, for twelve drawn ones
HALF_TURN = np.linspace(0, np.pi, 9)[1:-1, None]
TURN = np.linspace(0, 2 * np.pi, 64, endpoint=False)


class Canvas:
    """A square on which shapes are filled in flat colours.

    Parameters
    ----------
    size : int
        Pixels along the side of the finished picture.
    colour : str
        Of the ground, as '#rrggbb'.
    frame : tuple of float
        Left, top and side of the part of the plane that is shown; by default all 400 units of it.

    Raises
    ------
    InputError
        The picture would be smaller than 1 or larger than 2,048 pixels.
    """

    def __init__(self, size: int, colour: str, frame: tuple[float, float, float] = (0, 0, UNITS)) -> None:
        if not 1 <= size <= LARGEST:
            raise InputError(f"A picture of {size} pixels is asked for; ask for 1 to {LARGEST:,}.")
        self._side = size * FINER
        self._corner, self._scale = frame[:2], self._side / frame[2]
        self._image = Image.new("RGB", (self._side, self._side), colour)
        self._pen = ImageDraw.Draw(self._image)

    def fill(self, shape: ArrayLike, colour: str, *within: Points) -> None:
        """Fill a shape, of which only what lies in all shapes of ``within`` shows."""
        if not within:
            self._pen.polygon(self._pixels(shape), fill=ImageColor.getrgb(colour))
            return
        mask = self._mask(shape)
        for other in within:
            mask = ImageChops.logical_and(mask, self._mask(other))
        self._image.paste(ImageColor.getrgb(colour), (0, 0), mask)

    def finished(self) -> Image.Image:
        """Return the picture in its size, as RGBA without a transparent pixel."""
        return self._image.reduce(FINER).convert("RGBA")

    def _mask(self, shape: ArrayLike) -> Image.Image:
        mask = Image.new("1", self._image.size)
        ImageDraw.Draw(mask).polygon(self._pixels(shape), fill=1)
        return mask

    def _pixels(self, shape: ArrayLike) -> list[tuple[float, float]]:
        placed = (np.asarray(shape, dtype=float) - self._corner) * self._scale
        return list(map(tuple, placed.tolist()))


def curve(*points: tuple[float, float]) -> Points:
    """Smooth line through points: the spline of Catmull and Rom (doi:10.1016/B978-0-12-079050-0.50020-5).

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
    return np.vstack([_spline(padded), given[-1:]])


def blob(*points: tuple[float, float]) -> Points:
    """Smooth closed shape through n points, of shape (12 n, 2)."""
    given = np.array(points, dtype=float)
    return _spline(np.vstack([given[-1:], given, given[:2]]))


def symmetrical(*points: tuple[float, float]) -> Points:
    """Smooth closed shape from the points of its right half, from the top down to the bottom."""
    return blob(*points, *_left_of(points))


def arch(*points: tuple[float, float]) -> Points:
    """Smooth line from the points of its right half, from its right end to the upright middle line."""
    return curve(*points, *_left_of(points))


def mirrored(shape: Points) -> Points:
    """Turn a shape about the upright middle line of the plane."""
    return np.column_stack([UNITS - shape[:, 0], shape[:, 1]])


def moved(shape: Points, x: float, y: float) -> Points:
    """Move a shape to the right and down."""
    there: Points = shape + np.array([x, y])
    return there


def oval(x: float, y: float, width: float, height: float | None = None) -> Points:
    """Ellipse about a point, with its half width and half height (by default a circle)."""
    return np.column_stack([x + width * np.cos(TURN), y + (height or width) * np.sin(TURN)])


def ribbon(line: Points, start: float, end: float | None = None, middle: float | None = None) -> Points:
    """Outline of a stroke with round ends along a line; ``start``, ``middle`` and ``end`` are its widths."""
    last = start if end is None else end
    widths = [start, (start + last) / 2 if middle is None else middle, last]
    half = np.interp(np.linspace(0, 2, len(line)), [0, 1, 2], widths)[:, None] / 2
    along = np.diff(line, axis=0, prepend=2 * line[:1] - line[1:2])
    along = along / np.hypot(*along.T)[:, None]
    across = np.column_stack([-along[:, 1], along[:, 0]])
    ends = [
        line[at] + sign * half[at] * (np.cos(HALF_TURN) * across[at] + np.sin(HALF_TURN) * along[at])
        for at, sign in ((-1, 1), (0, -1))
    ]
    return np.vstack([line + half * across, ends[0], (line - half * across)[::-1], ends[1]])


def outline(shape: Points, width: float) -> Points:
    """Closed stroke of a ``width`` along the edge of a shape, which leaves its inside free."""
    tangent = np.roll(shape, -1, axis=0) - np.roll(shape, 1, axis=0)
    tangent = tangent / np.hypot(*tangent.T)[:, None]
    across = np.column_stack([-tangent[:, 1], tangent[:, 0]]) * width / 2
    outer, inner = shape - across, shape + across
    return np.vstack([outer, outer[:1], inner[:1], inner[::-1]])


def along(line: Points, count: int) -> Points:
    """Points that lie evenly along a line, its ends included, of shape (count, 2)."""
    length = np.append(0, np.cumsum(np.hypot(*np.diff(line, axis=0).T)))
    at = np.linspace(0, length[-1], count)
    return np.column_stack([np.interp(at, length, line[:, axis]) for axis in (0, 1)])


def mixed(colour: str, other: str, share: float) -> str:
    """Mix a share of another colour into one.

    Examples
    --------
    >>> mixed("#000000", "#ffffff", 0.2)
    '#333333'
    """
    pairs = zip(ImageColor.getrgb(colour)[:3], ImageColor.getrgb(other)[:3], strict=True)
    return "#" + "".join(f"{round(one + share * (two - one)):02x}" for one, two in pairs)


def _left_of(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    return [(UNITS - x, y) for x, y in points[::-1] if x != UNITS / 2]


def _spline(points: Points) -> Points:
    """Return the spline between the second and the last point but one, of shape (12 (n - 3), 2)."""
    fours = np.stack([points[start : len(points) - 3 + start] for start in range(4)], axis=1)
    smooth: Points = (WEIGHTS @ fours).reshape(-1, 2)
    return smooth
