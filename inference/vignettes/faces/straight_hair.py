"""Straight and wavy hair of drawn people."""

from __future__ import annotations

import numpy as np

from .canvas import Points, along, blob, curve, oval, ribbon, symmetrical
from .hair_tools import HIGH, PARTED, ROUND, SQUARE, Hair, cap

SIDE_PART = curve(
    (258, 206), (254, 166), (240, 136), (206, 120), (172, 106), (158, 132), (146, 166), (142, 206)
)


def crop(hair: Hair) -> None:
    """Short, with an uneven fringe."""
    right = (259, 184), (255, 156), (250, 138), (232, 128), (214, 132), (196, 126)
    fringe = curve(*right, (176, 131), (156, 130), (146, 142), (145, 158), (141, 184))
    hair.fill(cap(11, fringe, 184))
    for x in (160, 184, 208, 232):
        hair.strand((x, 122), (x - 4, 108), (x + 6, 92))


def side_part(hair: Hair) -> None:
    """Short, combed from a parting."""
    right = (260, 190), (257, 160), (252, 140), (236, 126), (200, 122)
    hair.fill(cap(13, curve(*right, (170, 108), (158, 122), (148, 142), (144, 162), (140, 190)), 190))
    hair.strand((170, 108), (176, 94), (186, 84), width=3, colour=hair.dark)
    hair.strand((182, 106), (210, 96), (244, 112))
    hair.strand((188, 114), (214, 108), (246, 124))


def quiff(hair: Hair) -> None:
    """High above the forehead, close at the sides."""
    hair.fill(cap(7, SQUARE, 186), hair.dark)
    right = (206, 60), (250, 72), (264, 100), (256, 130), (232, 118), (200, 116)
    hair.fill(blob((148, 132), (142, 108), (160, 76), *right, (168, 120)))
    for x in (168, 190, 212, 234):
        hair.strand((x, 114), (x - 2, 92), (x + 14, 74), width=2.8)


def spiky(hair: Hair) -> None:
    """Short, standing up."""
    hair.fill(cap(6, SQUARE, 186), hair.dark)
    tips = np.array([(x, 78 + abs(x - 200) * 0.3) for x in range(148, 260, 16)], dtype=float)
    valleys = np.array([(x, 92 + abs(x - 200) * 0.3) for x in range(156, 250, 16)], dtype=float)
    edge = np.empty((len(tips) + len(valleys), 2))
    edge[::2], edge[1::2] = tips, valleys
    hair.fill(np.vstack([edge, curve((258, 128), (232, 120), (200, 126), (170, 119), (144, 130))]))
    for x in (168, 190, 212, 234):
        hair.strand((x, 116), (x + 2, 104), (x + 4, 94), width=2.4)


def undercut(hair: Hair) -> None:
    """Long on top and combed over, shaved at the sides."""
    hair.fill(cap(3, SQUARE, 182), hair.shaved(0.5))
    right = (216, 72), (254, 88), (266, 124), (258, 140), (240, 120), (204, 112)
    hair.fill(blob((146, 124), (150, 96), (176, 76), *right, (166, 120)))
    for y in (0, 12, 24):
        hair.strand((158 + y * 0.4, 108 + y * 0.4), (196, 88 + y * 0.8), (250, 104 + y * 0.6))


def swept(hair: Hair) -> None:
    """Short, swept to the back."""
    hair.fill(cap(9, HIGH, 190))
    for x in (-42, -24, -6, 12, 30, 46):
        hair.strand((200 + x, 106 + abs(x) * 0.2), (200 + x * 0.95, 97), (200 + x * 0.75, 87))


def tousled_behind(hair: Hair) -> None:
    """Half long, at the nape."""
    hair.fill(symmetrical((200, 80), (262, 104), (275, 160), (274, 214), (258, 226), (200, 220)), hair.dark)


def tousled(hair: Hair) -> None:
    """Half long and tousled, over the ears."""
    right = (262, 204), (256, 172), (250, 146), (230, 128), (216, 138), (196, 122)
    hair.fill(cap(14, curve(*right, (178, 136), (160, 134), (150, 150), (146, 176), (138, 204)), 212))
    hair.both(ribbon(curve((264, 150), (271, 184), (262, 222)), 16, 5, 18))
    for x in (162, 184, 210, 232):
        hair.strand((x, 124), (x - 8, 106), (x + 4, 88))


def pixie(hair: Hair) -> None:
    """Short, with a fringe to one side."""
    right = (260, 200), (257, 168), (252, 148), (226, 143), (196, 133)
    hair.fill(cap(12, curve(*right, (168, 112), (152, 134), (146, 164), (140, 200)), 200))
    hair.both(ribbon(curve((262, 176), (265, 196), (259, 214)), 11, 4))
    hair.strand((170, 112), (204, 124), (244, 138), width=3, colour=hair.dark)
    hair.strand((176, 102), (212, 104), (250, 124))


def bob_behind(hair: Hair) -> None:
    """Chin-long, behind the neck."""
    hair.fill(symmetrical((200, 76), (262, 100), (283, 180), (284, 246), (262, 262), (200, 256)), hair.dark)


def bob(hair: Hair) -> None:
    """Chin-long, beside the face."""
    hair.fill(cap(13, SIDE_PART, 206))
    hair.both(ribbon(curve((262, 140), (274, 200), (268, 256)), 14, 14, 28))
    hair.strand((174, 104), (222, 110), (254, 148))
    hair.strands((272, 176), (278, 214), (272, 248))


def long_behind(hair: Hair) -> None:
    """Long, behind the shoulders."""
    hair.fill(symmetrical((200, 76), (264, 100), (284, 190), (290, 290), (280, 356), (200, 364)), hair.dark)


def _falling(hair: Hair) -> None:
    hair.both(
        blob(
            *((262, 140), (276, 160), (288, 230), (293, 310), (284, 352), (268, 350)),
            *((260, 300), (261, 230), (260, 180)),
        )
    )
    hair.strands((270, 180), (277, 260), (278, 336), width=3)


def long(hair: Hair) -> None:
    """Long and straight, parted in the middle."""
    hair.fill(cap(12, PARTED, 216))
    _falling(hair)
    hair.strands((212, 100), (246, 122), (266, 176))


def fringe(hair: Hair) -> None:
    """Long and straight, with a full fringe."""
    right = (256, 216), (254, 182), (250, 157), (226, 150), (200, 148)
    hair.fill(cap(12, curve(*right, (174, 150), (150, 157), (146, 182), (144, 216)), 216))
    _falling(hair)
    for x in (-36, -18, 0, 18, 36):
        hair.strand((200 + x * 0.6, 96), (200 + x * 0.95, 122), (200 + x, 143))


def wavy_behind(hair: Hair) -> None:
    """Long waves, behind the shoulders."""
    right = (200, 74), (264, 96), (288, 170), (280, 216), (298, 262), (286, 306), (292, 340), (250, 352)
    hair.fill(symmetrical(*right, (200, 350)), hair.dark)


def wavy(hair: Hair) -> None:
    """Long waves, parted at the side."""
    hair.fill(cap(13, SIDE_PART, 214))
    inner = (262, 220), (256, 256), (266, 298), (258, 336)
    outer = (274, 350), (292, 336), (300, 300), (290, 262), (292, 214), (278, 156)
    hair.both(blob((262, 150), *inner, *outer))
    hair.strands((271, 184), (277, 230), (269, 268), (279, 312), width=3.2)
    hair.strand((172, 102), (222, 108), (252, 148))


def ponytail_behind(hair: Hair) -> None:
    """A tail that falls behind one shoulder."""
    right = (240, 88), (272, 90), (298, 130), (300, 200), (314, 258), (292, 304)
    hair.fill(blob(*right, (264, 262), (262, 190), (252, 140)), hair.dark)
    hair.strand((264, 112), (284, 170), (286, 230), (293, 280), width=3.2)


def ponytail(hair: Hair) -> None:
    """Drawn back from a parting at the side."""
    hair.fill(cap(9, SIDE_PART, 196))
    hair.strand((178, 106), (214, 108), (248, 122))
    hair.strand((164, 118), (150, 134), (144, 160))


def bun_behind(hair: Hair) -> None:
    """A bun above the crown."""
    hair.fill(oval(200, 66, 38, 34))
    hair.strand((172, 66), (198, 50), (226, 64), width=3)
    hair.strand((176, 80), (202, 68), (224, 82), width=3)


def bun(hair: Hair) -> None:
    """Drawn up, with a strand loose at each temple."""
    hair.fill(cap(7, ROUND, 190))
    hair.both(ribbon(curve((256, 150), (266, 186), (262, 224)), 7, 2.5))
    for x in (12, 28, 44):
        hair.strands((200 + x, 124 + x * 0.18), (200 + x * 0.9, 104), (200 + x * 0.5, 86), width=2.2)


def side_plait(hair: Hair) -> None:
    """A braid over one shoulder."""
    ponytail(hair)
    line = curve((262, 176), (278, 220), (276, 276), (264, 336))
    hair.fill(ribbon(line, 26, 12, 28))
    hair.fill(_tip(line[-1]))
    for x, y in along(line, 11)[1:-1]:
        hair.strand((x - 11, y - 5), (x, y + 4), (x + 11, y - 5), width=3)


def _tip(end: Points) -> Points:
    x, y = end
    return blob((x - 6, y), (x + 6, y), (x + 8, y + 16), (x, y + 22), (x - 7, y + 16))
