"""Drawing a job: stopped, killed or extended, it gives the same files; one process writes at a time."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fakes.vignettes import PROFILES, ended, files, job, profiles, start, wait_until, write_towns
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.vignettes import JobFolder, draw_job, open_job, read_manifest
from conjury.inference.vignettes.jobs import drawing
from conjury.inference.vignettes.jobs.drawing import measure_costs, plan
from conjury.inference.vignettes.jobs.drawing_jobs import Renderer, check_job, record_job, with_faces

BOTH = np.arange(1, PROFILES + 1)


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_towns(tmp_path_factory.mktemp("studies") / "towns")


@pytest.fixture(scope="module")
def renderer(towns: Path) -> Renderer:
    return open_job(job(towns))


@pytest.fixture(scope="module")
def everything(towns: Path) -> pd.DataFrame:
    return profiles(towns)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "CHUNK", 10)


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path / "stimuli", "towns", "both")


@pytest.fixture(scope="module")
def reference(
    renderer: Renderer, everything: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """All pictures and the manifest of one undisturbed run."""
    folder = JobFolder(tmp_path_factory.mktemp("reference"), "towns", "both")
    draw_job(renderer, folder, everything, 1, lambda n: None)
    return files(folder.root)


def draw(renderer: Renderer, folder: JobFolder, chosen: pd.DataFrame, workers: int = 1) -> list[int]:
    progress: list[int] = []
    draw_job(renderer, folder, chosen, workers, progress.append)
    return progress


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.slow
def test_every_profile_has_its_picture_and_its_row_whatever_the_number_of_processes(
    renderer, everything, folder, reference
):
    progress = draw(renderer, folder, everything, workers=2)
    assert files(folder.root) == reference
    assert (len(progress), progress[-1]) == (17, PROFILES)
    assert not folder.parts()
    table = read_manifest(folder.root, "towns", "both")
    assert table["profile_id"].tolist() == BOTH.tolist()
    assert table["sha256"].is_unique
    facts = table.loc[0, ["size", "Size", "cues", "layout", "theme"]].tolist()
    assert facts == ["small", "Small", "both", "card.yaml", "light"]
    record = {"Size": "Large", "Place": "Hills", "Age": "New", "River": "Narrow", "Trains": "Never"}
    with Image.open(folder.root / table["file"].iloc[-1]) as image:
        assert np.array_equal(np.asarray(image), np.asarray(renderer.painter.draw(record).image))
    assert image.size == (table["width"].iloc[-1], table["height"].iloc[-1])
    boxes = json.loads(table["boxes"].iloc[0])
    assert [box["kind"] for box in boxes] == ["text"] * 5
    assert list(boxes[0]) == ["name", "kind", "cue", "x", "y", "width", "height"]
    seconds, size = measure_costs(renderer, everything)
    sizes = [len(content) for name, content in reference.items() if name.endswith(".png")]
    assert seconds > 0
    assert size == pytest.approx(np.mean(sizes), rel=0.1)


@pytest.fixture
def counted(monkeypatch):
    """A function that counts profiles drawn from now on, and interrupts at one of them."""

    def count(stop: int = 0) -> list[int]:
        profiles: list[int] = []

        def picture(renderer: Renderer, root: Path, record: Any, draw: Any = drawing.draw_picture) -> Any:
            profiles.append(record["profile_id"])
            if len(profiles) == stop:
                raise KeyboardInterrupt
            return draw(renderer, root, record)

        monkeypatch.setattr(drawing, "draw_picture", picture)
        return profiles

    return count


@pytest.mark.long
def test_a_job_grows_and_no_picture_is_drawn_again(renderer, everything, folder, reference, counted):
    drawn = counted()
    samples = [everything.sample(n, random_state=n) for n in (1, 25, 70)]
    for chosen in (*samples, everything, everything):
        draw(renderer, folder, chosen)
    assert sorted(drawn) == BOTH.tolist()
    assert files(folder.root) == reference
    done = plan(folder, BOTH)
    assert (done.drawn, len(done.missing), done.chunks) == (PROFILES, 0, [])


@pytest.mark.long
def test_a_stopped_run_is_resumed_by_a_larger_one_and_lost_pictures_are_drawn_again(
    renderer, everything, folder, reference, counted
):
    drawn = counted(stop=34)
    with pytest.raises(KeyboardInterrupt):
        draw(renderer, folder, everything.sample(60, random_state=1))
    assert len(folder.parts()) == 3
    assert plan(folder, BOTH).drawn == 30
    draw(renderer, folder, everything)
    assert len(drawn) == 34 + PROFILES - 30
    assert files(folder.root) == reference
    table = read_manifest(folder.root, "towns", "both")
    (folder.root / table["file"][5]).unlink()
    (folder.root / table["file"][9]).write_bytes(b"")
    assert plan(folder, BOTH).missing.tolist() == [6, 10]
    draw(renderer, folder, everything)
    assert files(folder.root) == reference


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_or_interrupted_leaves_no_process_and_is_resumed(
    renderer, towns, everything, folder, reference, how
):
    process = start(towns, folder.root, "--workers", 2, chunk=2, last=3)
    wait_until(lambda: len(folder.parts()) == 3, process)
    workers = children(process.pid)
    process.send_signal(how)
    code, out, error = ended(process)
    if how == signal.SIGINT:
        assert code == 130
        assert "Stopped; finished pictures are kept, and the same command resumes from here." in out
        assert error == "conjury: interrupted; no file was left half written.\n"
        assert not list(folder.root.rglob("*.tmp"))
    else:
        assert code == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while any(map(is_running, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert 0 < plan(folder, BOTH).drawn < PROFILES
    draw(renderer, folder, everything)
    assert files(folder.root) == reference


@pytest.mark.long
def test_a_second_process_is_refused_while_one_writes(renderer, towns, everything, folder):
    with folder.writing():
        code, _, error = ended(start(towns, folder.root, "--workers", 1))
    assert code == 2
    assert f"towns/both: process {os.getpid()} on " in error
    assert "draws or uploads pictures here; wait until it has ended, or give another" in error
    assert draw(renderer, folder, everything.head(3)) == [3]


@pytest.mark.slow
def test_failures_of_processes_are_reported(renderer, everything, tmp_path, folder):
    def kill(n: int) -> None:
        for process in multiprocessing.active_children():
            process.kill()

    with pytest.raises(InputError, match=r"was killed, perhaps for lack of memory.*--workers"):
        draw_job(renderer, folder, everything, 2, kill)
    towns = write_towns(tmp_path / "towns")
    another, elsewhere = open_job(job(towns)), JobFolder(tmp_path / "elsewhere", "towns", "both")
    assert another.facts["layout"]["name"] == "card.yaml"
    (towns / "card.yaml").unlink()
    with pytest.raises(InputError, match=r"There is no layout 'card\.yaml'"):
        draw(another, elsewhere, everything, workers=2)


def test_missing_profiles_are_shared_out_in_chunks(folder):
    nothing_drawn = plan(folder, BOTH[:25])
    assert [chunk.tolist() for chunk in nothing_drawn.chunks] == [
        list(range(1, 11)),
        list(range(11, 21)),
        list(range(21, 26)),
    ]
    assert nothing_drawn.drawn == 0


def test_a_picture_that_no_judge_accepts_is_reported(renderer, everything, folder, monkeypatch):
    monkeypatch.setattr(drawing, "LARGEST", 100)
    with pytest.raises(InputError, match=r"profile 1 has .* bytes, and judges accept at most 100"):
        draw(renderer, folder, everything.head(1))


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"kind": "webp"}, "format png there, webp now"),
        ({"layout": "table"}, "layout card.yaml there, table now"),
        ({"theme": "dark", "seed": 4}, "theme light there, dark now; seed 3 there, 4 now"),
    ],
)
def test_another_job_in_the_same_folder_is_refused(renderer, everything, folder, change, difference):
    draw(renderer, folder, everything.head(1))
    assert check_job(folder, renderer.facts)
    with pytest.raises(InputError) as refused:
        draw(open_job(replace(renderer.job, **change)), folder, everything.head(1))
    assert f"({difference}); give another folder with --out, or draw as before." in str(refused.value)


@pytest.mark.long
def test_a_changed_layout_or_study_is_another_job(tmp_path, folder):
    towns = write_towns(tmp_path / "towns")
    folder.path.mkdir(parents=True)
    record_job(folder, open_job(job(towns)).facts)
    write_towns(tmp_path / "towns", width=310)
    with pytest.raises(InputError, match=r"\(other layout\)"):
        check_job(folder, open_job(job(towns)).facts)
    write_towns(tmp_path / "towns")
    text = (towns / "study.yaml").read_text()
    (towns / "study.yaml").write_text(text.replace("Middling", "Medium"))
    with pytest.raises(InputError, match=r"\(other texts, people or levels of the study\)"):
        check_job(folder, open_job(job(towns)).facts)
    with pytest.raises(InputError, match=r"--faces .*: towns has no content with faces"):
        with_faces(job(towns).study, tmp_path)
