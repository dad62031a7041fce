"""Pictures of records: as checked by eye before (make_golden.py), and a cue changes its own boxes only."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from made_up.vignettes import GOLDEN, POST, RECORDS, picture
from numpy.typing import NDArray
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.vignettes import Painter, Typesetter, load_layout
from conjury.inference.vignettes.layouts import shipped_icons
from conjury.inference.vignettes.painting import PaintedPicture, corner, draw_icon, rounded
from conjury.inference.vignettes.placing import PictureBox

FOLDER = Path(__file__).parents[2] / "fixtures" / "vignettes"
NOTED = json.loads((FOLDER / "fonts.json").read_text(encoding="utf-8"))
LARGEST = 60_000  # bytes of a file
MEAN = 0.25  # of 255; fewer colours alone make a third of it
FAR = 60  # of 255; from here on a pixel is another one
SHARE = 0.0003  # of pixels that may be
EMOJI = range(0x2600, 0x1FB00)
WHITE, BLACK, RED = (255, 255, 255), (0, 0, 0), (255, 0, 0)
REACH = 8


@pytest.fixture(scope="module")
def painter(typesetter: Typesetter) -> Painter:
    return Painter(load_layout("post"), "light", typesetter, picture)


def pixels(image: Image.Image) -> NDArray[np.uint8]:
    return np.asarray(image)


def inside(boxes: tuple[PictureBox, ...], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    mask = np.zeros(shape[:2], dtype=bool)
    for box in boxes:
        mask[box.y : box.y + box.height, box.x : box.x + box.width] = True
    return mask


def reached(box: PictureBox) -> PictureBox:
    """A box with the pixels around a text that letters with high or deep marks may reach."""
    return replace(box, y=box.y - REACH, height=box.height + 2 * REACH) if box.kind == "text" else box


def changed(one: PaintedPicture, other: PaintedPicture) -> NDArray[np.bool_]:
    assert one.image.size == other.image.size
    return (pixels(one.image) != pixels(other.image)).any(axis=2)


def refuse(*_: object) -> Image.Image:
    raise AssertionError("something was drawn")


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_same_record_gives_the_same_bytes_and_placing_draws_nothing(name, theme, typesetter, monkeypatch):
    layout = load_layout(name)
    painters = [Painter(layout, theme, typesetter, picture) for _ in range(2)]
    drawn = [painter.draw(RECORDS[name]) for painter in (*painters, painters[0])]
    assert drawn[0].image.mode == "RGB"
    assert drawn[0].image.tobytes() == drawn[1].image.tobytes() == drawn[2].image.tobytes()

    monkeypatch.setattr(typesetter, "draw", refuse)
    boxes, size = Painter(layout, theme, typesetter, refuse).place(RECORDS[name])
    assert drawn[0].boxes == drawn[1].boxes == boxes
    assert drawn[0].image.size == size


@pytest.mark.parametrize(("cue", "other"), cases(__file__, "other_cues"))
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_cue_changes_its_own_boxes_only(cue, other, theme, typesetter):
    painter = Painter(load_layout("post"), theme, typesetter, picture)
    before, after = painter.draw(POST), painter.draw({**POST, **other})
    differs = changed(before, after)
    places = [[(box.x, box.y, box.width, box.height) for box in one.boxes] for one in (before, after)]
    assert places[0] == places[1]
    own = tuple(box for box in before.boxes if box.cue == cue)
    assert not differs[~inside(tuple(map(reached, own)), differs.shape)].any()
    assert all(differs[inside((box,), differs.shape)].any() for box in own)


def test_the_cache_is_bounded_and_what_is_in_it_is_not_drawn_again(typesetter, monkeypatch):
    roomy = Painter(load_layout("post"), "light", typesetter, picture)
    tight = Painter(load_layout("post"), "light", typesetter, picture, cached_bytes=400_000)
    draw = random.Random(1)
    for number in range(12):
        words = " ".join(draw.choices(str(POST["text"]).split(), k=20))
        post = {**POST, "handle": f"ann_{number}", "text": words}
        assert tight.draw(post).image.tobytes() == roomy.draw(post).image.tobytes()
        assert tight.cached <= 400_000
    assert roomy.cached > 1_000_000
    before = roomy.draw(POST).image.tobytes()
    monkeypatch.setattr(typesetter, "draw", refuse)
    assert roomy.draw(POST).image.tobytes() == before


def test_an_unknown_theme_is_refused(typesetter):
    with pytest.raises(InputError, match=r"post\.yaml: theme 'drak' is unknown here; did you mean 'dark'"):
        Painter(load_layout("post"), "drak", typesetter, picture)


def test_areas_are_filled_framed_and_rounded(tmp_path, typesetter):
    (tmp_path / "card.yaml").write_text(
        "width: 200\nthemes: {light: {background: '#ffffff', inner: '#ff0000', edge: '#000000'}}\n"
        "content:\n  column:\n    - column: [{space: 60}]\n      fill: inner\n      border: edge\n"
        "      thickness: 4\n      radius: 20\n      padding: 10\n  padding: 10\n",
        encoding="utf-8",
    )
    image = Painter(load_layout("card.yaml", tmp_path), "light", typesetter, picture).draw({}).image
    assert image.size == (200, 100)
    assert (pixels(image) == pixels(image)[::-1, ::-1]).all()
    assert (pixels(image) == pixels(image)[:, ::-1]).all()
    points = {(10, 10): WHITE, (13, 13): WHITE, (100, 9): WHITE, (100, 10): BLACK, (100, 13): BLACK}
    points |= {(100, 14): RED, (30, 50): RED, (17, 17): BLACK, (22, 22): RED, (10, 50): BLACK}
    assert {point: image.getpixel(point) for point in points} == points


def test_pictures_are_cut_round_and_corners_run_smoothly_from_border_to_ground():
    half = Image.new("RGBA", (40, 40), (255, 0, 0, 255))
    half.paste((0, 0, 0, 0), (0, 20, 40, 40))
    disc = rounded(half, 20, WHITE)
    assert [disc.getpixel(point) for point in ((0, 0), (20, 5), (20, 30))] == [WHITE, RED, WHITE]
    assert rounded(half, 0, WHITE).getpixel((0, 0)) == RED
    drawn = pixels(corner(40, 3, RED, BLACK, WHITE))
    along = drawn[np.arange(40), np.arange(40)].astype(int)
    assert (tuple(along[0]), tuple(along[-1])) == (WHITE, RED)
    assert len({tuple(colour) for colour in along}) > 3


def test_icons_are_drawn_within_their_square_and_no_two_look_the_same():
    drawn = {name: pixels(draw_icon(icon, 44, 1.75, BLACK, WHITE)) for name, icon in shipped_icons().items()}
    for name, image in drawn.items():
        ink = 255 - image[..., 0].astype(int)
        assert ink.max() == 255
        assert 0.01 < ink.mean() / 255 < 0.4
        assert max(edge.max() for edge in (ink[0], ink[-1], ink[:, 0], ink[:, -1])) < 128, name
    assert len({image.tobytes() for image in drawn.values()}) == len(drawn)


@pytest.mark.parametrize("name", GOLDEN)
def test_pictures_look_as_they_did(name, fonts, typesetter):
    """Where the emoji font is another one, boxes whose text has an emoji are not compared."""
    other = {
        kind: [one for one in NOTED[kind] if fonts.sha256.get(one) != NOTED[kind][one]] for kind in NOTED
    }
    if other["text"]:
        pytest.skip(f"other fonts than those noted: {', '.join(other['text'])}")
    layout, theme, record = GOLDEN[name]
    drawing = Painter(load_layout(layout), theme, typesetter, picture).draw(record)
    kept = Image.open(FOLDER / f"{name}.png").convert("RGB")
    if other["emoji"] and drawing.image.size != kept.size:
        pytest.skip("with another emoji font lines break elsewhere")
    assert drawing.image.size == kept.size
    assert (FOLDER / f"{name}.png").stat().st_size < LARGEST
    differences = np.abs(pixels(drawing.image).astype(int) - pixels(kept).astype(int))
    for box in drawing.boxes if other["emoji"] else ():
        if any(ord(letter) in EMOJI for letter in box.text or ""):
            differences[box.y : box.y + box.height, box.x : box.x + box.width] = 0
    assert differences.mean() <= MEAN
    assert (differences.max(axis=2) >= FAR).mean() <= SHARE
