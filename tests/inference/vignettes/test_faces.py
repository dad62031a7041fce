"""Faces: drawn ones, silhouettes and a user's pictures; distinct, alike over groups, always the same."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from numpy.typing import NDArray
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.study import load_study
from conjury.inference.vignettes import Faces, load_faces
from conjury.inference.vignettes.drawn_faces import (
    DEALT,
    FEATURES,
    GROUNDS,
    SILHOUETTES,
    ByNumber,
    Portrait,
    Silhouette,
    form_names,
)
from conjury.inference.vignettes.jobs.store import study_faces

GROUPS = ("black_male", "black_female", "white_male", "white_female")
FILE = load_study("moderation").folder / "stimuli" / "faces.yaml"
GOLDEN = json.loads((Path(__file__).parents[2] / "fixtures" / "vignettes" / "faces.json").read_text())
COLOURED = [f"{group}_{number:02d}" for group in ("anonymous", "blue", "green") for number in range(2)]
LABELS = {"blue": "Blue person", "green": "unhappy green person", "anonymous": "Anonymous"}


def ids(*groups: str, count: int = 10) -> list[str]:
    return [f"{group}_{number:02d}" for group in groups for number in range(count)]


@pytest.fixture(scope="module")
def faces() -> Faces:
    return study_faces(load_study("moderation"))


@pytest.fixture(scope="module")
def pictures(faces: Faces) -> dict[str, NDArray[np.int16]]:
    return {name: np.asarray(faces(name, 96)).astype(np.int16) for name in faces.sources}


def portraits(faces: Faces, group: str) -> list[Portrait]:
    return [face for name in ids(group) if isinstance(face := faces.sources[name], Portrait)]


def only_group(*groups: str) -> str:
    """The shipped file with only some of its groups."""
    head, *parts = re.split(r"(?m)^(?=  \w+:\n    figure)", FILE.read_text(encoding="utf-8"))
    return head + "".join(part for part in parts if part.strip().split(":")[0] in groups)


def written(folder: Path, text: str) -> Path:
    path = folder / "faces.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_faces_are_those_that_were_checked_by_eye(faces):
    """The colours of 8 by 8 fields; other versions of Pillow may round otherwise, by little."""
    assert set(faces.sources) == {*ids("anonymous", *GROUPS), *ids("replier", count=15)}
    for name, expected in GOLDEN.items():
        fields = np.asarray(faces(name, 96).convert("RGB").reduce(12)).astype(int)
        assert np.abs(fields.reshape(-1, 3) - expected).max() <= 2, name


@pytest.mark.long
def test_any_two_pictures_differ_clearly_at_96_pixels(pictures):
    distances = {
        pair: np.abs(pictures[pair[0]] - pictures[pair[1]]).mean()
        for pair in itertools.combinations(pictures, 2)
    }
    assert len(distances) == 65 * 64 / 2
    closest = min(distances, key=lambda pair: distances[pair])
    assert distances[closest] > 5, closest


def test_pictures_are_opaque_squares_of_the_size_wanted(faces):
    for name, size in itertools.product(("black_male_03", "anonymous_00"), (1, 7, 208)):
        picture = faces(name, size)
        assert (picture.mode, picture.size) == ("RGBA", (size, size))
        assert np.asarray(picture)[..., 3].min() == 255
    for size in (0, 2049):
        with pytest.raises(InputError, match=r"choose a size from 1 to 2,048\.$"):
            faces("anonymous_00", size)
    with pytest.raises(InputError, match=r"no picture 'black_mail_01' \(did you mean 'black_male_01'\?\)"):
        faces("black_mail_01", 20)


def test_a_circle_cuts_nothing_of_hair_and_head(pictures):
    y, x = np.mgrid[:96, :96] - 47.5
    outside = (np.hypot(x, y) > 48) & (y < 19)  # shoulders may extend to the edge
    for name in ids(*GROUPS):
        assert (pictures[name][outside] == pictures[name][0, 0]).all(), name


def test_groups_share_what_does_not_tell_them_apart_and_nothing_repeats_before_all_were_dealt(faces):
    groups = {group: portraits(faces, group) for group in GROUPS}

    def values(group: str, field: str) -> list[str]:
        return [getattr(face, field) for face in groups[group]]

    for field in ByNumber.model_fields:
        assert len({tuple(values(group, field)) for group in GROUPS}) == 1, field
    for one, other in itertools.combinations(GROUPS, 2):
        same_gender, same_race = one.split("_")[1] == other.split("_")[1], one[:5] == other[:5]
        for field in (*("figure", "beard", "earrings") * same_gender, *("skin", "eyes") * same_race):
            assert values(one, field) == values(other, field), field
    for group in GROUPS:
        assert len(set(values(group, "background"))) == len(set(values(group, "hair"))) == 10
        assert set(Counter(values(group, "skin")).values()) == {2}
    black, white = ({*values(one, "skin"), *values(two, "skin")} for one, two in (GROUPS[:2], GROUPS[2:]))
    assert len(black) == len(white) == 5
    lightness = {colour: sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) for colour in black | white}
    assert max(lightness[colour] for colour in black) < min(lightness[colour] for colour in white) - 150


def test_the_hash_changes_with_the_file_and_with_the_people(tmp_path):
    def hashed(text: str, repliers: int = 1) -> str:
        path = written(tmp_path, text)
        return load_faces(path, ids("black_male", count=2), repliers, "anonymous", {}).sha256

    small = only_group("black_male")
    assert hashed(small) == hashed(small + "# a remark\n")
    others = (small.replace("#4f3226", "#503226"), small.replace("seed: 1", "seed: 2"))
    assert len({hashed(small), hashed(small, 2), *map(hashed, others)}) == 4


def test_pictures_are_described_as_drawn_faces_and_silhouettes(faces, tmp_path):
    assert faces.describe("black_male_03") == "a drawn face of a Black man"
    assert faces.describe("anonymous_02") == "a silhouette on navy"
    silhouettes = [faces.describe(name) for name in (*ids("anonymous"), *ids("replier", count=15))]
    assert len(set(silhouettes)) == 25
    path = written(tmp_path, only_group("black_male"))
    named = load_faces(path, ids("black_male", count=1), 0, "anonymous", {"black_male": "Asian man"})
    assert list(named.sources) == ["black_male_00"]
    assert named.describe("black_male_00") == "a drawn face of an Asian man"


def test_silhouettes_come_in_75_colours_and_no_more():
    people = [Silhouette(number) for number in range(SILHOUETTES)]
    assert 3 * len(GROUNDS) == SILHOUETTES == 75
    assert len({person.colour for person in people}) == len({person.description for person in people}) == 75
    with pytest.raises(InputError, match="76 people are shown as silhouettes, which come in 75 colours"):
        load_faces(FILE, ids("anonymous", count=SILHOUETTES), 1, "anonymous", {})


@pytest.mark.parametrize(("old", "new", "sentence"), cases(__file__, "faults"))
def test_a_fault_in_a_file_of_faces_is_named_by_its_line(tmp_path, old, new, sentence):
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"faces\.yaml:\d+: .*{sentence}"):
        load_faces(path, ids("anonymous", *GROUPS), 15, "anonymous", {})


def test_a_group_that_is_missing_or_with_too_little_variety_is_refused(tmp_path):
    assert len(load_faces(FILE, ids(*GROUPS[:3]), 1, "anonymous", {}).sources) == 31  # others may be there
    with pytest.raises(InputError, match="tall_people is missing from groups; add the attributes"):
        load_faces(FILE, ids(*GROUPS, "tall_people"), 1, "anonymous", {})
    text = only_group("black_male")
    for field in ("skin", "eyes", "hair_colour"):
        text = re.sub(rf'( {field}: \["#\w+").*\]', r"\1]", text)
    path = written(tmp_path, re.sub(r" (hair|beard): \[(\w+).*\]", r" \1: [\2]", text))
    assert len(load_faces(path, ids("black_male"), 1, "anonymous", {}).sources) == 11
    with pytest.raises(InputError, match="black_male has fewer than 61 different faces"):
        load_faces(path, ids("black_male", count=61), 1, "anonymous", {})


@pytest.mark.parametrize("feature", FEATURES)
def test_every_form_looks_like_no_other_and_is_listed_in_the_shipped_file(faces, feature):
    first = portraits(faces, "white_female")[0]
    fields = {field: getattr(first, field) for field in first.__slots__}
    names = form_names(feature)
    drawn = {Portrait(**(fields | {feature: name})).picture(64).tobytes() for name in names}
    assert len(drawn) == len(names) > 2
    assert {*names} <= {*re.findall(r"\w+", FILE.read_text(encoding="utf-8"))}
    assert feature in DEALT or feature in ByNumber.model_fields


def save(path: Path, colour: str, size: tuple[int, int] = (80, 80), **options: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", size, colour).save(path, **options)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two groups of two pictures each, and files that a Mac leaves next to them."""
    for group in ("blue", "green"):
        save(tmp_path / group / "b.png", group)
        save(tmp_path / group / "a.jpg", "red", quality=95)
        (tmp_path / group / ".DS_Store").write_bytes(b"Bud1")
    (tmp_path / ".DS_Store").write_bytes(b"Bud1")
    return tmp_path


def load(folder: Path) -> Faces:
    return load_faces(folder, COLOURED, 1, "anonymous", LABELS)


def test_pictures_of_a_folder_are_in_the_order_of_their_names(folder):
    faces = load(folder)
    assert set(faces.sources) == {*COLOURED, "replier_00"}
    red, blue = (np.asarray(faces(name, 70))[35, 35] for name in ("blue_00", "blue_01"))
    assert red[0] > 250
    assert tuple(blue) == (0, 0, 255, 255)
    described = {name: faces.describe(name) for name in ("blue_01", "green_00", "anonymous_01", "replier_00")}
    assert described == {
        "blue_01": "a picture of a Blue person",
        "green_00": "a picture of an unhappy green person",
        "anonymous_01": "a silhouette on orange",
        "replier_00": "a silhouette on navy",
    }
    for name in ("x.webp", "y.webp"):
        save(folder / "anonymous" / name, "white", lossless=True)
    faces = load(folder)
    assert faces.describe("anonymous_01") == "a picture of an anonymous person"
    assert np.asarray(faces("anonymous_00", 10)).min() == 255


def test_a_picture_is_cut_about_its_middle_upright_and_opaque(folder):
    strip = Image.new("RGB", (300, 100), "white")
    strip.paste("black", (100, 0, 200, 100))
    strip.save(folder / "blue" / "a.jpg", quality=95)
    lying = Image.new("RGB", (100, 100), "white")
    lying.paste("black", (0, 0, 50, 100))
    turn = Image.Exif()
    turn[0x0112] = 6  # to be turned clockwise
    lying.save(folder / "blue" / "b.png", exif=turn)
    Image.new("RGBA", (64, 64), (255, 0, 0, 0)).save(folder / "green" / "b.png")
    faces = load(folder)
    assert np.asarray(faces("blue_00", 100))[..., :3].max() < 20
    upright = np.asarray(faces("blue_01", 64))
    assert upright[10, :, 0].max() < 20
    assert upright[-10, :, 0].min() > 235
    assert (np.asarray(faces("green_01", 64)) == (228, 230, 232, 255)).all()


@pytest.mark.parametrize("mode", ["L", "P", "CMYK", "1"])
def test_pictures_of_other_colour_modes_are_read(folder, mode):
    name, face = ("a.jpg", "green_00") if mode == "CMYK" else ("b.png", "green_01")
    Image.new("RGB", (64, 64), "white").convert(mode).save(folder / "green" / name)
    assert np.asarray(load(folder)(face, 20)).min() > 250


def test_the_hash_follows_the_contents_and_not_the_place(folder):
    before = load(folder).sha256
    moved = folder.rename(folder.with_name(folder.name + "_moved"))
    assert load(moved).sha256 == before
    save(moved / "blue" / "b.png", "navy")
    assert load(moved).sha256 != before


GIF, TOO_LOW = b"GIF89a", "300 x 63 pixels; use one of at least"


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda f: shutil.rmtree(f / "green"),
            "FOLDER: there is no folder green; make one with 2 pictures (.png",
        ),
        (lambda f: (f / "grean").mkdir(), "'grean' is not a group of the study (did you mean 'green'?)"),
        (lambda f: save(f / "blue" / "c.png", "blue"), "3 pictures and the study needs 2; remove 1."),
        (lambda f: (f / "blue" / "b.png").unlink(), "FOLDER/blue: there are 1 pictures"),
        (lambda f: (f / "blue" / "b.png").write_bytes(GIF), "b.png: this is not a picture that"),
        (lambda f: (f / "blue" / "b.png").write_bytes(b""), "FOLDER/blue/b.png: this is not a picture"),
        (lambda f: (f / "blue" / "b.txt").touch(), "b.txt: this is not a .png, .jpg, .jpeg, .webp file"),
        (lambda f: save(f / "green" / "b.png", "red", (300, 63)), TOO_LOW),
        (lambda f: truncate(f / "green" / "b.png"), "b.png: the picture is damaged"),
    ],
)
def test_a_folder_without_usable_pictures_is_refused_before_any_drawing(folder, spoil, sentence):
    spoil(folder)
    with pytest.raises(InputError) as refused:
        print(load(folder).sha256)
    assert sentence in str(refused.value).replace(str(folder), "FOLDER")


def truncate(path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:20_000])
