"""Pictures of records: a layout in one of its themes, placed and painted.

All that is painted is opaque and pasted: words, pictures and icons are drawn once on the colour behind them
and kept as long as they take little memory. Words that reach out of their lines, as Arabic ones may, are
painted last, over what stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image

from ..errors import InputError
from ..study.checks import suggestion
from .contents import Record
from .icons import draw_icon
from .layout_file import BACKGROUND, Layout
from .layout_parts import Column, Container, IconPiece, PicturePiece, Row, RulePiece, TextPiece
from .placing import Box, Placed, Size, place
from .stamps import Stamps, corner, rounded

if TYPE_CHECKING:
    from .typesetting import TextBlock, Typesetter

Pictures = Callable[[str, int], Image.Image]
KEPT_BYTES = 48_000_000  # of words as they are pasted
KEPT_SHAPES = 16_000_000  # bytes of pictures, icons and corners: fewer, and slower to draw again
KEPT_TEXTS = 4_000  # broken into lines


@dataclass(frozen=True)
class Drawing:
    """A picture, and what stands where in it."""

    image: Image.Image
    boxes: tuple[Box, ...]


class Painter:
    """Draws records in a layout and a theme.

    Parameters
    ----------
    layout : Layout
    theme : str
        One of the themes of the layout.
    typesetter : Typesetter
    pictures : callable
        Gives the square RGBA picture of a name in a size in pixels.
    kept_bytes : int
        Pixels of words kept to be pasted again, in bytes; the oldest are dropped.

    Attributes
    ----------
    fields : tuple of str
        Columns of records that the layout names; one with ``each`` shows all others as well.

    Raises
    ------
    InputError
        The layout has no such theme.

    Examples
    --------
    >>> from conjury.inference.vignettes.fonts import Fonts
    >>> from conjury.inference.vignettes.layout_file import load_layout
    >>> from conjury.inference.vignettes.typesetting import Typesetter
    >>> grey = lambda name, size: Image.new("RGBA", (size, size), "grey")
    >>> painter = Painter(load_layout("table"), "light", Typesetter(Fonts.find()), grey)
    >>> drawing = painter.draw({"Policy": "Carbon tax", "Cost": "$12 a month"})
    >>> drawing.image.size[0], [box.text for box in drawing.boxes if box.fields]
    (1050, ['Carbon tax', '$12 a month'])
    """

    def __init__(
        self,
        layout: Layout,
        theme: str,
        typesetter: Typesetter,
        pictures: Pictures,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        if theme not in layout.themes:
            raise InputError(f"{layout.path}: theme {suggestion(theme, layout.themes)}")
        self.fields = layout.fields
        self._layout = layout
        self._colours = layout.themes[theme]
        self._typesetter = typesetter
        self._set_text = lru_cache(KEPT_TEXTS)(typesetter.set)
        self._pictures = pictures
        self._words = Stamps(kept_bytes)
        self._shapes = Stamps(KEPT_SHAPES)

    @property
    def kept(self) -> int:
        """Bytes of pixels of words that are kept to be pasted again."""
        return self._words.size

    def place(self, record: Record) -> tuple[tuple[Box, ...], Size]:
        """Return what stands where in the picture of a record, and its width and height, without drawing it.

        Raises
        ------
        InputError
            The record lacks a value that the layout shows; names record, field and remedy.
        """
        placed, size = place(self._layout, record, self._set_text)
        return tuple(one.box for one in placed), size

    def draw(self, record: Record) -> Drawing:
        """Draw a record, given as its values by column with None for those missing; raises as ``place``."""
        placed, size = place(self._layout, record, self._set_text)
        image = Image.new("RGB", size, self._colours[BACKGROUND])
        reaching: list[tuple[TextPiece, Box, TextBlock]] = []
        for one in placed:
            piece = one.piece
            if type(piece) is Row or type(piece) is Column:
                self._paint_area(image, one.box, piece, one.background)
            elif type(piece) is RulePiece:
                image.paste(self._colours[piece.rule], _corners(one.box))
            elif (
                type(piece) is TextPiece and (block := one.block) is not None and (block.above or block.below)
            ):
                reaching.append((piece, one.box, block))
            else:
                image.paste(self._stamp(one), (one.box.x, one.box.y))
        for piece, box, block in reaching:
            colour = self._colours[self._layout.styles[piece.style].colour]
            self._typesetter.paint(image, block, colour, box.x, box.y)
        return Drawing(image, tuple(one.box for one in placed))

    def _stamp(self, one: Placed) -> Image.Image:
        ground = self._colours[one.background]
        words = one.box.text or ""
        match one.piece:
            case TextPiece(style=style, align=align) if (block := one.block) is not None:
                colour = self._colours[self._layout.styles[style].colour]
                return self._words.get(
                    (words, style, align, block.width, ground),
                    lambda: self._typesetter.draw(block, colour, ground),
                )
            case PicturePiece(size=size, radius=radius):
                return self._shapes.get(
                    (words, size, radius, ground),
                    lambda: rounded(self._pictures(words, size), radius, ground),
                )
            case IconPiece(icon=icon, size=size, stroke=stroke, colour=name):
                drawn = self._layout.icons[icon]
                return self._shapes.get(
                    (icon, size, stroke, name, ground),
                    lambda: draw_icon(drawn, size, stroke, self._colours[name], ground),
                )
        raise TypeError(f"nothing draws {one.piece!r}")

    def _paint_area(self, image: Image.Image, box: Box, area: Container, background: str) -> None:
        """Fill and frame an area: two rectangles, and four corners that are kept."""
        ground = self._colours[background]
        fill = self._colours[area.fill or background]
        border = self._colours[area.border] if area.border else fill
        thickness = area.thickness if area.border else 0
        left, top, right, bottom = _corners(box)
        image.paste(border, (left, top, right, bottom))
        image.paste(fill, (left + thickness, top + thickness, right - thickness, bottom - thickness))
        radius = min(area.radius, box.width // 2, box.height // 2)
        if radius:
            key = (radius, thickness, fill, border, ground)
            drawn = self._shapes.get(key, lambda: corner(*key))
            across, down = Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_TOP_BOTTOM
            image.paste(drawn, (left, top))
            image.paste(drawn.transpose(across), (right - radius, top))
            image.paste(drawn.transpose(down), (left, bottom - radius))
            image.paste(drawn.transpose(Image.Transpose.ROTATE_180), (right - radius, bottom - radius))


def _corners(box: Box) -> tuple[int, int, int, int]:
    return box.x, box.y, box.x + box.width, box.y + box.height
