"""Portraits of head and shoulders, drawn from a description of one face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

from .beards import BEARDS
from .canvas import (
    Canvas,
    Points,
    arch,
    blob,
    curve,
    mirrored,
    mixed,
    moved,
    outline,
    oval,
    ribbon,
    symmetrical,
)
from .clothing import clothe
from .hair import HAIR
from .hair_tools import Hair

Figure = Literal["man", "woman"]

FRAME = (20, 4, 360)  # left, top and side of what is shown
INK = "#2a211f"  # pupils and lids
WHITE = "#fbf7f2"  # of eyes
GOLD = "#e3b34d"
JAWS = {  # x of cheek, jaw and chin on the right, and y below the chin
    "man": {"oval": (262, 246, 221, 274), "round": (265, 252, 224, 271), "square": (263, 254, 228, 273)},
    "woman": {"oval": (259, 241, 216, 268), "round": (262, 246, 219, 265), "square": (260, 247, 221, 267)},
}
MOUTHS = {"neutral": (1, 1), "soft": (3, 3), "smile": (6, 6), "crooked": (1, 5)}  # how far corners are raised
GLASSES = ("none", "round", "square")
EARRINGS = ("none", "studs", "hoops")


@dataclass(frozen=True, slots=True)
class Portrait:
    """All that a drawn face depends on; colours as '#rrggbb', the rest names of forms."""

    figure: Figure
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

    @property
    def shade(self) -> str:
        """Colour of skin in shade."""
        return mixed(self.skin, "#4a1710", 0.17)

    def picture(self, size: int) -> Image.Image:
        """Draw the face as a square of ``size`` pixels, RGBA, of which a circle cuts nothing of the head."""
        canvas = Canvas(size, self.background, FRAME)
        head = _head_outline(self)
        hair = Hair(canvas, self.hair_colour, self.skin)
        behind, before = HAIR[self.hair]
        behind(hair)
        _neck(canvas, self, head)
        clothe(canvas, self.clothes, self.clothes_colour, self.skin, self.figure == "man")
        _head(canvas, self, head)
        BEARDS[self.beard](hair, head)
        _nose_and_mouth(canvas, self)
        _eyes(canvas, self)
        _earrings(canvas, self)
        before(hair)
        _brows(canvas, self)
        _glasses(canvas, self)
        return canvas.finished()


def _pair(canvas: Canvas, shape: Points, colour: str, *within: Points) -> None:
    canvas.fill(shape, colour, *within)
    canvas.fill(mirrored(shape), colour, *within)


def _head_outline(face: Portrait) -> Points:
    cheek, jaw, chin, bottom = JAWS[face.figure][face.jaw]
    top = 90 if face.figure == "man" else 93
    upper = (200, top), (245, top + 17), (cheek + 2, top + 60), (cheek, 196)
    return symmetrical(*upper, (jaw, 238), (chin, bottom - 7), (200, bottom))


def _neck(canvas: Canvas, face: Portrait, head: Points) -> None:
    side = 236 if face.figure == "man" else 229
    neck = arch((side, 230), (side, 282), (side + 11, 314), (200, 346))
    canvas.fill(neck, face.skin)
    canvas.fill(moved(head, 0, 22), face.shade, neck)


def _head(canvas: Canvas, face: Portrait, head: Points) -> None:
    _pair(canvas, oval(264, 190, 12, 19), face.skin)
    _pair(canvas, oval(265, 191, 6, 11), face.shade)
    canvas.fill(head, face.skin)
    rosy = mixed(face.skin, "#e0513f", 0.12 if face.figure == "woman" else 0.06)
    _pair(canvas, oval(241, 217, 15, 10), rosy, head)


def _nose_and_mouth(canvas: Canvas, face: Portrait) -> None:
    woman = face.figure == "woman"
    nose = curve((190, 211), (194, 217), (200, 215), (206, 217), (210, 211))
    canvas.fill(ribbon(nose, 2.5, 2.5, 5), mixed(face.skin, "#4a1710", 0.21))
    left, right = MOUTHS[face.mouth]
    y, half, full = (235, 18, 8) if woman else (237, 19, 5.5)
    lips = mixed(face.skin, "#a8323a", 0.44 if woman else 0.24)
    start, end = (200 - half, y - left), (200 + half, y - right)
    upper = curve(start, (193, y - full * 0.5), (200, y - full * 0.25), (207, y - full * 0.5), end)
    lower = curve(end, (211, y + full * 0.8), (200, y + full + 1), (189, y + full * 0.8), start)
    canvas.fill(np.vstack([upper, lower]), lips)
    line = curve(start, (200, y + (left + right) / 3), end)
    canvas.fill(ribbon(line, 1.6, 1.6, 3.2), mixed(lips, "#3a0f10", 0.45))


def _eyes(canvas: Canvas, face: Portrait) -> None:
    white = blob((213, 187), (221, 179), (233, 179), (241, 187), (233, 193), (221, 193))
    for side, light in ((white, 229.6), (mirrored(white), 175.6)):
        x = light - 2.6
        canvas.fill(side, WHITE)
        canvas.fill(oval(x, 185.5, 8), face.eyes, side)
        canvas.fill(oval(x, 185.5, 4.2), INK, side)
        canvas.fill(oval(light, 182.6, 2.2), "#ffffff")
    if face.figure == "woman":
        lid = ribbon(curve((213, 187), (220, 179), (233, 178), (246, 182)), 2, 2, 5.4)
    else:
        lid = ribbon(curve((213, 187), (220, 179), (233, 178), (242, 186)), 2, 3, 3.6)
    _pair(canvas, lid, INK)


def _brows(canvas: Canvas, face: Portrait) -> None:
    if face.figure == "woman":
        brow = ribbon(curve((213, 164), (224, 160), (236, 159), (246, 166)), 4.5, 2, 5)
    else:
        brow = ribbon(curve((212, 166), (224, 161), (236, 161), (245, 167)), 7, 4, 8)
    _pair(canvas, brow, mixed(face.hair_colour, INK, 0.35))


def _glasses(canvas: Canvas, face: Portrait) -> None:
    if face.glasses == "none":
        return
    frame = "#a9772c"
    rounded = oval(228, 186, 22.5)
    upper = (208, 171), (228, 169), (248, 171), (251, 186), (245, 202), (228, 204), (211, 202), (205, 186)
    lens = rounded if face.glasses == "round" else blob(*upper)
    _pair(canvas, outline(lens, 4.2), frame)
    _pair(canvas, ribbon(curve((250, 181), (266, 178)), 4.2), frame)
    canvas.fill(ribbon(arch((206, 183), (200, 180)), 4.2), frame)


def _earrings(canvas: Canvas, face: Portrait) -> None:
    if face.earrings == "studs":
        _pair(canvas, oval(267, 211, 4.5), GOLD)
    elif face.earrings == "hoops":
        _pair(canvas, outline(oval(267, 224, 12), 4), GOLD)
