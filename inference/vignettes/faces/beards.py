"""Beards of drawn people by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .canvas import Points, arch, curve, mixed, moved, ribbon, symmetrical
from .hair_tools import Hair

MOUSTACHE = symmetrical((200, 219), (216, 222), (227, 236), (212, 230), (200, 231))


def _nothing(hair: Hair, head: Points) -> None:
    pass


def _colour(hair: Hair) -> str:
    return mixed(hair.colour, "#2a211f", 0.15)


def _jaw(hair: Hair, head: Points, top: float, longer: float, colour: str) -> None:
    """Fill the head below a line from the ears to ``top``, made longer at the chin."""
    line = arch((268, 196), (259, 204), (244, top), (224, top + 6), (200, top + 10))
    below = np.vstack([line, [(100, 196), (100, 320), (300, 320), (300, 196)]])
    grown = moved((head - (200, 180)) * (1 + longer / 300), 200, 180 + longer * 0.8)
    hair.fill(grown, colour, below)


def _around_mouth(hair: Hair) -> None:
    hair.both(ribbon(curve((222, 230), (225, 244), (218, 258)), 6, 8), _colour(hair))


def _moustache(hair: Hair, head: Points) -> None:
    hair.fill(MOUSTACHE, _colour(hair))


def _stubble(hair: Hair, head: Points) -> None:
    colour = mixed(hair.skin, _colour(hair), 0.3)
    _jaw(hair, head, 222, 0, colour)
    hair.fill(MOUSTACHE, colour)


def _short(hair: Hair, head: Points) -> None:
    _jaw(hair, head, 236, 3, _colour(hair))
    _around_mouth(hair)
    _moustache(hair, head)


def _full(hair: Hair, head: Points) -> None:
    _jaw(hair, head, 222, 9, _colour(hair))
    _around_mouth(hair)
    _moustache(hair, head)


def _goatee(hair: Hair, head: Points) -> None:
    hair.fill(symmetrical((200, 252), (216, 247), (222, 262), (214, 277), (200, 281)), _colour(hair))
    _around_mouth(hair)
    _moustache(hair, head)


BEARDS: dict[str, Callable[[Hair, Points], None]] = {
    "none": _nothing,
    "stubble": _stubble,
    "moustache": _moustache,
    "goatee": _goatee,
    "short": _short,
    "full": _full,
}
