"""Clothes of drawn people, none of which tells who wears them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .canvas import Canvas, Points, arch, blob, curve, mirrored, mixed, oval, ribbon

LINEN = "#f4f1ea"
SHADOW = "#1b1b2b"


def clothe(canvas: Canvas, name: str, colour: str, skin: str, broad: bool) -> None:
    """Draw the shoulders in the clothes called ``name``."""
    half = 352 if broad else 334
    body = arch((half, 412), (half - 5, 362), (half - 34, 332), (245, 310), (200, 304))
    canvas.fill(body, colour)
    CLOTHES[name](canvas, colour, skin, body)


def _pair(canvas: Canvas, shape: Points, colour: str, *within: Points) -> None:
    canvas.fill(shape, colour, *within)
    canvas.fill(mirrored(shape), colour, *within)


def _crew(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    canvas.fill(oval(200, 298, 50, 32), skin, body)
    collar = arch((253, 300), (232, 325), (200, 333))
    canvas.fill(ribbon(collar, 9), mixed(colour, SHADOW, 0.22), body)


def _v_neck(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    canvas.fill([(148, 296), (200, 358), (252, 296)], skin, body)
    edge = curve((256, 298), (230, 326), (200, 360))
    _pair(canvas, ribbon(edge, 9), mixed(colour, SHADOW, 0.22), body)


def _shirt(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    canvas.fill([(150, 290), (200, 350), (250, 290)], skin, body)
    dark = mixed(colour, SHADOW, 0.25)
    canvas.fill(ribbon(curve((200, 346), (200, 412)), 2.5), dark)
    for y in (366, 390):
        canvas.fill(oval(206, y, 3), dark)
    wing = np.array([(231, 288), (262, 312), (242, 352), (200, 346), (222, 324)], dtype=float)
    _pair(canvas, wing, mixed(colour, "#ffffff", 0.3))
    _pair(canvas, ribbon(curve((262, 312), (242, 352), (201, 346)), 2), dark)


def _hoodie(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    canvas.fill(oval(200, 300, 46, 36), skin, body)
    outer = (234, 288), (264, 296), (284, 318), (260, 344), (204, 366)
    _pair(canvas, blob(*outer, (200, 352), (230, 330), (242, 306)), mixed(colour, SHADOW, 0.25))
    _pair(canvas, ribbon(curve((222, 352), (224, 372), (222, 392)), 4.5), LINEN)


def _turtleneck(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    dark = mixed(colour, SHADOW, 0.2)
    neck = np.vstack([arch((240, 284), (200, 296)), arch((248, 318), (200, 332))[::-1]])
    canvas.fill(neck, mixed(colour, "#ffffff", 0.1))
    canvas.fill(ribbon(arch((247, 318), (200, 332)), 4), dark)
    for x in (208, 224):
        _pair(canvas, ribbon(curve((x, 297), (x + 1, 320)), 2), dark)


def _jacket(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    canvas.fill([(142, 296), (200, 424), (258, 296)], LINEN, body)
    canvas.fill(oval(200, 298, 46, 32), skin, body)
    collar = [(232, 288), (264, 304), (276, 348), (254, 350), (260, 364), (205, 412), (216, 350)]

    _pair(canvas, np.array(collar, dtype=float), mixed(colour, SHADOW, 0.28))


CLOTHES: dict[str, Callable[[Canvas, str, str, Points], None]] = {
    "crew": _crew,
    "v_neck": _v_neck,
    "shirt": _shirt,
    "hoodie": _hoodie,
    "turtleneck": _turtleneck,
    "jacket": _jacket,
}
