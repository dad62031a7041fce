"""``conjury gallery``: what it leaves behind, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.studies import change_study, towns, write_study
from PIL import Image

from conjury.cli.main import main
from conjury.inference.vignettes import Fonts
from conjury.inference.vignettes.gallery import COLUMN, GAP

pytest.importorskip("fontpkg_inter")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_study(tmp_path / "towns", towns())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["conjury", "gallery", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_a_page_and_a_picture_are_left_in_the_folder_of_the_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "towns", "--n", 5) == 0
    assert "5 of 162 profiles" in capsys.readouterr().out
    folder = here / "runs" / "towns"
    assert sorted(path.name for path in folder.iterdir()) == ["gallery.html", "gallery.png"]
    assert (folder / "gallery.html").read_text(encoding="utf-8").count("<figure") == 5
    with Image.open(folder / "gallery.png") as sheet:
        assert sheet.width == GAP + 4 * (COLUMN + GAP)


def test_the_profiles_are_those_of_a_drawn_design(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["conjury", "design", "towns", "--pairs", "2"])
    with pytest.raises(SystemExit):
        main()
    assert run(monkeypatch, "towns", "--n", 40) == 0
    assert (here / "runs" / "towns" / "gallery.html").read_text(encoding="utf-8").count("<figure") <= 4


def test_kinds_of_cues_are_shown_side_by_side(
    tmp_path: Path, fonts: Fonts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = [word for cues in ("both", "name", "face", "none") for word in ("--cues", cues)]
    assert run(monkeypatch, "moderation", "--n", 2, *named, "--out", "seen", "--theme", "dark") == 0
    page = (tmp_path / "seen" / "gallery.html").read_text(encoding="utf-8")
    assert page.count("<img") == 8
    with Image.open(tmp_path / "seen" / "gallery.png") as sheet:
        assert sheet.width >= 4 * COLUMN


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("towns", "--cues", "voice"), "voice"),
        (("towns", "--theme", "sepia"), "sepia"),
        (("towns", "--layout", "postcard"), "postcard"),
        (("towns", "--cues", "name"), "cues"),
        (("towns", "--n", 0), "--n"),
        (("oogiri",), "study of items"),
    ],
)
def test_what_cannot_be_shown_is_said(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[object, ...],
    told: str,
) -> None:
    assert run(monkeypatch, *arguments) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert told in said
    assert "Traceback" not in said
    assert not (here / "runs").exists()


def test_a_study_that_changed_after_its_design_was_drawn_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["conjury", "design", "towns", "--pairs", "20"])
    with pytest.raises(SystemExit):
        main()
    change_study(here / "towns", lambda content: content["attributes"][0]["levels"][0].update(label="Tiny"))
    assert run(monkeypatch, "towns", "--n", 4) == 2
    error = capsys.readouterr().err
    assert "its posts are not those that the study makes now" in error
    assert "`conjury design towns/study.yaml --out FOLDER`" in error
    assert not (here / "runs" / "towns" / "gallery.html").exists()
