"""Pictures as bytes: every pixel kept, the same bytes each time, with zlib-ng and without."""

from __future__ import annotations

import io
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.vignettes import encoding
from conjury.inference.vignettes.encoding import MEDIA_TYPES, compressor, encode


def noise(width: int, height: int, seed: int = 1) -> Image.Image:
    colours = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(colours)


def read(content: bytes) -> Image.Image:
    with Image.open(io.BytesIO(content)) as image:
        image.load()
        return image.copy()


@pytest.mark.parametrize("kind", MEDIA_TYPES)
@given(width=st.integers(1, 90), height=st.integers(1, 90), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_every_pixel_comes_back(kind: encoding.Format, width: int, height: int, seed: int) -> None:
    image = noise(width, height, seed)
    back = read(encode(image, kind))
    assert back.mode == "RGB"
    assert np.array_equal(np.asarray(back), np.asarray(image))


@pytest.mark.parametrize("kind", MEDIA_TYPES)
def test_the_format_is_what_the_media_type_says_and_bytes_repeat(kind: encoding.Format) -> None:
    first = encode(noise(31, 17), kind)
    assert first == encode(noise(31, 17), kind)
    assert first != encode(noise(31, 17, 2), kind)
    with Image.open(io.BytesIO(first)) as image:
        assert Image.MIME[image.format or ""] == MEDIA_TYPES[kind]


def test_a_part_of_a_larger_picture_is_written_alone() -> None:
    part = noise(60, 40).crop((7, 5, 44, 33))
    assert np.array_equal(np.asarray(read(encode(part, "png"))), np.asarray(part))


def test_a_flat_page_is_small() -> None:
    assert len(encode(Image.new("RGB", (1050, 620), "white"), "png")) < 12_000


def test_without_zlib_ng_pictures_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zlib_ng", None)
    monkeypatch.setattr(encoding, "_COMPRESSOR", encoding._find_compressor())
    assert compressor() == f"zlib {zlib.ZLIB_RUNTIME_VERSION}"
    image = noise(200, 100)
    assert np.array_equal(np.asarray(read(encode(image, "png"))), np.asarray(image))


def test_pictures_that_a_format_cannot_hold_are_refused() -> None:
    with pytest.raises(InputError, match="16,384 x 1 pixels is too large for webp"):
        encode(Image.new("RGB", (16_384, 1)), "webp")
    assert read(encode(Image.new("RGB", (16_384, 1)), "png")).size == (16_384, 1)
    with pytest.raises(ValueError, match="mode RGBA"):
        encode(Image.new("RGBA", (3, 3)), "png")
