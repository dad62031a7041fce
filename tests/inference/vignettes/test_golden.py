"""Pictures look as those did that somebody looked at: tests/fixtures/vignettes/make_golden.py makes them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_up_vignettes import GOLDEN, picture
from numpy.typing import NDArray
from PIL import Image

from conjury.inference.vignettes.fonts import Fonts
from conjury.inference.vignettes.layout_file import load_layout
from conjury.inference.vignettes.painting import Drawing, Painter
from conjury.inference.vignettes.typesetting import Typesetter

FOLDER = Path(__file__).parents[2] / "fixtures" / "vignettes"
NOTED = json.loads((FOLDER / "fonts.json").read_text(encoding="utf-8"))
LARGEST = 60_000  # bytes of a file
MEAN = 0.25  # of 255; fewer colours alone make a third of it
FAR = 60  # of 255; from here on a pixel is another one
SHARE = 0.0003  # of pixels that may be
EMOJI = range(0x2600, 0x1FB00)


def other_fonts(fonts: Fonts, kind: str) -> list[str]:
    """Return the fonts noted whose files are missing or not the same here."""
    return [name for name, digest in NOTED[kind].items() if fonts.sha256.get(name) != digest]


def drawn(name: str, typesetter: Typesetter) -> Drawing:
    layout, theme, record = GOLDEN[name]
    return Painter(load_layout(layout), theme, typesetter, picture).draw(record)


def golden(name: str) -> Image.Image:
    return Image.open(FOLDER / f"{name}.png").convert("RGB")


def without_emoji(difference: NDArray[np.int_], drawing: Drawing) -> NDArray[np.int_]:
    """Leave out the boxes whose text has an emoji."""
    kept = difference.copy()
    for box in drawing.boxes:
        if any(ord(letter) in EMOJI for letter in box.text or ""):
            kept[box.y : box.y + box.height, box.x : box.x + box.width] = 0
    return kept


def difference(one: Image.Image, other: Image.Image) -> NDArray[np.int_]:
    return np.abs(np.asarray(one).astype(int) - np.asarray(other).astype(int))


def alike(differences: NDArray[np.int_]) -> bool:
    return bool(differences.mean() <= MEAN and (differences.max(axis=2) >= FAR).mean() <= SHARE)


@pytest.mark.parametrize("name", GOLDEN)
def test_pictures_look_as_they_did(name: str, fonts: Fonts, typesetter: Typesetter) -> None:
    if other := other_fonts(fonts, "text"):
        pytest.skip(f"other fonts than those noted: {', '.join(other)}")
    other_emoji = bool(other_fonts(fonts, "emoji"))
    drawing, kept = drawn(name, typesetter), golden(name)
    if other_emoji and drawing.image.size != kept.size:
        pytest.skip("with another emoji font lines break elsewhere")
    assert drawing.image.size == kept.size
    differences = difference(drawing.image, kept)
    assert alike(without_emoji(differences, drawing) if other_emoji else differences)


def test_a_picture_that_looks_otherwise_is_noticed(typesetter: Typesetter) -> None:
    image = drawn("post_light", typesetter).image
    moved = Image.new("RGB", image.size, "white")
    moved.paste(image, (1, 0))
    assert not alike(difference(image, moved))
    bare = image.copy()
    like = next(box for box in drawn("post_light", typesetter).boxes if box.name == "like")
    bare.paste((255, 255, 255), (like.x, like.y, like.x + like.width, like.y + like.height))
    assert not alike(difference(image, bare))


def test_golden_files_are_small() -> None:
    sizes = {name: (FOLDER / f"{name}.png").stat().st_size for name in GOLDEN}
    assert max(sizes.values()) < LARGEST
