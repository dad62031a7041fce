"""Opaque pieces of pictures that are kept to be pasted again, and shapes with smooth edges."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

from PIL import Image, ImageChops, ImageDraw

from .colours import RGB

FINER = 4  # pixels drawn along each pixel kept


class Stamps:
    """Images by what they show; those not asked for the longest are dropped when all take too much memory.

    Parameters
    ----------
    limit : int
        Bytes of pixels that are kept.

    Examples
    --------
    >>> stamps = Stamps(limit=3 * 20 * 20)
    >>> one = stamps.get("one", lambda: Image.new("RGB", (20, 20)))
    >>> one is stamps.get("one", lambda: Image.new("RGB", (20, 20)))
    True
    >>> _ = stamps.get("two", lambda: Image.new("RGB", (20, 20)))
    >>> one is stamps.get("one", lambda: Image.new("RGB", (20, 20))), stamps.size
    (False, 1200)
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[Hashable, Image.Image] = OrderedDict()
        self.size = 0

    def get(self, key: Hashable, make: Callable[[], Image.Image]) -> Image.Image:
        """Return the image kept under a key, or make it."""
        image = self._kept.get(key)
        if image is not None:
            self._kept.move_to_end(key)
            return image
        image = make()
        self._kept[key] = image
        self.size += _bytes(image)
        while self.size > self._limit and len(self._kept) > 1:
            self.size -= _bytes(self._kept.popitem(last=False)[1])
        return image


def rounded(picture: Image.Image, radius: int, background: RGB) -> Image.Image:
    """Lay a square picture on a background with its corners cut off.

    Returns
    -------
    RGB image of the same size

    Examples
    --------
    >>> red = Image.new("RGBA", (40, 40), (255, 0, 0, 255))
    >>> disc = rounded(red, 20, (255, 255, 255))
    >>> disc.getpixel((0, 0)), disc.getpixel((20, 20))
    ((255, 255, 255), (255, 0, 0))
    """
    opaque = picture.convert("RGBA")
    mask = opaque.getchannel("A")
    if radius:
        mask = ImageChops.multiply(mask, _cut_corners(picture.width, radius))
    image = Image.new("RGB", picture.size, background)
    image.paste(opaque.convert("RGB"), (0, 0), mask)
    return image


def corner(radius: int, thickness: int, fill: RGB, border: RGB, background: RGB) -> Image.Image:
    """Draw the upper left corner of a rounded area: its border, the fill within and the ground outside."""
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
