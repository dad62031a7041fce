"""Pictures as bytes: PNG by a writer of our own, which takes a tenth of Pillow's time, and lossless WebP."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any, Literal

from PIL import Image

from ..errors import InputError

Format = Literal["png", "webp"]
MEDIA_TYPES: dict[str, str] = {"png": "image/png", "webp": "image/webp"}
LEVEL = 2  # of deflate; pages of flat colour and text gain little from more
MEMORY = 9  # the most that deflate takes
SIGNATURE = b"\x89PNG\r\n\x1a\n"
DEPTH, TRUE_COLOUR = 8, 2
LARGEST_SIDE = {"png": 2**31 - 1, "webp": 16_383}  # pixels, by the formats


def encode(image: Image.Image, kind: Format) -> bytes:
    """Return a picture as the bytes of a file; equal pictures give equal bytes.

    Parameters
    ----------
    image : Image
        Opaque, mode RGB.
    kind : "png" or "webp"
        Both keep every pixel. WebP is half the size and takes several times as long.

    Raises
    ------
    InputError
        The picture has a side that the format cannot hold.

    Examples
    --------
    >>> held = encode(Image.new("RGB", (40, 30), "white"), "png")
    >>> Image.open(io.BytesIO(held)).size
    (40, 30)
    """
    if image.mode != "RGB":
        raise ValueError(f"a picture of mode {image.mode}; only RGB is written")
    if max(image.size) > LARGEST_SIDE[kind]:
        raise InputError(
            f"A picture of {image.width:,} x {image.height:,} pixels is too large for {kind}; shorten the "
            "texts, or make the layout smaller."
        )
    return _png(image) if kind == "png" else _webp(image)


def compressor() -> str:
    """Name what PNG files are compressed with: zlib-ng where it is installed, else Python's own zlib.

    Examples
    --------
    >>> compressor().split()[0] in ("zlib-ng", "zlib")
    True
    """
    return _COMPRESSOR[0]


def _find_compressor() -> tuple[str, Callable[..., Any]]:
    try:
        from zlib_ng import zlib_ng
    except ImportError:
        return f"zlib {zlib.ZLIB_RUNTIME_VERSION}", zlib.compressobj
    return f"zlib-ng {zlib_ng.ZLIBNG_VERSION}", zlib_ng.compressobj


_COMPRESSOR = _find_compressor()


def _png(image: Image.Image) -> bytes:
    """Write 8-bit colour with rows as they are (filter 0), each behind its filter byte."""
    width, height = image.size
    rows = memoryview(image.tobytes("raw", "RGB", 3 * width + 1, 1))  # with a zero behind each row
    stream = _COMPRESSOR[1](LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, MEMORY)
    packed = b"".join((stream.compress(b"\0"), stream.compress(rows[:-1]), stream.flush()))
    header = struct.pack(">IIBBBBB", width, height, DEPTH, TRUE_COLOUR, 0, 0, 0)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(name))
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def _webp(image: Image.Image) -> bytes:
    held = io.BytesIO()
    image.save(held, "WEBP", lossless=True, method=1, quality=0)
    return held.getvalue()
