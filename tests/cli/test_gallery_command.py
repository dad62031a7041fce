"""``conjury gallery``: which files it writes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.studies import change_study, towns, write_study
from PIL import Image

from conjury.inference.vignettes import Fonts
from conjury.inference.vignettes.contact_sheet import COLUMN, GAP

pytestmark = pytest.mark.long

pytest.importorskip("fontpkg_inter")
GALLERY = Path("runs/towns/gallery.html")
Told = Callable[..., str]


@pytest.fixture(autouse=True)
def study(tmp_path: Path) -> None:
    write_study(tmp_path / "towns", towns())


def test_a_page_and_a_picture_are_left_in_the_folder_of_the_run(ran: Told) -> None:
    assert "5 of 162 profiles" in ran("render towns --page --n 5")
    assert sorted(path.name for path in GALLERY.parent.iterdir()) == ["gallery.html", "gallery.png"]
    assert GALLERY.read_text(encoding="utf-8").count("<figure") == 5
    with Image.open(GALLERY.with_suffix(".png")) as sheet:
        assert sheet.width == GAP + 4 * (COLUMN + GAP)


def test_the_profiles_are_those_of_a_drawn_design(ran: Told) -> None:
    ran("design towns --pairs 2")
    ran("render towns --page --n 40")
    assert GALLERY.read_text(encoding="utf-8").count("<figure") <= 4


def test_kinds_of_cues_are_shown_side_by_side(fonts: Fonts, ran: Told) -> None:
    cues = "--cues both --cues name --cues face --cues none"
    ran(f"render moderation --page --n 2 {cues} --out seen --theme dark")
    assert Path("seen/gallery.html").read_text(encoding="utf-8").count("<img") == 8
    with Image.open("seen/gallery.png") as sheet:
        assert sheet.width >= 4 * COLUMN


def test_a_study_that_changed_after_its_design_was_drawn_is_refused(ran: Told, refused: Told) -> None:
    ran("design towns --pairs 20")
    change_study(Path("towns"), lambda content: content["attributes"][0]["levels"][0].update(label="Tiny"))
    error = refused("render towns --page --n 4", writes=True)
    assert "its posts differ from those of the current study files" in error
    assert "`conjury design towns/study.yaml --out FOLDER`" in error
    assert not GALLERY.exists()
