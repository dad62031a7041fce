"""Faces from a folder of pictures: found by name, turned and cut, refused by folder, file and remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.vignettes.faces import Faces, load_faces

AUTHORS = [f"{group}_{number:02d}" for group in ("anonymous", "blue", "green") for number in range(2)]
LABELS = {"blue": "Blue person", "green": "unhappy green person", "anonymous": "Anonymous"}


def save(path: Path, colour: str, size: tuple[int, int] = (80, 80), **options: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", size, colour).save(path, **options)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two groups of two pictures each, and what a Mac leaves beside them."""
    for group in ("blue", "green"):
        save(tmp_path / group / "b.png", group)
        save(tmp_path / group / "a.jpg", "red", quality=95)
        (tmp_path / group / ".DS_Store").write_bytes(b"Bud1")
    (tmp_path / ".DS_Store").write_bytes(b"Bud1")
    return tmp_path


def load(folder: Path) -> Faces:
    return load_faces(folder, AUTHORS, 1, "anonymous", LABELS)


def refusal(folder: Path) -> str:
    with pytest.raises(InputError) as refused:
        load(folder)
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence.replace(str(folder), "FOLDER")


def test_pictures_are_taken_in_the_order_of_their_names(folder: Path) -> None:
    faces = load(folder)
    assert set(faces.shown) == {*AUTHORS, "replier_00"}
    red, blue = (np.asarray(faces(name, 70))[35, 35] for name in ("blue_00", "blue_01"))
    assert red[0] > 250
    assert tuple(blue) == (0, 0, 255, 255)


def test_pictures_are_described_by_their_group(folder: Path) -> None:
    faces = load(folder)
    assert faces.describe("blue_01") == "a picture of a Blue person"
    assert faces.describe("green_00") == "a picture of an unhappy green person"
    assert faces.describe("anonymous_01") == "a silhouette on orange"
    assert faces.describe("replier_00") == "a silhouette on navy"


def test_pictures_of_anonymous_authors_take_the_place_of_silhouettes(folder: Path) -> None:
    for name in ("x.webp", "y.webp"):
        save(folder / "anonymous" / name, "white", lossless=True)
    faces = load(folder)
    assert faces.describe("anonymous_01") == "a picture of an anonymous person"
    assert np.asarray(faces("anonymous_00", 10)).min() == 255


def test_a_wide_picture_is_cut_about_its_middle(folder: Path) -> None:
    strip = Image.new("RGB", (300, 100), "white")
    strip.paste("black", (100, 0, 200, 100))
    strip.save(folder / "blue" / "a.jpg", quality=95)
    assert np.asarray(load(folder)("blue_00", 100))[..., :3].max() < 20


def test_a_picture_is_turned_upright(folder: Path) -> None:
    lying = Image.new("RGB", (100, 100), "white")
    lying.paste("black", (0, 0, 50, 100))
    turn = Image.Exif()
    turn[0x0112] = 6  # to be turned clockwise
    lying.save(folder / "blue" / "b.png", exif=turn)
    upright = np.asarray(load(folder)("blue_01", 64))
    assert upright[10, :, 0].max() < 20
    assert upright[-10, :, 0].min() > 235


def test_transparent_pixels_are_filled(folder: Path) -> None:
    Image.new("RGBA", (64, 64), (255, 0, 0, 0)).save(folder / "blue" / "b.png")
    picture = np.asarray(load(folder)("blue_01", 64))
    assert (picture == (228, 230, 232, 255)).all()


@pytest.mark.parametrize("mode", ["L", "P", "CMYK", "1"])
def test_pictures_of_other_colour_modes_are_read(folder: Path, mode: str) -> None:
    name = "a.jpg" if mode == "CMYK" else "b.png"
    (folder / "green" / name).unlink()
    Image.new("RGB", (64, 64), "white").convert(mode).save(folder / "green" / name)
    faces = load(folder)
    assert np.asarray(faces("green_00" if mode == "CMYK" else "green_01", 20)).min() > 250


def test_the_hash_follows_the_contents_and_not_the_place(folder: Path) -> None:
    before = load(folder).sha256
    moved = folder.rename(folder.with_name(folder.name + "_moved"))
    assert load(moved).sha256 == before
    save(moved / "blue" / "b.png", "navy")
    assert load(moved).sha256 != before


def test_a_missing_group_is_refused(folder: Path) -> None:
    for path in (folder / "green").iterdir():
        path.unlink()
    (folder / "green").rmdir()
    assert refusal(folder) == (
        "FOLDER: there is no folder green; make one with 2 pictures (.png, .jpg, .jpeg, .webp)."
    )


def test_a_folder_of_no_group_is_refused(folder: Path) -> None:
    (folder / "grean").mkdir()
    assert refusal(folder) == (
        "FOLDER/grean: 'grean' is no group of the study (did you mean 'green'?); name it after one of "
        "anonymous, blue, green."
    )


def test_other_numbers_of_pictures_are_refused(folder: Path) -> None:
    extra = save(folder / "blue" / "c.png", "blue")
    assert refusal(folder) == "FOLDER/blue: there are 3 pictures and the study asks for 2; remove 1."
    extra.unlink()
    (folder / "blue" / "b.png").unlink()
    assert refusal(folder) == "FOLDER/blue: there are 1 pictures and the study asks for 2; add 1."


def test_files_that_are_no_pictures_are_refused(folder: Path) -> None:
    path = folder / "blue" / "b.png"
    path.write_bytes(b"GIF89a not at all")
    assert refusal(folder).startswith("FOLDER/blue/b.png: this is not a picture that can be read; save it")
    path.write_bytes(b"")
    assert "b.png: this is not a picture" in refusal(folder)
    path.rename(folder / "blue" / "b.txt")
    assert refusal(folder).startswith("FOLDER/blue/b.txt: this is no .png, .jpg, .jpeg, .webp file; move it")


def test_a_small_picture_is_refused(folder: Path) -> None:
    save(folder / "green" / "b.png", "green", (300, 63))
    assert refusal(folder) == (
        "FOLDER/green/b.png: the picture is 300 x 63 pixels; use one of at least 64 x 64."
    )


def test_a_truncated_picture_is_refused_before_any_drawing(folder: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    path = folder / "green" / "b.png"
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:20_000])
    faces = load(folder)
    with pytest.raises(InputError, match=r"b\.png: the picture is damaged .*; save it again or choose"):
        _ = faces.sha256


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith("FOLDER: there is no folder blue; make one with 2 pictures")
