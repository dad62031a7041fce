"""Pictures of records: a layout in one of its themes, placed and painted.

Everything painted is opaque and pasted: texts, pictures and icons are drawn once on the colour behind them
and cached. Texts that extend beyond their lines, as Arabic ones may, are painted last, over their neighbours.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageChops, ImageDraw

from ..errors import InputError
from ..study.study_yaml import suggestion
from .layout_parts import RGB, Column, Container, IconPiece, PicturePiece, Row, RulePiece, TextPiece
from .layouts import BACKGROUND, ICON_UNITS, Icon, VignetteLayout
from .placing import PictureBox, PlacedBox, Record, Size, place
from .typesetting import TextBlock, Typesetter

FINER = 4  # pixels drawn along each final pixel, for smooth edges
CACHED_TEXT_PIXELS = 48_000_000  # bytes
CACHED_SHAPE_PIXELS = 16_000_000  # of pictures, icons and corners: fewer than texts, and slower to draw
CACHED_TEXTS = 4_000  # broken into lines

Pictures = Callable[[str, int], Image.Image]  # a square RGBA picture by name and size in pixels


class ImageCache:
    """Images by key, up to ``limit`` bytes of pixels; the least recently used are dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._images: OrderedDict[Hashable, Image.Image] = OrderedDict()
        self.size = 0

    def get(self, key: Hashable, make: Callable[[], Image.Image]) -> Image.Image:
        """Return the image of a key, made if it is not in the cache."""
        image = self._images.get(key)
        if image is not None:
            self._images.move_to_end(key)
            return image
        image = make()
        self._images[key] = image
        self.size += _bytes(image)
        while self.size > self._limit and len(self._images) > 1:
            self.size -= _bytes(self._images.popitem(last=False)[1])
        return image


@dataclass(frozen=True)
class PaintedPicture:
    """A picture, and the box of each thing drawn in it."""

    image: Image.Image
    boxes: tuple[PictureBox, ...]


class Painter:
    """Draws records in a layout and a theme.

    Parameters
    ----------
    layout : VignetteLayout
        Where fields stand, and their styles.
    theme : str
        One of the themes of the layout.
    typesetter : Typesetter
        Sets and draws texts.
    pictures : callable
        Returns the square RGBA picture of a name at a size in pixels.
    cached_bytes : int
        Pixels of texts that are cached, in bytes.

    Attributes
    ----------
    fields : tuple of str
        Columns of records that the layout names; a layout with ``each`` shows all others as well.

    Raises
    ------
    InputError
        The layout has no such theme.

    Examples
    --------
    >>> from conjury.inference.vignettes import Fonts, Typesetter, load_layout
    >>> grey = lambda name, size: Image.new("RGBA", (size, size), "grey")
    >>> painter = Painter(load_layout("table"), "light", Typesetter(Fonts.find()), grey)
    >>> drawing = painter.draw({"Policy": "Carbon tax", "Cost": "$12 a month"})
    >>> drawing.image.size[0], [box.text for box in drawing.boxes if box.fields]
    (1050, ['Carbon tax', '$12 a month'])
    """

    def __init__(
        self,
        layout: VignetteLayout,
        theme: str,
        typesetter: Typesetter,
        pictures: Pictures,
        cached_bytes: int = CACHED_TEXT_PIXELS,
    ) -> None:
        if theme not in layout.themes:
            raise InputError(f"{layout.path}: theme {suggestion(theme, layout.themes)}")
        self.fields = layout.fields
        self._layout = layout
        self._colours = layout.themes[theme]
        self._typesetter = typesetter
        self._set_text = lru_cache(CACHED_TEXTS)(typesetter.set)
        self._pictures = pictures
        self._texts = ImageCache(cached_bytes)
        self._shapes = ImageCache(CACHED_SHAPE_PIXELS)

    @property
    def cached(self) -> int:
        """Bytes of pixels of texts in the cache."""
        return self._texts.size

    def place(self, record: Record) -> tuple[tuple[PictureBox, ...], Size]:
        """Return the boxes of a record and the size of its picture, without drawing it."""
        placed, size = place(self._layout, record, self._set_text)
        return tuple(part.box for part in placed), size

    def draw(self, record: Record) -> PaintedPicture:
        """Draw a record: values by column, None if missing; an InputError names record, field and remedy."""
        placed, size = place(self._layout, record, self._set_text)
        image = Image.new("RGB", size, self._colours[BACKGROUND])
        extending: list[tuple[TextPiece, PictureBox, TextBlock]] = []
        for part in placed:
            piece = part.piece
            if type(piece) is Row or type(piece) is Column:
                self._paint_area(image, part.box, piece, part.background)
            elif type(piece) is RulePiece:
                image.paste(self._colours[piece.rule], _corners(part.box))
            elif (
                type(piece) is TextPiece
                and (block := part.block) is not None
                and (block.above or block.below)
            ):
                extending.append((piece, part.box, block))
            else:
                image.paste(self._image_of(part), (part.box.x, part.box.y))
        for piece, box, block in extending:
            colour = self._colours[self._layout.styles[piece.style].colour]
            self._typesetter.paint(image, block, colour, box.x, box.y)
        return PaintedPicture(image, tuple(part.box for part in placed))

    def _image_of(self, part: PlacedBox) -> Image.Image:
        ground = self._colours[part.background]
        text = part.box.text or ""
        match part.piece:
            case TextPiece(style=style, align=align) if (block := part.block) is not None:
                colour = self._colours[self._layout.styles[style].colour]
                return self._texts.get(
                    (text, style, align, block.width, ground),
                    lambda: self._typesetter.draw(block, colour, ground),
                )
            case PicturePiece(size=size, radius=radius):
                return self._shapes.get(
                    (text, size, radius, ground),
                    lambda: rounded(self._pictures(text, size), radius, ground),
                )
            case IconPiece(icon=icon, size=size, stroke=stroke, colour=name):
                icon_shape = self._layout.icons[icon]
                return self._shapes.get(
                    (icon, size, stroke, name, ground),
                    lambda: draw_icon(icon_shape, size, stroke, self._colours[name], ground),
                )
        raise TypeError(f"nothing draws {part.piece!r}")

    def _paint_area(self, image: Image.Image, box: PictureBox, area: Container, background: str) -> None:
        """Fill and frame an area: two rectangles, and four cached corners."""
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
            corner_image = self._shapes.get(key, lambda: corner(*key))
            across, down = Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_TOP_BOTTOM
            image.paste(corner_image, (left, top))
            image.paste(corner_image.transpose(across), (right - radius, top))
            image.paste(corner_image.transpose(down), (left, bottom - radius))
            image.paste(corner_image.transpose(Image.Transpose.ROTATE_180), (right - radius, bottom - radius))


def _corners(box: PictureBox) -> tuple[int, int, int, int]:
    return box.x, box.y, box.x + box.width, box.y + box.height


def draw_icon(icon: Icon, size: int, stroke: float, colour: RGB, background: RGB) -> Image.Image:
    """Draw an icon in one colour, its lines ``stroke`` units wide and round at their ends."""
    scale = size * FINER / ICON_UNITS
    mask = Image.new("L", (size * FINER, size * FINER))
    pen = ImageDraw.Draw(mask)
    half = stroke * scale / 2
    for line in icon.lines:
        points = [(x * scale - 0.5, y * scale - 0.5) for x, y in line]
        pen.line(points, fill=255, width=round(2 * half))
        for x, y in points:
            pen.ellipse((x - half, y - half, x + half, y + half), fill=255)
    image = Image.new("RGB", (size, size), background)
    image.paste(colour, (0, 0), mask.reduce(FINER))
    return image


def rounded(picture: Image.Image, radius: int, background: RGB) -> Image.Image:
    """Return a square picture on a background, its corners cut off."""
    opaque = picture.convert("RGBA")
    mask = opaque.getchannel("A")
    if radius:
        mask = ImageChops.multiply(mask, _cut_corners(picture.width, radius))
    image = Image.new("RGB", picture.size, background)
    image.paste(opaque.convert("RGB"), (0, 0), mask)
    return image


def corner(radius: int, thickness: int, fill: RGB, border: RGB, background: RGB) -> Image.Image:
    """Draw the upper left corner of a rounded area: border, fill inside and background outside."""
    image = Image.new("RGB", (radius, radius), background)
    for step, colour in ((0, border), (thickness, fill)):
        disc = Image.new("L", (radius * FINER, radius * FINER))
        end = 2 * radius * FINER - 1 - step * FINER
        ImageDraw.Draw(disc).ellipse((step * FINER, step * FINER, end, end), fill=255)
        image.paste(colour, (0, 0), disc.reduce(FINER))
    return image


def _cut_corners(size: int, radius: int) -> Image.Image:
    side = size * FINER
    mask = Image.new("L", (side, side))
    ImageDraw.Draw(mask).rounded_rectangle(
        (0, 0, side - 1, side - 1), min(radius * FINER, side // 2), fill=255
    )
    return mask.reduce(FINER)


def _bytes(image: Image.Image) -> int:
    return image.width * image.height * len(image.getbands())
