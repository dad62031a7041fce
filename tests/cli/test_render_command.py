"""``conjury render``: what it draws and prints, what it refuses, and that it checks and uploads."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path

import fsspec
import pandas as pd
import pytest
from fakes.studies import change_study
from fakes.vignettes import PROFILES, write_towns

from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.vignettes import read_manifest

pytestmark = pytest.mark.long

Told = Callable[..., str]


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    return write_towns(tmp_path / "towns")


@pytest.fixture
def render(ran: Told) -> Told:
    return partial(ran, "render")


@pytest.fixture
def complaint(refused: Told) -> Told:
    return partial(refused, "render", writes=True)


def table(cues: str = "both", root: str = "stimuli", study: str = "towns") -> pd.DataFrame:
    return read_manifest(Path(root), study, cues)


def designed(pairs: int = 0) -> list[int]:
    """Profiles of the design, or of its first pairs."""
    design = RunFolder(Path("runs/towns")).design
    assert design is not None
    return sorted(set((design.first_pairs(pairs) if pairs else design.tasks)["profile_id"]))


def test_the_profiles_of_a_design_are_drawn_and_the_design_is_kept(towns: Path, render: Told) -> None:
    out = render(towns, "--workers 1")
    shown = designed()
    assert table()["profile_id"].tolist() == shown
    assert out.startswith(
        f"Which town to visit?: {len(shown)} profiles, cues both (layout card.yaml, theme light, png)\n"
        f"  already drawn     0\n  to be drawn       {len(shown)}, about 0."
    )
    assert f"All {len(shown)} pictures are drawn: {table()['bytes'].sum() / 1e6:,.1f} MB.\n" in out
    assert out.endswith(f"Next: conjury collect {towns} --stimuli images --judge ...\n")
    assert "  pictures          stimuli/pictures\n" in out
    assert "  table of them     stimuli/towns/both/profiles.parquet\n" in out


def test_first_pairs_then_the_design_then_all(towns: Path, render: Told) -> None:
    assert "already drawn     0\n" in render(towns, "--pairs 5")
    assert render(towns, "--pairs 5").endswith("--stimuli images --pairs 5 --judge ...\n")
    first = sorted(set(table()["profile_id"]))
    assert first == designed(5)
    assert f"already drawn     {len(first)}\n" in render(towns)
    assert f"already drawn     {len(designed())}\n" in render(towns, "--every")
    assert table()["profile_id"].tolist() == list(range(1, PROFILES + 1))
    out = render(towns, "--every")
    assert f"already drawn     {PROFILES}\n" in out
    assert "to be drawn" not in out


def test_a_dry_run_keeps_nothing(towns: Path, render: Told, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    out = render(towns, "--dry-run")
    assert "to be drawn" in out
    assert out.endswith("No pictures were written (--dry-run).\n")
    assert sorted(tmp_path.rglob("*")) == before


def test_look_is_chosen_by_options(towns: Path, render: Told) -> None:
    (towns / "other.yaml").write_text((towns / "card.yaml").read_text().replace("300", "400"))
    render(towns, "--pairs 1 --to webp --theme dark --layout other.yaml --out dark")
    look = table(root="dark")[["media_type", "layout", "theme", "width"]].astype(object)
    assert set(look.itertuples(index=False, name=None)) == {("image/webp", "other.yaml", "dark", 400)}


def test_check_finds_what_is_missing_or_damaged(
    towns: Path, render: Told, here: Callable[..., tuple[int, str, str]]
) -> None:
    render(towns, "--pairs 3")
    checked = render(towns, "--verify")
    assert checked == "stimuli/towns/both/profiles.parquet: 6 pictures, none missing or damaged.\n"
    files = table()["file"]
    Path("stimuli", files[1]).unlink()
    damaged = Path("stimuli", files[4])
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    code, out, err = here("render", towns, "--check")
    assert (code, "--check of `conjury render` is now --verify." in err) == (1, True)
    assert f"  {files[1]} is missing\n" in out
    assert f"  {files[4]} is damaged\n" in out
    assert "6 pictures, 2 of them missing or damaged.\nDelete the damaged files" in out
    damaged.unlink()
    assert "already drawn     4\n" in render(towns, "--pairs 3")
    render(towns, "--verify")


def test_pictures_are_uploaded_and_their_host_is_named(towns: Path, render: Told) -> None:
    files = fsspec.filesystem("memory")
    files.store.clear()
    where = "--pairs 3 --upload memory://bucket/audit --address https://pictures.example.org/audit/"
    out = render(towns, where)
    assert "6 pictures are in memory://bucket/audit, 6 of them new; their addresses are in stimuli/" in out
    assert "list pictures.example.org under collect, media_hosts" in out
    assert table()["url"].str.fullmatch(r"https://pictures\.example\.org/audit/\w\w/\w{64}\.png").all()
    assert "0 of them new" in render(towns, where)
    files.store.clear()


def test_another_job_in_the_same_folder_is_refused(towns: Path, render: Told, complaint: Told) -> None:
    render(towns, "--pairs 2")
    assert complaint(towns, "--pairs 2 --theme dark") == (
        "conjury: stimuli/towns/both: its pictures were drawn differently (theme light there, dark now); "
        "give another folder with --out, or draw as before.\n"
    )
    render(towns, "--pairs 2 --theme dark --out dark")


def test_a_design_whose_posts_have_changed_is_refused(towns: Path, render: Told, complaint: Told) -> None:
    render(towns, "--pairs 2")
    told = "runs/towns/design: its posts differ from those of the current study files"
    change_study(towns, lambda content: content["attributes"][0]["levels"][1].update(label="Medium"))
    assert f"{told} (in Size)" in complaint(towns)
    change_study(towns, lambda content: content["attributes"][0]["levels"][1].update(label="Middling"))
    change_study(towns, lambda content: content["attributes"][-1]["levels"].pop())
    assert told in complaint(towns)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(towns: Path, render: Told, complaint: Told) -> None:
    render(towns, "--pairs 1")
    Path("stimuli/pictures").chmod(0o500)
    try:
        assert "cannot be used: Permission denied" in complaint(towns, "--pairs 9")
    finally:
        Path("stimuli/pictures").chmod(0o700)


def test_a_full_disk_is_told_and_leaves_no_half_picture(towns: Path, render: Told, complaint: Told) -> None:
    render(towns, "--pairs 1")
    before = sorted(Path("stimuli").rglob("*"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, hard))
    try:
        assert "cannot be used: File too large" in complaint(towns, "--pairs 9 --workers 1")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not [path for path in Path("stimuli").rglob("*") if path.is_file() and path not in before]
    render(towns, "--pairs 9")


@pytest.mark.parametrize("how", ["upwards", "absolute", "link"])
def test_a_layout_elsewhere_is_the_user_s_choice_and_not_the_study_s(
    how: str, towns: Path, tmp_path: Path, render: Told, complaint: Told
) -> None:
    (tmp_path / "mine.yaml").write_text((towns / "card.yaml").read_text())
    render(towns, f"--pairs 1 --layout {tmp_path / 'mine.yaml'} --out chosen")
    name = {"upwards": "../mine.yaml", "absolute": str(tmp_path / "mine.yaml"), "link": "linked.yaml"}[how]
    if how == "link":
        (towns / "linked.yaml").symlink_to(tmp_path / "mine.yaml")
    change_study(towns, lambda content: content["vignette"].update(layout=name))
    assert "folder of the study" in complaint(towns, "--pairs 1 --out stated")
    assert not Path("stated").exists()
