"""Coiled, curly, braided and shaved hair of drawn people."""

from __future__ import annotations

import numpy as np

from .canvas import Points, arch, curve, moved, oval, ribbon, symmetrical
from .hair_tools import PARTED, ROUND, SQUARE, Hair, cap


def _above(y: float) -> Points:
    return np.array([(0.0, -50.0), (400.0, -50.0), (400.0, y), (0.0, y)])


def buzz(hair: Hair) -> None:
    """Cut to stubble."""
    hair.fill(cap(2, SQUARE, 178), hair.shaved(0.72))


def fade(hair: Hair) -> None:
    """Short on top, shorter towards the ears."""
    for low, share in ((400, 0.35), (166, 0.6), (148, 0.82), (132, 1.0)):
        hair.fill(cap(7, SQUARE, 184), hair.shaved(share), _above(low))


def waves(hair: Hair) -> None:
    """Brushed into waves."""
    fade(hair)
    for y in (92, 101, 110):
        hair.strand((164, y + 9), (182, y), (200, y + 4), (218, y), (236, y + 9))


def short_coils(hair: Hair) -> None:
    """Short coils above a fade."""
    fade(hair)
    hair.fill(symmetrical((200, 76), (250, 96), (260, 128), (230, 124), (200, 121)))
    hair.curls(arch((257, 126), (250, 98), (200, 80)), 12, 15)
    hair.curls(arch((248, 120), (224, 116), (200, 115)), 9, 9)
    hair.coils((168, 100), (190, 92), (214, 96), (236, 106), (180, 112), (204, 108), (226, 114))


def twists(hair: Hair) -> None:
    """Short twists that stand above a fade."""
    fade(hair)
    for x in range(146, 262, 12):
        lean, top = (x - 200) * 0.28, 72 + abs(x - 200) * 0.26
        line = curve((x, 120), (x + lean * 0.5, 100), (x + lean, top))
        hair.fill(ribbon(line, 13, 12, 15))
        hair.strand((x - 2, 112), (x + lean * 0.5 - 1, 97), (x + lean - 1, top + 5), width=2.2)


def cornrows(hair: Hair) -> None:
    """Braided flat to the back."""
    hair.fill(cap(5, SQUARE, 180))
    for x in (8, 24, 40):
        line = (200 + x, 125 + x * 0.12), (200 + x * 1.08, 104), (200 + x * 0.8, 88)
        hair.strands(*line, width=3, colour=hair.shaved(0.45))


def locs_behind(hair: Hair) -> None:
    """Chin-long locs, behind the ears."""
    for x, end in ((258, 238), (269, 252), (280, 236)):
        hair.ropes(curve((250, 130), (x, 170), (x, end)), 13)


def locs(hair: Hair) -> None:
    """Chin-long locs, from the crown over the temples."""
    hair.fill(cap(9, ROUND, 176))
    for top, bend, side, end in ((232, 270, 275, 218), (222, 261, 266, 190), (212, 246, 254, 162)):
        hair.ropes(curve((top, 74 + top * 0.06), (bend, 122), (side, end)), 13)
    for top, bend, end in ((207, 228, 242), (201, 210, 220)):
        hair.ropes(curve((top, 84), (bend, 104), (end, 134)), 12)


def long_locs_behind(hair: Hair) -> None:
    """Locs down to the shoulders, behind them."""
    hair.fill(symmetrical((200, 74), (268, 112), (284, 200), (280, 296), (200, 306)), hair.dark)
    for x, end in ((262, 322), (276, 338), (290, 318)):
        hair.ropes(curve((246, 116), (x - 4, 200), (x, end)), 13)


def long_locs(hair: Hair) -> None:
    """Locs down to the shoulders, parted in the middle."""
    hair.fill(cap(10, PARTED, 196))
    for top, side, end in ((238, 284, 250), (226, 275, 292), (215, 267, 274), (205, 259, 236)):
        start = (top, 82 + (top - 200) ** 2 / 90)
        line = curve(start, ((top + side) / 2 + 7, 128), (side - 1, 196), (side + 2, end))
        hair.ropes(line, 12)


def afro_behind(hair: Hair) -> None:
    """Round and wide, behind the face."""
    hair.fill(oval(200, 140, 100, 92))
    hair.curls(np.vstack([oval(200, 140, 96, 88), [(296, 140)]]), 13, 42)


def afro(hair: Hair) -> None:
    """Round and wide, above the forehead."""
    hair.fill(cap(9, ROUND, 198))
    hair.both(oval(270, 178, 13, 34))
    hair.curls(arch((262, 190), (254, 158), (242, 134), (222, 120), (200, 115)), 9, 19)
    hair.coils((136, 100), (168, 72), (204, 62), (240, 76), (266, 108), (184, 92), (222, 94))
    hair.coils((120, 140), (282, 144))


def small_afro_behind(hair: Hair) -> None:
    """Round and close, behind the face."""
    hair.fill(oval(200, 142, 82, 76))
    hair.curls(np.vstack([oval(200, 142, 79, 73), [(279, 142)]]), 11, 38)


def small_afro(hair: Hair) -> None:
    """Round and close, above the forehead."""
    hair.fill(cap(8, ROUND, 190))
    hair.curls(arch((262, 184), (254, 154), (240, 132), (220, 120), (200, 116)), 8, 19)
    hair.coils((150, 104), (176, 86), (206, 80), (236, 92), (256, 118), (192, 102), (220, 106))


def drawn_back(hair: Hair) -> None:
    """Drawn back tightly."""
    hair.fill(cap(6, ROUND, 190))
    for x in (9, 26, 44):
        hair.strands((200 + x, 126 + x * 0.16), (200 + x * 0.9, 106), (200 + x * 0.5, 87), width=2.2)


def puff_behind(hair: Hair) -> None:
    """One puff above the crown."""
    hair.fill(oval(200, 70, 50, 42))
    hair.curls(np.vstack([oval(200, 70, 46, 38), [(246, 70)]]), 10, 26)
    hair.coils((176, 56), (202, 46), (226, 60), (190, 72))


def two_puffs_behind(hair: Hair) -> None:
    """Two puffs beside the crown."""
    for x in (136, 264):
        hair.fill(oval(x, 98, 36, 34))
        hair.curls(np.vstack([oval(x, 98, 33, 31), [(x + 33, 98)]]), 9, 20)
        hair.coils((x - 10, 90), (x + 12, 84), (x, 106))


def two_puffs(hair: Hair) -> None:
    """Parted in the middle and drawn to two puffs."""
    hair.fill(cap(5, ROUND, 186))
    hair.strand((200, 119), (200, 102), (200, 86), width=3, colour=hair.shaved(0.4))
    for x, y in ((14, 116), (28, 122), (40, 134)):
        hair.strands((200 + x, y), (214 + x * 0.9, y - 16), (240, 98), width=2.2)


def braids_behind(hair: Hair) -> None:
    """Braids down to the chest, behind the shoulders."""
    hair.fill(symmetrical((200, 80), (264, 112), (276, 190), (280, 316), (200, 330)), hair.dark)
    for x, end in ((262, 344), (274, 352), (286, 336)):
        hair.plaits(curve((248, 120), (x - 3, 200), (x, end)), 11)


def braids(hair: Hair) -> None:
    """Braids down to the chest, parted in the middle."""
    hair.fill(cap(8, PARTED, 200))
    hair.strand((200, 106), (200, 94), (200, 84), width=3, colour=hair.shaved(0.4))
    for x in (12, 26, 40, 52):
        hair.strands((200 + x, 110 + x * 0.4), (200 + x * 1.05, 94 + x * 0.2), width=2.2)
    for top, side, end in ((250, 262, 318), (256, 272, 338)):
        hair.plaits(curve((top, 130), (side, 196), (side + 6, 266), (side + 4, end)), 11)


def braided_bun_behind(hair: Hair) -> None:
    """A braid wound above the crown."""
    hair.fill(oval(200, 66, 42, 36))
    for spread, y in ((34, 58), (36, 70), (26, 46)):
        hair.strands((200, y + 6), (200 + spread * 0.5, y), (200 + spread, y + 8), width=2.8)


def curly_behind(hair: Hair) -> None:
    """Curls down to the shoulders, behind the face."""
    shape = symmetrical((200, 74), (260, 92), (288, 160), (293, 236), (270, 288), (200, 298))
    hair.fill(shape)
    hair.curls(np.vstack([shape, shape[:1]]), 14, 36)


def curly(hair: Hair) -> None:
    """Curls down to the shoulders, over the temples."""
    hair.fill(cap(10, arch((264, 200), (254, 156), (236, 128), (200, 114)), 200))
    hair.both(oval(271, 186, 15, 36))
    hair.curls(arch((266, 204), (258, 164), (242, 134), (222, 120), (200, 112)), 11, 17)
    for side in (-1, 1):
        hair.curls(moved(curve((72, 200), (78, 240), (72, 280)) * (side, 1), 200, 0), 14, 5)
        rows = ((30, 100), (58, 124), (76, 168), (80, 212), (74, 254))
        hair.coils(*((200 + side * x, y) for x, y in rows), size=7)


def curly_bob_behind(hair: Hair) -> None:
    """Curls down to the jaw, behind the face."""
    shape = symmetrical((200, 76), (262, 98), (290, 164), (288, 222), (262, 250), (200, 246))
    hair.fill(shape)
    hair.curls(np.vstack([shape, shape[:1]]), 13, 34)


def curly_bob(hair: Hair) -> None:
    """Curls down to the jaw, parted at the side."""
    hairline = curve((264, 196), (256, 158), (240, 134), (206, 122), (174, 110), (152, 138), (136, 196))
    hair.fill(cap(10, hairline, 198))
    hair.both(oval(271, 186, 15, 36))
    hair.curls(hairline, 11, 18)
    hair.coils((160, 98), (190, 88), (222, 94), (250, 116), (272, 160), (278, 204), (128, 160), (122, 204))
    hair.strand((174, 106), (180, 94), (190, 84), width=3, colour=hair.dark)


def curly_top(hair: Hair) -> None:
    """Short curls, close at the sides."""
    hair.fill(cap(6, SQUARE, 188), hair.dark)
    hair.fill(symmetrical((200, 70), (254, 94), (258, 130), (230, 123), (200, 124)))
    hair.curls(arch((254, 128), (252, 100), (232, 82), (200, 74)), 14, 11)
    hair.curls(curve((156, 124), (180, 120), (204, 124), (228, 119), (246, 124)), 11, 7)
    hair.coils((164, 106), (188, 92), (214, 98), (238, 108), (178, 118), (204, 114), (228, 120), size=8)
