"""Portraits of head and shoulders, drawn from a description of one face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

from .canvas import Canvas, Points, blob, curve, mixed, oval, ribbon, symmetrical
from .clothing import clothe
from .hair import HAIR, Hair

Figure = Literal["man", "woman"]

INK = "#2a211f"  # pupils and lids
WHITE = "#fbf7f2"  # of eyes
EARS = 64  # from the middle of the face
EYES = (27, 186)  # from the middle of the face, from the top
MOUTH = 236

JAWS = {  # of a man's and a woman's head: x of the right half at three heights, and the chin's height
    "man": {"oval": (262, 246, 221, 274), "round": (265, 252, 224, 271), "square": (263, 254, 228, 273)},
    "woman": {"oval": (259, 241, 216, 268), "round": (262, 246, 219, 265), "square": (260, 247, 221, 267)},
}
MOUTHS = {
    "neutral": (0, 0),
    "soft": (3, 3),
    "smile": (6, 6),
    "crooked": (1, 6),
}  # corners of the mouth, raised
BEARDS = ("none", "stubble", "short", "full", "goatee", "moustache")
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

    def picture(self, size: int) -> Image.Image:
        """Draw the face as a square of ``size`` pixels."""
        return draw_portrait(self, size)


def draw_portrait(face: Portrait, size: int) -> Image.Image:
    """Draw a face.

    Parameters
    ----------
    face : Portrait
    size : int
        Pixels along the side.

    Returns
    -------
    RGBA image
        The background fills the square; a circle that touches its sides cuts nothing of the head off.
    """
    canvas = Canvas(size, face.background)
    head = head_outline(face)
    hair = Hair(canvas, face.hair_colour, face.skin, head)
    back, front = HAIR[face.hair]
    back(hair)
    _neck(canvas, face, head)
    clothe(canvas, face.clothes, face.clothes_colour, face.skin, face.figure == "man")
    _head(canvas, face, head)
    if face.beard != "none":
        _beard(canvas, face, head)
    _features(canvas, face)
    front(hair)
    _brows(canvas, face)
    if face.glasses != "none":
        _glasses(canvas, face)
    if face.earrings != "none":
        _earrings(canvas, face)
    return canvas.finished()


def head_outline(face: Portrait) -> Points:
    """Outline of the head without its ears."""
    cheek, jaw, chin, bottom = JAWS[face.figure][face.jaw]
    top = 90 if face.figure == "man" else 93
    return symmetrical(
        *((200, top), (245, top + 17), (cheek + 2, top + 60), (cheek, 196), (jaw, 238)),
        *((chin, bottom - 7), (200, bottom)),
    )


def _shade(face: Portrait) -> str:
    return mixed(face.skin, "#4a1710", 0.17)


def _neck(canvas: Canvas, face: Portrait, head: Points) -> None:
    half = 36 if face.figure == "man" else 29
    neck = np.vstack(
        [
            curve((200 - half, 230), (200 - half, 285), (200 - half - 20, 318)),
            curve((200, 350), (200 + half + 20, 318)),
            curve((200 + half, 285), (200 + half, 230)),
        ]
    )
    canvas.fill(neck, face.skin)
    canvas.fill(head + (0, 22), _shade(face), neck)


def _head(canvas: Canvas, face: Portrait, head: Points) -> None:
    for side in (-1, 1):
        canvas.fill(oval(200 + side * EARS, 190, 12, 19), face.skin)
        inner = oval(200 + side * (EARS + 1), 191, 6, 11)
        canvas.fill(inner, _shade(face))
    canvas.fill(head, face.skin)
    rosy = mixed(face.skin, "#e0513f", 0.16 if face.figure == "woman" else 0.09)
    for side in (-1, 1):
        canvas.fill(oval(200 + side * 40, 217, 16, 11), rosy, head)


def _features(canvas: Canvas, face: Portrait) -> None:
    shade = _shade(face)
    nose = curve((190, 211), (194, 217), (200, 215), (206, 217), (210, 211))
    canvas.fill(ribbon(nose, 2.5, 2.5, 5), shade)
    _mouth(canvas, face)
    for side in (-1, 1):
        _eye(canvas, face, side)


def _eye(canvas: Canvas, face: Portrait, side: int) -> None:
    away, y = EYES
    x = 200 + side * away
    white = blob(
        (x - 14, y + 1), (x - 6, y - 7), (x + 6, y - 7), (x + 14, y + 1), (x + 6, y + 7), (x - 6, y + 7)
    )
    canvas.fill(white, WHITE)
    canvas.fill(oval(x, y - 0.5, 8), face.eyes, white)
    canvas.fill(oval(x, y - 0.5, 4.2), INK, white)
    canvas.fill(oval(x + 2.6, y - 3.4, 2.2), "#ffffff")
    lid = curve((x - side * 14, y + 1), (x - side * 7, y - 7), (x + side * 6, y - 8), (x + side * 15, y))
    if face.figure == "woman":
        lid = curve(
            (x - side * 14, y + 1), (x - side * 7, y - 7), (x + side * 6, y - 8), (x + side * 19, y - 4)
        )
    canvas.fill(ribbon(lid, 2, 3 if face.figure == "man" else 2, 3.6 if face.figure == "man" else 5.6), INK)


def _mouth(canvas: Canvas, face: Portrait) -> None:
    left, right = MOUTHS[face.mouth]
    y = MOUTH if face.figure == "man" else MOUTH - 2
    half = 19 if face.figure == "man" else 18
    woman = face.figure == "woman"
    lips = mixed(face.skin, "#a8323a", 0.46 if woman else 0.24)
    ends = (200 - half, y - left), (200 + half, y - right)
    full = 9 if woman else 6
    upper = curve(ends[0], (192, y - full * 0.55), (200, y - full * 0.3), (208, y - full * 0.55), ends[1])
    lower = curve(ends[1], (210, y + full), (200, y + full + 1), (190, y + full), ends[0])
    canvas.fill(np.vstack([upper, lower]), lips)
    line = curve(ends[0], (200, y + (left + right) / 3), ends[1])
    canvas.fill(ribbon(line, 2, 2, 3.4), mixed(lips, "#3a0f10", 0.45))


def _brows(canvas: Canvas, face: Portrait) -> None:
    colour = mixed(face.hair_colour, INK, 0.35)
    for side in (-1, 1):
        if face.figure == "man":
            brow = curve((200 + side * 13, 166), (200 + side * 28, 160), (200 + side * 44, 166))
            shape = ribbon(brow, 8, 4, 8)
        else:
            brow = curve((200 + side * 13, 165), (200 + side * 31, 157), (200 + side * 46, 166))
            shape = ribbon(brow, 5, 2, 5)
        canvas.fill(shape, colour)


def _beard(canvas: Canvas, face: Portrait, head: Points) -> None:
    hair = mixed(face.hair_colour, INK, 0.15)
    if face.beard == "stubble":
        hair = mixed(face.skin, hair, 0.3)
    moustache = blob(
        (200, 219), (216, 222), (227, 236), (212, 229), (200, 230), (188, 229), (173, 236), (184, 222)
    )
    if face.beard in ("full", "stubble", "short"):
        depth = {"full": 222, "stubble": 222, "short": 236}[face.beard]
        low = {"full": 9, "stubble": 0, "short": 3}[face.beard]
        jaw = np.vstack(
            [
                curve((132, 196), (141, 204), (156, depth), (176, depth + 6), (200, depth + 10)),
                curve((200, depth + 10), (224, depth + 6), (244, depth), (259, 204), (268, 196)),
                [(280, 300), (120, 300)],
            ]
        )
        canvas.fill((head - (200, 180)) * (1 + low / 300) + (200, 180 + low * 0.8), hair, jaw)
    if face.beard in ("goatee",):
        canvas.fill(symmetrical((200, 252), (216, 247), (222, 262), (214, 277), (200, 281)), hair)
    if face.beard in ("full", "stubble", "moustache", "goatee", "short"):
        canvas.fill(moustache, hair)
    if face.beard in ("full", "goatee", "short"):
        for side in (-1, 1):
            canvas.fill(
                ribbon(curve((200 + side * 22, 230), (200 + side * 25, 244), (200 + side * 18, 258)), 6, 8),
                hair,
            )


def _glasses(canvas: Canvas, face: Portrait) -> None:
    frame = "#3b3431"
    away, y = EYES
    for side in (-1, 1):
        x = 200 + side * (away + 1)
        if face.glasses == "round":
            outer = oval(x, y, 22.5)
        else:
            outer = blob(
                *(
                    (x - 20, y - 15),
                    (x, y - 17),
                    (x + 20, y - 15),
                    (x + 23, y),
                    (x + 17, y + 16),
                    (x, y + 18),
                ),
                *((x - 17, y + 16), (x - 23, y)),
            )
        canvas.fill(ribbon(np.vstack([outer, outer[:2]]), 4.4), frame)
        canvas.fill(ribbon(curve((x + side * 22, y - 5), (200 + side * (EARS + 2), y - 8)), 4.4), frame)
    canvas.fill(ribbon(curve((194, y - 3), (200, y - 6), (206, y - 3)), 4.4), frame)


def _earrings(canvas: Canvas, face: Portrait) -> None:
    gold = "#e3b34d"
    for side in (-1, 1):
        x = 200 + side * (EARS + 3)
        if face.earrings == "studs":
            canvas.fill(oval(x, 211, 4.5), gold)
        else:
            ring = oval(x, 224, 12)
            canvas.fill(ribbon(np.vstack([ring, ring[:2]]), 4), gold)
