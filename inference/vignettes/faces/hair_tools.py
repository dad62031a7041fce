"""What all hair of drawn people is made of: caps, locks, curls and strands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .canvas import Canvas, Points, along, arch, curve, mirrored, mixed, oval, ribbon

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Hair:
    """A canvas, and the colours of the hair to draw on it and of the skin below."""

    canvas: Canvas
    colour: str
    skin: str

    @property
    def dark(self) -> str:
        """Of hair in shade."""
        return mixed(self.colour, "#140d12", 0.32)

    @property
    def light(self) -> str:
        """Of strands in light."""
        return mixed(self.colour, "#ffdfb8", 0.17)

    def shaved(self, share: float) -> str:
        """Colour of hair so short that skin shows through all but a ``share``."""
        return mixed(self.skin, self.colour, share)

    def fill(self, shape: Points, colour: str | None = None, *within: Points) -> None:
        """Fill a shape, in the colour of the hair unless another is given."""
        self.canvas.fill(shape, colour or self.colour, *within)

    def both(self, shape: Points, colour: str | None = None) -> None:
        """Fill a shape and its mirror image."""
        self.fill(shape, colour)
        self.fill(mirrored(shape), colour)

    def strand(self, *points: Point, width: float = 2.6, colour: str | None = None) -> None:
        """Draw a thin line, light unless another colour is given."""
        self.fill(ribbon(curve(*points), width / 2, width / 2, width), colour or self.light)

    def strands(self, *points: Point, width: float = 2.6, colour: str | None = None) -> None:
        """Draw a thin line and its mirror image."""
        self.both(ribbon(curve(*points), width / 2, width / 2, width), colour or self.light)

    def curls(self, line: Points, radius: float, count: int) -> None:
        """Draw circles along a line, as the edge of curls."""
        for x, y in along(line, count):
            self.fill(oval(x, y, radius))

    def coils(self, *centres: Point, size: float = 6) -> None:
        """Draw small bows that tell curls from one another."""
        for x, y in centres:
            self.strand((x - size, y + 3), (x, y - 4), (x + size, y + 2))

    def ropes(self, line: Points, width: float, gap: float = 9) -> None:
        """Draw a lock that is twisted like a rope, and its mirror image."""
        self.both(ribbon(line, width, width * 0.85, width))
        count = max(2, int(np.hypot(*np.diff(line, axis=0).T).sum() / gap))
        for x, y in along(line, count)[:-1]:
            self.strands((x - width * 0.3, y + 2.5), (x, y), (x + width * 0.3, y - 2.5), width=1.8)

    def plaits(self, line: Points, width: float, gap: float = 9) -> None:
        """Draw a braid and its mirror image."""
        self.both(ribbon(line, width, width * 0.75, width))
        count = max(2, int(np.hypot(*np.diff(line, axis=0).T).sum() / gap))
        for x, y in along(line, count)[:-1]:
            self.strands((x - width * 0.4, y - 2.5), (x, y + 2), (x + width * 0.4, y - 2.5), width=1.8)


def cap(beyond: float, hairline: Points, low: float = 188) -> Points:
    """Shape that goes from temple to temple ``beyond`` the head, and back along the hairline."""
    top, side = 90 - beyond, 65 + beyond * 0.8
    crown = arch((200 + side - 3, low), (200 + side, 150), (200 + side * 0.72, top + 16), (200, top))
    return np.vstack([crown[::-1], hairline])


SQUARE = arch((258, 190), (254, 158), (250, 140), (236, 127), (218, 124), (200, 123))  # hairlines
ROUND = arch((259, 186), (253, 158), (242, 136), (222, 122), (200, 118))
HIGH = arch((260, 184), (256, 152), (246, 128), (226, 113), (200, 108))
PARTED = arch((258, 210), (254, 162), (236, 128), (216, 114), (200, 104))
