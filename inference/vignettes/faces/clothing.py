"""Clothes of drawn people, none of which tells who wears them."""

from __future__ import annotations

import numpy as np

from .canvas import Canvas, Points, blob, curve, mirrored, mixed, oval, ribbon


def clothe(canvas: Canvas, name: str, colour: str, skin: str, broad: bool) -> None:
    """Draw the shoulders in the clothes called ``name``."""
    half = 150 if broad else 132
    right = curve((200, 303), (245, 309), (200 + half - 34, 332), (200 + half - 6, 362), (200 + half, 402))
    body = np.vstack([mirrored(right)[::-1], right])
    canvas.fill(body, colour)
    CLOTHES[name](canvas, colour, skin, body)


def _crew(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    canvas.fill(oval(200, 298, 50, 30), skin, body)
    collar = curve((149, 305), (168, 324), (200, 331), (232, 324), (251, 305))
    canvas.fill(ribbon(collar, 9, 9), mixed(colour, "#1b1b2b", 0.22))


def _v_neck(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    canvas.fill([(152, 296), (200, 358), (248, 296)], skin)
    for side in (-1, 1):
        edge = curve((200 + side * 51, 302), (200 + side * 28, 326), (200, 360))
        canvas.fill(ribbon(edge, 9, 9), mixed(colour, "#1b1b2b", 0.22))


def _shirt(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    canvas.fill([(158, 296), (200, 346), (242, 296)], skin)
    dark = mixed(colour, "#1b1b2b", 0.25)
    canvas.fill(ribbon(curve((200, 345), (200, 402)), 2.5), dark)
    for y in (366, 390):
        canvas.fill(oval(206, y, 3), dark)
    for side in (-1, 1):
        wing = np.array([(37, 292), (60, 312), (40, 350), (0, 344), (26, 322)]) * (side, 1) + (200, 0)
        canvas.fill(wing, mixed(colour, "#ffffff", 0.3))
        canvas.fill(ribbon(curve(*map(tuple, wing[1:4])), 2), dark)


def _hoodie(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    dark = mixed(colour, "#1b1b2b", 0.25)
    canvas.fill(oval(200, 300, 46, 34), skin, body)
    for side in (-1, 1):
        hood = np.array(
            [(34, 288), (64, 296), (84, 318), (60, 344), (4, 366), (0, 352), (30, 330), (42, 306)]
        )
        canvas.fill(blob(*map(tuple, hood * (side, 1) + (200, 0))), dark)
        canvas.fill(
            ribbon(curve((200 + side * 22, 352), (200 + side * 24, 372), (200 + side * 22, 392)), 4.5),
            "#f4f1ea",
        )


def _turtleneck(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    dark = mixed(colour, "#1b1b2b", 0.2)
    neck = np.vstack([curve((160, 284), (200, 296), (240, 284)), curve((248, 318), (200, 332), (152, 318))])
    canvas.fill(neck, mixed(colour, "#ffffff", 0.1))
    canvas.fill(ribbon(curve((153, 318), (200, 332), (247, 318)), 4), dark)
    for x in (176, 192, 208, 224):
        canvas.fill(ribbon(curve((x, 296), (x + (x - 200) * 0.05, 320)), 2), dark)


def _jacket(canvas: Canvas, colour: str, skin: str, body: Points) -> None:
    dark = mixed(colour, "#1b1b2b", 0.28)
    inner = np.array([(146, 300), (200, 420), (254, 300)])
    canvas.fill(inner, "#f4f1ea", body)
    canvas.fill(oval(200, 298, 44, 30), skin, body)
    for side in (-1, 1):
        lapel = np.array([(38, 292), (62, 306), (74, 348), (52, 350), (58, 364), (6, 404), (20, 350)]) * (
            side,
            1,
        )
        canvas.fill(lapel + (200, 0), dark)


CLOTHES = {
    "crew": _crew,
    "v_neck": _v_neck,
    "shirt": _shirt,
    "hoodie": _hoodie,
    "turtleneck": _turtleneck,
    "jacket": _jacket,
}
