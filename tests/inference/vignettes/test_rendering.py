"""Drawing a job: resumed, shared, killed or extended, it gives the same; what is wrong is told."""

from __future__ import annotations

import json
import multiprocessing
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fakes.vignettes import PROFILES, ended, files, job, profiles, start, wait_until, write_towns
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.vignettes import planning, rendering, workers
from conjury.inference.vignettes.claims import Claims
from conjury.inference.vignettes.jobs import Desk, Job, check_job, note_job, open_desk, with_faces
from conjury.inference.vignettes.manifest import JobFolder, gather, read_manifest
from conjury.inference.vignettes.planning import expect, plan
from conjury.inference.vignettes.workers import draw_all

CLAIM = """
import sys, time
from pathlib import Path
from conjury.inference.vignettes.claims import Claims
with Claims.opened(Path(sys.argv[1])) as claims:
    assert claims.take(sys.argv[2])
    print("taken", flush=True)
    time.sleep(float(sys.argv[3]))
"""


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_towns(tmp_path_factory.mktemp("studies") / "towns")


@pytest.fixture(scope="module")
def desk(towns: Path) -> Desk:
    return open_desk(job(towns))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "CHUNK", 10)


@pytest.fixture(scope="module")
def reference(desk: Desk, towns: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """All pictures and the manifest of one run that nothing disturbs."""
    return files(draw(desk, tmp_path_factory.mktemp("reference"), profiles(towns)).root)


def draw(desk: Desk, root: Path, chosen: pd.DataFrame, watched: list[int] | None = None) -> JobFolder:
    folder = JobFolder(root, "towns", desk.job.cues)
    with Claims.opened(folder.path) as claims:
        planned = plan(folder, chosen["profile_id"].to_numpy())
        draw_all(desk, folder, claims, chosen, planned, 1, (watched if watched is not None else []).append)
        with claims.whole():
            gather(folder)
    return folder


def children(pid: int) -> list[int]:
    """Processes that a process has started, where the system tells them."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_every_profile_has_its_picture_and_its_row(desk: Desk, towns: Path, tmp_path: Path) -> None:
    watched: list[int] = []
    folder = draw(desk, tmp_path, profiles(towns), watched)
    table = read_manifest(tmp_path, "towns", "both")
    assert table["profile_id"].tolist() == list(range(1, PROFILES + 1))
    assert table["sha256"].is_unique
    assert table.loc[0, ["size", "Size", "cues", "layout", "theme"]].tolist() == [
        "small",
        "Small",
        "both",
        "card.yaml",
        "light",
    ]
    record = dict(
        zip(
            ("Size", "Place", "Age", "River", "Trains"),
            ("Large", "Hills", "New", "Narrow", "Never"),
            strict=True,
        )
    )
    drawn = desk.painter.draw(record).image
    with Image.open(tmp_path / table["file"].iloc[-1]) as image:
        assert np.array_equal(np.asarray(image), np.asarray(drawn))
    assert image.size == (table["width"].iloc[-1], table["height"].iloc[-1])
    boxes = json.loads(table["boxes"].iloc[0])
    assert [box["kind"] for box in boxes] == ["text"] * 5
    assert watched == sorted(watched)
    assert watched[-1] == PROFILES
    assert not folder.parts()


def test_a_job_that_is_done_draws_nothing(
    desk: Desk, towns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = draw(desk, tmp_path, profiles(towns))
    before = files(tmp_path)
    monkeypatch.setattr(rendering, "draw_picture", None)
    draw(desk, tmp_path, profiles(towns))
    assert files(tmp_path) == before
    planned = plan(folder, np.arange(1, PROFILES + 1))
    assert (planned.there, planned.left, planned.chunks) == (PROFILES, 0, ())


def test_one_picture_can_be_drawn(
    desk: Desk, towns: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    draw(desk, tmp_path, profiles(towns).iloc[[40]])
    made = files(tmp_path)
    table = read_manifest(tmp_path, "towns", "both")
    assert table["profile_id"].tolist() == [41]
    assert made[table["file"][0]] == reference[table["file"][0]]
    assert len(made) == 2


def test_a_job_grows_and_what_is_drawn_is_not_drawn_again(
    desk: Desk, towns: Path, tmp_path: Path, reference: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def counted(desk: Desk, root: Path, record: Any, draw: Any = rendering.draw_picture) -> Any:
        drawn.append(record["profile_id"])
        return draw(desk, root, record)

    monkeypatch.setattr(rendering, "draw_picture", counted)
    everything = profiles(towns)
    for chosen in (everything.sample(25, random_state=1), everything.sample(70, random_state=2), everything):
        draw(desk, tmp_path, chosen)
    assert sorted(drawn) == list(range(1, PROFILES + 1))
    assert files(tmp_path) == reference


def test_a_run_that_broke_off_is_taken_up_by_a_larger_one(
    desk: Desk, towns: Path, tmp_path: Path, reference: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = profiles(towns)
    drawn: list[int] = []

    def tired(desk: Desk, root: Path, record: Any, draw: Any = rendering.draw_picture) -> Any:
        drawn.append(record["profile_id"])
        if len(drawn) == 34:
            raise KeyboardInterrupt
        return draw(desk, root, record)

    monkeypatch.setattr(rendering, "draw_picture", tired)
    with pytest.raises(KeyboardInterrupt):
        draw(desk, tmp_path, everything.sample(60, random_state=1))
    folder = JobFolder(tmp_path, "towns", "both")
    assert len(folder.parts()) == 3
    assert plan(folder, everything["profile_id"].to_numpy()).there == 30
    draw(desk, tmp_path, everything)
    assert len(drawn) == 34 + PROFILES - 30
    assert files(tmp_path) == reference


def test_pictures_that_were_deleted_are_drawn_again(
    desk: Desk, towns: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    folder = draw(desk, tmp_path, profiles(towns))
    table = read_manifest(tmp_path, "towns", "both")
    (tmp_path / table["file"][5]).unlink()
    (tmp_path / table["file"][9]).write_bytes(b"")
    planned = plan(folder, table["profile_id"].to_numpy())
    assert [chunk.profiles.tolist() for chunk in planned.chunks] == [[6, 10]]
    draw(desk, tmp_path, profiles(towns))
    assert files(tmp_path) == reference


def test_parts_whose_pictures_are_gone_are_told(desk: Desk, towns: Path, tmp_path: Path) -> None:
    folder = JobFolder(tmp_path, "towns", "both")
    chosen = profiles(towns).head(10)
    with Claims.opened(folder.path) as claims:
        planned = plan(folder, chosen["profile_id"].to_numpy())
        draw_all(desk, folder, claims, chosen, planned, 1, lambda n: None)
    next(path for path in tmp_path.rglob("*.png")).unlink()
    planned = plan(folder, chosen["profile_id"].to_numpy())
    assert (planned.there, list(planned.spoiled)) == (0, folder.parts())


def test_a_killed_run_leaves_no_process_and_goes_on_where_it_stopped(
    desk: Desk, towns: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    root = tmp_path / "stimuli"
    folder = JobFolder(root, "towns", "both")
    process = start(towns, root, "--workers", 2, chunk=5)
    wait_until(lambda: len(folder.parts()) >= 3, process)
    workers = children(process.pid)
    process.kill()
    assert process.wait(30) == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while any(map(is_running, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert 0 < plan(folder, np.arange(1, PROFILES + 1)).there < PROFILES
    draw(desk, root, profiles(towns))
    assert files(root) == reference
    assert not folder.parts()


def test_two_runs_at_once_share_the_work(towns: Path, tmp_path: Path, reference: dict[str, bytes]) -> None:
    root = tmp_path / "stimuli"
    folder = JobFolder(root, "towns", "both")
    first = start(towns, root, "--workers", 1, chunk=4, pause=0.03)
    wait_until(lambda: bool(folder.parts()), first)
    second = start(towns, root, "--workers", 1, chunk=4, pause=0.03)
    for process in (first, second):
        code, out, error = ended(process)
        assert (code, error) == (0, "")
        assert f"All {PROFILES} pictures are drawn" in out
    assert files(root) == reference


@pytest.mark.long
def test_ctrl_c_keeps_what_is_finished(
    desk: Desk, towns: Path, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    root = tmp_path / "stimuli"
    folder = JobFolder(root, "towns", "both")
    process = start(towns, root, "--workers", 1, chunk=5, pause=0.02)
    wait_until(lambda: len(folder.parts()) >= 2, process)
    process.send_signal(signal.SIGINT)
    code, out, error = ended(process)
    assert code == 130
    assert "Stopped; finished pictures are kept, and the same command goes on from here." in out
    assert error == "conjury: interrupted; no file was left half written.\n"
    assert len(folder.parts()) >= 2
    assert not list(root.rglob("*.tmp"))
    draw(desk, root, profiles(towns))
    assert files(root) == reference


@pytest.mark.long
def test_a_chunk_is_waited_for_and_taken_over_when_its_process_ends(
    desk: Desk, towns: Path, tmp_path: Path
) -> None:
    folder = JobFolder(tmp_path, "towns", "both")
    chosen = profiles(towns).head(30)
    planned = plan(folder, chosen["profile_id"].to_numpy())
    other = subprocess.Popen(
        [sys.executable, "-c", CLAIM, str(folder.path), planned.chunks[0].name, "600"], stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"taken\n"
    told: list[int] = []

    def watch(n: int) -> None:
        told.append(n)
        if len(folder.parts()) == 2:
            other.kill()

    with Claims.opened(folder.path) as claims:
        draw_all(desk, folder, claims, chosen, planned, 1, watch)
    assert other.wait(30) == -signal.SIGKILL
    assert len(folder.parts()) == 3
    assert told[-1] == 30


@pytest.mark.long
def test_a_process_that_is_killed_is_told(desk: Desk, towns: Path, tmp_path: Path) -> None:
    folder = JobFolder(tmp_path, "towns", "both")
    chosen = profiles(towns)

    def kill(n: int) -> None:
        for process in multiprocessing.active_children():
            process.kill()

    with (
        Claims.opened(folder.path) as claims,
        pytest.raises(InputError, match=r"was ended \(exit code -9\).*--workers"),
    ):
        draw_all(desk, folder, claims, chosen, plan(folder, np.arange(1, 41)), 2, kill)


def test_errors_of_other_processes_are_told_as_they_are(desk: Desk, towns: Path, tmp_path: Path) -> None:
    folder = JobFolder(tmp_path, "towns", "both")
    folder.path.mkdir(parents=True)
    planned = plan(folder, np.arange(1, 41))

    def last_word(one: Job) -> object:
        here, there = multiprocessing.Pipe(duplex=False)
        workers._work(there, one, folder, profiles(towns), planned)
        there.close()
        said: list[object] = []
        with suppress(EOFError):
            while True:
                said.append(here.recv())
        return said[-1]

    assert "There is no layout 'gone.yaml'" in str(last_word(replace(desk.job, layout="gone.yaml")))
    (tmp_path / "pictures").write_text("in the way")
    said = str(last_word(desk.job))
    assert said.startswith(str(tmp_path / "pictures"))
    assert said.endswith(" cannot be used: Not a directory.")
    (tmp_path / "pictures").unlink()
    assert last_word(desk.job) == (3, 10)


def test_pictures_that_judges_do_not_take_are_refused(
    desk: Desk, towns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "LARGEST", 100)
    with pytest.raises(InputError, match=r"profile 1 has .* bytes, and judges take 100 at most"):
        draw(desk, tmp_path, profiles(towns).head(1))


def test_what_is_expected_is_what_is_drawn(desk: Desk, towns: Path, tmp_path: Path) -> None:
    expected = expect(desk, profiles(towns))
    assert expected.seconds > 0
    draw(desk, tmp_path, profiles(towns))
    assert expected.size == pytest.approx(read_manifest(tmp_path, "towns", "both")["bytes"].mean(), rel=0.1)
    assert expect(desk, profiles(towns).head(1)).size > 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"theme": "dark"}, "theme light there, dark now"),
        ({"kind": "webp"}, "format png there, webp now"),
        ({"seed": 4}, "seed 3 there, 4 now"),
        ({"layout": "table"}, "layout card.yaml there, table now"),
        ({"theme": "dark", "seed": 4}, "theme light there, dark now; seed 3 there, 4 now"),
    ],
)
def test_another_job_in_the_same_folder_is_refused(
    desk: Desk, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    folder = JobFolder(tmp_path, "towns", "both")
    folder.path.mkdir(parents=True)
    facts = desk.facts()
    assert not check_job(folder, facts)
    note_job(folder, facts)
    assert check_job(folder, facts)
    other = open_desk(replace(desk.job, **change))
    with pytest.raises(InputError) as refused:
        check_job(folder, other.facts())
    assert f"({said}); give another folder with --out, or draw as before." in str(refused.value)


def test_a_changed_layout_or_study_is_another_job(tmp_path: Path) -> None:
    towns = write_towns(tmp_path / "towns")
    folder = JobFolder(tmp_path, "towns", "both")
    folder.path.mkdir(parents=True)
    note_job(folder, open_desk(job(towns)).facts())
    write_towns(tmp_path / "towns", width=310)
    with pytest.raises(InputError, match=r"\(other layout\)"):
        check_job(folder, open_desk(job(towns)).facts())
    write_towns(tmp_path / "towns")
    text = (towns / "study.yaml").read_text()
    (towns / "study.yaml").write_text(text.replace("Middling", "Medium"))
    with pytest.raises(InputError, match=r"\(other texts, people or levels of the study\)"):
        check_job(folder, open_desk(job(towns)).facts())
    (towns / "study.yaml").write_text(text)
    assert check_job(folder, open_desk(job(towns)).facts())


def test_faces_are_refused_where_there_are_none_to_show(towns: Path, tmp_path: Path) -> None:
    study = job(towns).study
    with pytest.raises(InputError, match=r"--faces .*: towns has no content with faces"):
        with_faces(study, tmp_path)


def test_jobs_and_plans_can_be_sent_to_other_processes(towns: Path, tmp_path: Path) -> None:
    import pickle

    one = job(towns)
    sent: Job = pickle.loads(pickle.dumps(one))
    assert sent.study.folder == one.study.folder
    assert sent == one
