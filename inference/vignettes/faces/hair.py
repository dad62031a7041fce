"""Hair of drawn people: what lies behind the head and what lies before it, by style."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .canvas import Canvas, Points, blob, curve, mixed, oval, ribbon, scalloped


@dataclass(frozen=True, slots=True)
class Hair:
    """A canvas with what is needed to draw hair on it."""

    canvas: Canvas
    colour: str
    skin: str
    head: Points

    @property
    def dark(self) -> str:
        return mixed(self.colour, "#140d12", 0.32)

    @property
    def light(self) -> str:
        return mixed(self.colour, "#ffe3c2", 0.14)

    def fill(self, shape: Points, colour: str | None = None, *within: Points) -> None:
        self.canvas.fill(shape, colour or self.colour, *within)

    def curls(self, line: Points, radius: float, count: int, colour: str | None = None) -> None:
        for circle in scalloped(line, radius, count):
            self.fill(circle, colour)

    def strand(self, *points: tuple[float, float], width: float = 2.5, colour: str | None = None) -> None:
        self.fill(ribbon(curve(*points), width * 0.5, width * 0.5, width), colour or self.dark)


Style = tuple[Callable[[Hair], None], Callable[[Hair], None]]


def _nothing(hair: Hair) -> None:
    pass


def _cap(outer: float, hairline: Points, low: float = 188) -> Points:
    """Shape from one temple over the crown to the other, ``outer`` beyond the head, and back along the hairline."""
    top = 90 - outer
    side = 65 + outer * 0.8
    crown = curve(
        *((200 - side + 3, low), (200 - side, 150), (200 - side * 0.72, top + 16), (200, top)),
        *((200 + side * 0.72, top + 16), (200 + side, 150), (200 + side - 3, low)),
    )
    return np.vstack([crown, hairline])


def _line(*right: tuple[float, float]) -> Points:
    """Hairline from the right temple to the left one, given by its right half from the temple to the middle."""
    left = [(400 - x, y) for x, y in right[::-1] if x != 200]
    return curve(*right, *left)


SQUARE_LINE = _line((258, 190), (254, 158), (250, 140), (236, 127), (218, 124), (200, 123))
ROUND_LINE = _line((259, 186), (253, 158), (242, 136), (222, 122), (200, 118))
HIGH_LINE = _line((260, 184), (256, 152), (246, 128), (226, 113), (200, 108))


# Short hair


def _buzz(hair: Hair) -> None:
    hair.fill(_cap(2, SQUARE_LINE, 178), mixed(hair.skin, hair.colour, 0.72))


def _fade(hair: Hair) -> None:
    cap = _cap(7, SQUARE_LINE, 184)
    for low, share in ((400, 0.35), (166, 0.6), (148, 0.82), (132, 1.0)):
        hair.fill(
            cap,
            mixed(hair.skin, hair.colour, share),
            np.array([(0, 0), (400, 0), (400, low), (0, low)], float),
        )


def _waves(hair: Hair) -> None:
    _fade(hair)
    for y in (96, 104, 112):
        hair.strand(
            (168, y + 10), (184, y), (200, y + 3), (216, y), (232, y + 10), width=2.4, colour=hair.light
        )


def _short_curls(hair: Hair) -> None:
    _fade(hair)
    hair.fill(
        blob((140, 128), (150, 96), (200, 76), (250, 96), (260, 128), (230, 124), (200, 121), (170, 124))
    )
    hair.curls(curve((143, 126), (150, 98), (200, 80), (250, 98), (257, 126)), 12, 15)
    hair.curls(curve((152, 120), (176, 116), (200, 115), (224, 116), (248, 120)), 9, 9)
    for x, y in ((168, 100), (190, 92), (214, 96), (236, 106), (180, 112), (204, 108), (226, 114)):
        hair.strand((x - 6, y + 3), (x, y - 4), (x + 6, y + 2), width=2.6, colour=hair.light)


def _twists(hair: Hair) -> None:
    _fade(hair)
    for x in range(146, 262, 12):
        lean = (x - 200) * 0.32
        top = 66 + abs(x - 200) * 0.32
        hair.fill(ribbon(curve((x, 122), (x + lean * 0.6, 96), (x + lean, top)), 13, 11, 14))
        hair.strand((x - 2, 112), (x + lean * 0.6, 94), (x + lean, top + 4), width=2.4, colour=hair.light)


def _locs_back(hair: Hair) -> None:
    for side in (-1, 1):
        for x, end in ((58, 226), (67, 238), (75, 222)):
            hair.fill(
                ribbon(curve((200 + side * 40, 120), (200 + side * x, 160), (200 + side * x, end)), 13, 11),
                hair.dark,
            )


def _locs(hair: Hair) -> None:
    hair.fill(_cap(9, ROUND_LINE, 176))
    for x, end_x, end in ((-52, -72, 206), (-44, -62, 178), (-30, -50, 150), (-14, -32, 140), (2, -14, 134)):
        for side in (-1, 1):
            line = curve(
                (200 + side * x * 0.55, 86), (200 + side * (x + end_x) / 2, 108), (200 + side * end_x, end)
            )
            hair.fill(ribbon(line, 13, 11, 14), hair.colour if x % 4 else hair.light)
            hair.strand(*(tuple(p) for p in line[3::7] + (2.5, 0)), width=2)


def _locs_long_back(hair: Hair) -> None:
    hair.fill(
        blob(
            (200, 74),
            (272, 110),
            (288, 200),
            (292, 300),
            (240, 330),
            (160, 330),
            (108, 300),
            (112, 200),
            (128, 110),
        ),
        hair.dark,
    )
    for side in (-1, 1):
        for x, end in ((60, 318), (72, 334), (84, 322), (95, 300)):
            hair.fill(
                ribbon(
                    curve((200 + side * 45, 110), (200 + side * (x - 2), 190), (200 + side * x, end)), 13, 11
                )
            )


def _locs_long(hair: Hair) -> None:
    hair.fill(_cap(10, _line((262, 196), (252, 150), (226, 120), (200, 108)), 196))
    for side in (-1, 1):
        for start, middle, end in ((6, 58, 262), (22, 66, 300), (36, 76, 276), (46, 84, 240)):
            line = curve(
                (200 + side * start, 84),
                (200 + side * middle, 142),
                (200 + side * (middle + 9), 200),
                (200 + side * (middle + 8), end),
            )
            hair.fill(ribbon(line, 12, 11, 13))
            hair.strand(*(tuple(p) for p in line[4::9]), width=2.2, colour=hair.light)


def _afro_back(hair: Hair) -> None:
    hair.fill(oval(200, 138, 106, 98))
    turn = oval(200, 138, 100, 92)
    hair.curls(np.vstack([turn, turn[:1]]), 14, 40)


def _afro(hair: Hair) -> None:
    hair.fill(_cap(9, ROUND_LINE, 198))
    hair.curls(_line((262, 190), (254, 158), (242, 134), (222, 120), (200, 115)), 9, 19)
    for x, y in (
        (136, 96),
        (168, 66),
        (204, 58),
        (240, 70),
        (266, 104),
        (184, 92),
        (222, 94),
        (118, 138),
        (282, 142),
    ):
        hair.strand((x - 7, y + 3), (x, y - 4), (x + 7, y + 2), width=2.8, colour=hair.light)


def _small_afro_back(hair: Hair) -> None:
    hair.fill(oval(200, 142, 84, 78))
    turn = oval(200, 142, 80, 74)
    hair.curls(np.vstack([turn, turn[:1]]), 11, 38)


def _small_afro(hair: Hair) -> None:
    hair.fill(_cap(8, ROUND_LINE, 190))
    hair.curls(_line((262, 184), (254, 154), (240, 132), (220, 120), (200, 116)), 8, 19)
    for x, y in ((150, 104), (176, 86), (206, 80), (236, 92), (256, 118), (192, 102), (220, 106)):
        hair.strand((x - 6, y + 3), (x, y - 4), (x + 6, y + 2), width=2.6, colour=hair.light)


def _cornrows(hair: Hair) -> None:
    hair.fill(_cap(5, SQUARE_LINE, 180))
    part = mixed(hair.skin, hair.colour, 0.45)
    for x in (-40, -24, -8, 8, 24, 40):
        hair.strand(
            (200 + x, 125 + abs(x) * 0.12), (200 + x * 1.08, 104), (200 + x * 0.8, 88), width=3, colour=part
        )


def _puff_back(hair: Hair) -> None:
    hair.fill(oval(200, 66, 52, 46))
    turn = oval(200, 66, 48, 42)
    hair.curls(np.vstack([turn, turn[:1]]), 10, 26)
    for x, y in ((176, 52), (202, 40), (226, 56), (190, 70), (214, 74)):
        hair.strand((x - 6, y + 3), (x, y - 4), (x + 6, y + 2), width=2.6, colour=hair.light)


def _slick(hair: Hair) -> None:
    hair.fill(_cap(6, ROUND_LINE, 190))
    for x in (-44, -26, -9, 9, 26, 44):
        hair.strand(
            (200 + x, 126 + abs(x) * 0.16),
            (200 + x * 0.9, 106),
            (200 + x * 0.5, 87),
            width=2.2,
            colour=hair.light,
        )


def _braids_back(hair: Hair) -> None:
    hair.fill(
        blob(
            (200, 76),
            (268, 110),
            (280, 190),
            (288, 330),
            (230, 352),
            (170, 352),
            (112, 330),
            (120, 190),
            (132, 110),
        ),
        hair.dark,
    )
    for side in (-1, 1):
        for x, end in ((64, 356), (75, 348), (86, 336)):
            _plait(hair, curve((200 + side * 50, 120), (200 + side * (x - 2), 200), (200 + side * x, end)), 9)


def _braids(hair: Hair) -> None:
    hair.fill(_cap(8, _line((262, 200), (254, 156), (232, 124), (200, 108)), 200))
    part = mixed(hair.skin, hair.colour, 0.5)
    hair.strand((200, 108), (200, 96), (200, 84), width=3, colour=part)
    for side in (-1, 1):
        for x in (10, 24, 38, 50):
            hair.strand(
                (200 + side * x, 112 + x * 0.35),
                (200 + side * x * 1.05, 96 + x * 0.2),
                width=2.2,
                colour=hair.light,
            )
        for start, middle, end in ((52, 66, 330), (60, 74, 342)):
            _plait(
                hair,
                curve(
                    (200 + side * start, 130),
                    (200 + side * middle, 200),
                    (200 + side * (middle + 6), 270),
                    (200 + side * (middle + 4), end),
                ),
                9,
            )


def _plait(hair: Hair, line: Points, width: float) -> None:
    hair.fill(ribbon(line, width, width * 0.8))
    for at in range(2, len(line) - 1, 3):
        x, y = line[at]
        hair.strand(
            (x - width * 0.4, y - 2), (x, y + 2), (x + width * 0.4, y - 2), width=2, colour=hair.light
        )


def _curly_back(hair: Hair) -> None:
    shape = blob(
        (200, 72),
        (262, 92),
        (290, 160),
        (296, 236),
        (272, 290),
        (200, 300),
        (128, 290),
        (104, 236),
        (110, 160),
        (138, 92),
    )
    hair.fill(shape)
    hair.curls(np.vstack([shape, shape[:1]]), 15, 34)


def _curly(hair: Hair) -> None:
    hair.fill(_cap(10, _line((264, 200), (254, 156), (236, 128), (200, 114)), 200))
    hair.curls(_line((266, 204), (258, 164), (242, 134), (222, 120), (200, 112)), 11, 17)
    for side in (-1, 1):
        hair.curls(curve((200 + side * 72, 200), (200 + side * 78, 240), (200 + side * 72, 282)), 15, 5)
        for x, y in ((30, 100), (58, 124), (74, 170), (78, 214), (72, 256)):
            hair.strand(
                (200 + side * x - 7, y + 3),
                (200 + side * x, y - 5),
                (200 + side * x + 7, y + 2),
                width=2.8,
                colour=hair.light,
            )


# Straight and wavy hair


def _crop(hair: Hair) -> None:
    fringe = curve(
        (259, 184),
        (255, 156),
        (250, 138),
        (232, 128),
        (214, 132),
        (196, 126),
        (176, 131),
        (156, 130),
        (146, 142),
        (145, 158),
        (141, 184),
    )
    hair.fill(_cap(11, fringe, 184))
    for x in (160, 184, 208, 232):
        hair.strand((x, 122), (x - 4, 108), (x + 6, 92), width=2.6)


def _side_part(hair: Hair) -> None:
    line = curve(
        (260, 190),
        (257, 160),
        (252, 140),
        (236, 126),
        (200, 122),
        (170, 108),
        (158, 122),
        (148, 142),
        (144, 162),
        (140, 190),
    )
    hair.fill(_cap(13, line, 190))
    hair.strand((170, 108), (176, 94), (186, 84), width=3)
    hair.strand((182, 106), (210, 96), (244, 112), width=2.6, colour=hair.light)
    hair.strand((188, 114), (214, 108), (246, 124), width=2.6)


def _quiff(hair: Hair) -> None:
    hair.fill(_cap(7, SQUARE_LINE, 186), hair.dark)
    hair.fill(
        blob(
            (148, 132),
            (142, 108),
            (160, 74),
            (206, 58),
            (250, 70),
            (264, 100),
            (256, 130),
            (232, 118),
            (200, 116),
            (168, 120),
        )
    )
    for x in (168, 190, 212, 234):
        hair.strand((x, 114), (x - 2, 92), (x + 14, 72), width=2.8, colour=hair.light)


def _curly_top(hair: Hair) -> None:
    hair.fill(_cap(6, SQUARE_LINE, 188), hair.dark)
    hair.fill(
        blob((142, 130), (146, 94), (200, 70), (254, 94), (258, 130), (230, 122), (200, 124), (170, 122))
    )
    hair.curls(curve((146, 128), (148, 100), (168, 82), (200, 74), (232, 82), (252, 100), (254, 128)), 14, 11)
    hair.curls(curve((156, 124), (180, 120), (204, 124), (228, 119), (246, 124)), 11, 7)
    for x, y in ((164, 106), (188, 92), (214, 98), (238, 108), (178, 118), (204, 114), (228, 120)):
        hair.strand((x - 8, y + 3), (x, y - 5), (x + 8, y + 2), width=2.8, colour=hair.light)


def _swept(hair: Hair) -> None:
    hair.fill(_cap(9, HIGH_LINE, 190))
    for x in (-42, -24, -6, 12, 30, 46):
        hair.strand(
            (200 + x, 116 + abs(x) * 0.22),
            (200 + x * 0.95, 100),
            (200 + x * 0.7, 84),
            width=2.6,
            colour=hair.light,
        )


def _shaggy_back(hair: Hair) -> None:
    hair.fill(
        blob(
            (200, 76),
            (264, 100),
            (278, 170),
            (276, 236),
            (262, 268),
            (240, 250),
            (160, 250),
            (138, 268),
            (124, 236),
            (122, 170),
            (136, 100),
        ),
        hair.dark,
    )


def _shaggy(hair: Hair) -> None:
    line = curve(
        (262, 214),
        (256, 176),
        (246, 142),
        (222, 122),
        (194, 104),
        (176, 124),
        (156, 144),
        (146, 176),
        (138, 214),
    )
    hair.fill(_cap(13, line, 222))
    for side in (-1, 1):
        hair.fill(
            ribbon(curve((200 + side * 62, 150), (200 + side * 71, 200), (200 + side * 66, 252)), 16, 6, 20)
        )
        hair.strand((200 + side * 20, 104), (200 + side * 56, 136), (200 + side * 70, 204), colour=hair.light)


def _man_bun_back(hair: Hair) -> None:
    hair.fill(oval(200, 70, 27, 25))
    hair.strand((182, 70), (200, 62), (218, 70))


def _pixie(hair: Hair) -> None:
    line = curve(
        (258, 196),
        (256, 166),
        (252, 146),
        (226, 142),
        (196, 132),
        (168, 112),
        (152, 134),
        (146, 164),
        (142, 196),
    )
    hair.fill(_cap(12, line, 196))
    hair.strand((170, 112), (204, 124), (244, 138), width=3)
    hair.strand((176, 102), (212, 104), (250, 124), width=2.6, colour=hair.light)


def _bob_back(hair: Hair) -> None:
    hair.fill(
        blob(
            (200, 74),
            (262, 98),
            (284, 180),
            (286, 248),
            (264, 268),
            (200, 262),
            (136, 268),
            (114, 248),
            (116, 180),
            (138, 98),
        ),
        hair.dark,
    )


def _bob(hair: Hair) -> None:
    line = curve(
        (258, 206), (254, 168), (244, 138), (210, 122), (174, 108), (160, 130), (148, 160), (142, 206)
    )
    hair.fill(_cap(13, line, 206))
    for side in (-1, 1):
        hair.fill(
            ribbon(curve((200 + side * 62, 140), (200 + side * 74, 200), (200 + side * 70, 258)), 14, 12, 26)
        )
    hair.strand((174, 106), (222, 112), (254, 150), width=2.8, colour=hair.light)
    hair.strand((270, 180), (276, 214), (270, 250), width=2.6, colour=hair.light)
    hair.strand((130, 180), (124, 214), (130, 250), width=2.6, colour=hair.light)


def _long_back(hair: Hair) -> None:
    hair.fill(
        blob(
            (200, 74),
            (264, 98),
            (284, 190),
            (294, 300),
            (290, 366),
            (240, 380),
            (160, 380),
            (110, 366),
            (106, 300),
            (116, 190),
            (136, 98),
        ),
        hair.dark,
    )


def _long(hair: Hair) -> None:
    line = _line((256, 216), (254, 172), (240, 136), (216, 116), (200, 102))
    hair.fill(_cap(12, line, 216))
    for side in (-1, 1):
        fall = np.vstack(
            [
                curve(
                    (200 + side * 62, 140),
                    (200 + side * 61, 220),
                    (200 + side * 58, 300),
                    (200 + side * 64, 362),
                ),
                curve((200 + side * 94, 352), (200 + side * 90, 260), (200 + side * 76, 150)),
            ]
        )
        hair.fill(fall)
        hair.strand(
            (200 + side * 70, 180), (200 + side * 76, 260), (200 + side * 78, 340), width=3, colour=hair.light
        )
        hair.strand(
            (200 + side * 14, 100),
            (200 + side * 50, 122),
            (200 + side * 66, 176),
            width=2.6,
            colour=hair.light,
        )


def _wavy_back(hair: Hair) -> None:
    hair.fill(
        blob(
            (200, 72),
            (264, 94),
            (290, 170),
            (282, 216),
            (304, 262),
            (292, 306),
            (306, 346),
            (262, 372),
            (200, 366),
            (138, 372),
            (94, 346),
            (108, 306),
            (96, 262),
            (118, 216),
            (110, 170),
            (136, 94),
        ),
        hair.dark,
    )


def _wavy(hair: Hair) -> None:
    line = curve(
        (258, 214), (254, 170), (240, 138), (206, 120), (172, 104), (158, 132), (146, 166), (142, 214)
    )
    hair.fill(_cap(13, line, 214))
    for side in (-1, 1):
        fall = np.vstack(
            [
                curve(
                    (200 + side * 62, 150),
                    (200 + side * 64, 210),
                    (200 + side * 56, 250),
                    (200 + side * 66, 296),
                    (200 + side * 58, 346),
                ),
                curve(
                    (200 + side * 96, 350),
                    (200 + side * 104, 306),
                    (200 + side * 92, 264),
                    (200 + side * 94, 214),
                    (200 + side * 80, 160),
                ),
            ]
        )
        hair.fill(fall)
        hair.strand(
            (200 + side * 72, 190),
            (200 + side * 78, 230),
            (200 + side * 70, 268),
            (200 + side * 80, 310),
            width=3.2,
            colour=hair.light,
        )
    hair.strand((172, 102), (222, 108), (252, 148), width=2.8, colour=hair.light)


def _fringe(hair: Hair) -> None:
    line = curve(
        (256, 216),
        (254, 180),
        (250, 156),
        (226, 149),
        (200, 147),
        (174, 149),
        (150, 156),
        (146, 180),
        (144, 216),
    )
    _long(hair)
    hair.fill(_cap(12, line, 216))
    for x in (-36, -18, 0, 18, 36):
        hair.strand((200 + x * 0.6, 96), (200 + x * 0.95, 122), (200 + x, 143), width=2.6, colour=hair.light)


def _ponytail_back(hair: Hair) -> None:
    hair.fill(
        blob(
            (232, 84),
            (272, 88),
            (300, 130),
            (302, 200),
            (318, 262),
            (292, 310),
            (262, 262),
            (262, 190),
            (252, 140),
        ),
        hair.dark,
    )
    hair.strand((262, 110), (284, 170), (286, 230), (294, 280), width=3.2, colour=hair.light)


def _ponytail(hair: Hair) -> None:
    line = curve(
        (260, 190), (254, 158), (240, 134), (206, 120), (176, 106), (158, 130), (148, 158), (140, 190)
    )
    hair.fill(_cap(9, line, 190))
    hair.strand((178, 106), (214, 108), (248, 122), width=2.8, colour=hair.light)


def _bun_back(hair: Hair) -> None:
    hair.fill(oval(200, 62, 38, 34))
    hair.strand((172, 62), (198, 46), (226, 60), width=3, colour=hair.light)
    hair.strand((176, 76), (202, 64), (224, 78), width=3)


def _side_plait(hair: Hair) -> None:
    _ponytail(hair)
    line = curve((262, 180), (276, 220), (274, 276), (262, 340))
    hair.fill(ribbon(line, 24, 12, 26))
    for at in range(2, len(line) - 3, 4):
        x, y = line[at]
        hair.strand((x - 11, y - 3), (x, y + 5), (x + 11, y - 3), width=3)


HAIR: dict[str, Style] = {
    "bald": (_nothing, _nothing),
    "buzz": (_nothing, _buzz),
    "fade": (_nothing, _fade),
    "waves": (_nothing, _waves),
    "short_curls": (_nothing, _short_curls),
    "twists": (_nothing, _twists),
    "cornrows": (_nothing, _cornrows),
    "locs": (_locs_back, _locs),
    "long_locs": (_locs_long_back, _locs_long),
    "afro": (_afro_back, _afro),
    "small_afro": (_small_afro_back, _small_afro),
    "puff": (_puff_back, _slick),
    "braids": (_braids_back, _braids),
    "curly": (_curly_back, _curly),
    "crop": (_nothing, _crop),
    "side_part": (_nothing, _side_part),
    "quiff": (_nothing, _quiff),
    "curly_top": (_nothing, _curly_top),
    "swept": (_nothing, _swept),
    "shaggy": (_shaggy_back, _shaggy),
    "man_bun": (_man_bun_back, _swept),
    "pixie": (_nothing, _pixie),
    "bob": (_bob_back, _bob),
    "long": (_long_back, _long),
    "wavy": (_wavy_back, _wavy),
    "fringe": (_long_back, _fringe),
    "ponytail": (_ponytail_back, _ponytail),
    "bun": (_bun_back, _slick),
    "side_plait": (_nothing, _side_plait),
}
