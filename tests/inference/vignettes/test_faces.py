"""Drawn faces and silhouettes: told apart, spread alike over groups, the same whenever they are drawn."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.study import load_study
from conjury.inference.vignettes.faces import Faces, load_faces
from conjury.inference.vignettes.faces.drawn import DEALT, KNOWN, ByNumber
from conjury.inference.vignettes.faces.portraits import Portrait
from conjury.inference.vignettes.faces.silhouettes import COLOURS, MOST, Silhouette
from conjury.inference.vignettes.records import study_faces

GROUPS = ("black_male", "black_female", "white_male", "white_female")
LABELS = {"black_male": "Black man", "white_female": "White woman"}
FILE = load_study("moderation").folder / "stimuli" / "faces.yaml"


def ids(*groups: str, count: int = 10) -> list[str]:
    return [f"{group}_{number:02d}" for group in groups for number in range(count)]


@pytest.fixture(scope="module")
def faces() -> Faces:
    return study_faces(load_study("moderation"))


@pytest.fixture(scope="module")
def pictures(faces: Faces) -> dict[str, NDArray[np.int16]]:
    return {name: np.asarray(faces(name, 96)).astype(np.int16) for name in faces.shown}


def portraits(faces: Faces, group: str) -> list[Portrait]:
    found = [faces.shown[name] for name in ids(group)]
    return [face for face in found if isinstance(face, Portrait)]


def test_every_author_and_replier_has_a_picture(faces: Faces) -> None:
    assert set(faces.shown) == {*ids("anonymous", *GROUPS), *ids("replier", count=15)}


def test_any_two_of_all_pictures_differ_clearly_at_96_pixels(
    pictures: dict[str, NDArray[np.int16]],
) -> None:
    distances = {
        pair: np.abs(pictures[pair[0]] - pictures[pair[1]]).mean()
        for pair in itertools.combinations(pictures, 2)
    }
    assert len(distances) == 65 * 64 / 2
    assert min(distances.values()) > 4, min(distances, key=lambda pair: distances[pair])


def test_faces_of_a_group_differ_in_more_than_what_goes_by_number(faces: Faces) -> None:
    for group in GROUPS:
        looks = {tuple(getattr(face, field) for field in DEALT) for face in portraits(faces, group)}
        assert len(looks) == 10, group


@pytest.mark.parametrize("size", [1, 21, 96, 400])
def test_pictures_are_opaque_squares_of_the_size_asked_for(faces: Faces, size: int) -> None:
    for name in ("black_female_05", "anonymous_03", "replier_14"):
        picture = faces(name, size)
        assert (picture.mode, picture.size) == ("RGBA", (size, size))
        assert np.asarray(picture)[..., 3].min() == 255


@pytest.mark.parametrize("size", [0, 2049])
def test_a_size_that_cannot_be_drawn_is_refused(faces: Faces, size: int) -> None:
    with pytest.raises(InputError, match=r"ask for 1 to 2,048\.$"):
        faces("anonymous_00", size)


def test_a_circle_cuts_nothing_of_hair_and_head_off(pictures: dict[str, NDArray[np.int16]]) -> None:
    y, x = np.mgrid[:96, :96] - 47.5
    outside = (np.hypot(x, y) > 48) & (y < 19)  # shoulders may reach the edge
    for name in ids(*GROUPS):
        picture = pictures[name]
        assert (picture[outside] == picture[0, 0]).all(), name


def test_what_goes_by_number_is_the_same_in_all_groups(faces: Faces) -> None:
    for number in range(10):
        shared = {
            tuple(getattr(portraits(faces, group)[number], field) for field in ByNumber.model_fields)
            for group in GROUPS
        }
        assert len(shared) == 1, number


def test_each_background_stands_behind_one_face_of_a_group(faces: Faces) -> None:
    for group in GROUPS:
        assert len({face.background for face in portraits(faces, group)}) == 10


@pytest.mark.parametrize(
    ("one", "other", "fields"),
    [
        ("black_male", "white_male", ("figure", "beard", "earrings")),
        ("black_female", "white_female", ("figure", "beard", "earrings")),
        ("black_male", "black_female", ("skin", "eyes")),
        ("white_male", "white_female", ("skin", "eyes")),
    ],
)
def test_groups_of_one_gender_or_race_share_what_tells_it(
    faces: Faces, one: str, other: str, fields: tuple[str, ...]
) -> None:
    for field in fields:
        of_one, of_other = (
            [getattr(face, field) for face in portraits(faces, group)] for group in (one, other)
        )
        assert of_one == of_other, field


def test_races_share_no_skin(faces: Faces) -> None:
    black, white = (
        {face.skin for group in groups for face in portraits(faces, group)}
        for groups in (GROUPS[:2], GROUPS[2:])
    )
    assert len(black) == len(white) == 5
    lightness = {colour: sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) for colour in black | white}
    assert max(lightness[colour] for colour in black) < min(lightness[colour] for colour in white) - 150


def test_values_of_a_list_are_dealt_before_one_comes_again(faces: Faces) -> None:
    for group in GROUPS:
        counts = Counter(face.skin for face in portraits(faces, group))
        assert set(counts.values()) == {2}
        assert len({face.hair for face in portraits(faces, group)}) == 10


def test_faces_are_the_same_in_another_process() -> None:
    authors = ids("white_male", count=4)
    script = (
        "from pathlib import Path\nfrom conjury.inference.vignettes.faces import load_faces\n"
        f"print(load_faces(Path({str(FILE)!r}), {authors}, 1, 'anonymous', {{}}).sha256)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == load_faces(FILE, authors, 1, "anonymous", {}).sha256


def test_the_hash_changes_with_the_file_and_with_the_people(tmp_path: Path) -> None:
    def of(text: str, repliers: int) -> str:
        path = tmp_path / "faces.yaml"
        path.write_text(text, encoding="utf-8")
        return load_faces(path, ids("black_male", count=2), repliers, "anonymous", {}).sha256

    small = only_group("black_male")
    assert of(small, 1) == of(small + "# a remark\n", 1)
    assert len({of(small, 1), of(small, 2), of(small.replace("#4f3226", "#503226"), 1)}) == 3
    assert len({of(small, 1), of(small.replace("seed: 1", "seed: 2"), 1)}) == 2


def only_group(*groups: str) -> str:
    """Return the shipped file with only some of its groups."""
    head, *parts = re.split(r"(?m)^(?=  \w+:\n    figure)", FILE.read_text(encoding="utf-8"))
    return head + "".join(part for part in parts if part.strip().split(":")[0] in groups)


def test_pictures_are_described_as_drawn_faces_and_silhouettes(faces: Faces) -> None:
    assert faces.describe("black_male_03") == "a drawn face of a Black man"
    assert faces.describe("white_female_09") == "a drawn face of a White woman"
    assert faces.describe("anonymous_02") == "a silhouette on navy"
    words = [faces.describe(name) for name in (*ids("anonymous"), *ids("replier", count=15))]
    assert len(set(words)) == 25


def test_an_article_agrees_with_the_label(tmp_path: Path) -> None:
    path = tmp_path / "faces.yaml"
    path.write_text(only_group("black_male"), encoding="utf-8")
    named = load_faces(path, ids("black_male"), 1, "anonymous", {"black_male": "Asian man"})
    assert named.describe("black_male_00") == "a drawn face of an Asian man"


def test_a_picture_that_is_not_there_is_refused(faces: Faces) -> None:
    with pytest.raises(InputError, match=r"no picture 'black_mail_01' \(did you mean 'black_male_01'\?\)"):
        faces("black_mail_01", 20)
    with pytest.raises(InputError, match="no picture 'x'"):
        faces.describe("x")


def test_silhouettes_come_in_75_colours_and_no_more() -> None:
    people = [Silhouette(number) for number in range(MOST)]
    assert len({person.colour for person in people}) == len({person.words for person in people}) == 75
    assert 3 * len(COLOURS) == MOST
    authors = ids("anonymous", count=MOST)
    with pytest.raises(InputError, match="76 people are shown as silhouettes, which come in 75 colours"):
        load_faces(FILE, authors, 1, "anonymous", {})


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "  white_male:\n    figure",
            "  wight_male:\n    figure",
            "white_male is .*mean 'wight_male'",
        ),
        ("hair: [locs,", "hair: [locks,", "hair: 'locks' is unknown here; did you mean 'locs'"),
        ("[crew, shirt", "[crew, skirt", "clothes: 'skirt' is unknown here; did you mean 'shirt'"),
        ("#4f3226", "#4f322", "skin.* pattern"),
        ("seed: 1\n", "", "seed: Field required; add it"),
        ("figure: man", "figure: boy", "figure"),
        ("    eyes:", "    eye:", "'eye' is unknown here; did you mean 'eyes'"),
        ("beard: [none,", "beard: [no,", "beard"),
    ],
)
def test_a_file_of_faces_with_a_fault_is_refused_by_line(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "faces.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=rf"faces\.yaml:\d+: .*{says}"):
        load_faces(path, ids("anonymous", *GROUPS), 15, "anonymous", {})


def test_groups_must_hold_those_of_the_study_and_may_hold_others() -> None:
    assert len(load_faces(FILE, ids(*GROUPS[:3]), 1, "anonymous", {}).shown) == 31
    with pytest.raises(InputError, match="tall_people is missing from groups; add what its faces look like"):
        load_faces(FILE, ids(*GROUPS, "tall_people"), 1, "anonymous", {})


def test_a_group_with_too_little_variety_is_refused(tmp_path: Path) -> None:
    text = only_group("black_male")
    for field in ("skin", "eyes", "hair_colour"):
        text = re.sub(rf'( {field}: \["#\w+").*\]', r"\1]", text)
    text = re.sub(r" (hair|beard): \[(\w+).*\]", r" \1: [\2]", text)
    path = tmp_path / "faces.yaml"
    path.write_text(text, encoding="utf-8")
    assert len(load_faces(path, ids("black_male"), 1, "anonymous", {}).shown) == 11
    with pytest.raises(InputError, match="black_male has fewer than 61 different faces"):
        load_faces(path, ids("black_male", count=61), 1, "anonymous", {})


def test_every_form_can_be_drawn_and_looks_like_no_other(faces: Faces) -> None:
    first = portraits(faces, "white_female")[0]
    fields = {field: getattr(first, field) for field in first.__slots__}
    for field, names in KNOWN.items():
        drawn = {Portrait(**(fields | {field: name})).picture(64).tobytes() for name in names}
        assert len(drawn) == len(names), field


def test_one_author_and_no_repliers_will_do(tmp_path: Path) -> None:
    path = tmp_path / "faces.yaml"
    path.write_text(only_group("white_male"), encoding="utf-8")
    alone = load_faces(path, ["white_male_00"], 0, "anonymous", LABELS)
    assert list(alone.shown) == ["white_male_00"]
    assert isinstance(alone("white_male_00", 10), Image.Image)
