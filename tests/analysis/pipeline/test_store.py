"""The results folder: whole or as it was, readable by others, described by checksum."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.pipeline import results_folder as store
from conjury.analysis.pipeline.manifest import describe_file, describe_run
from conjury.analysis.pipeline.results_folder import ResultsFolder
from conjury.analysis.r import RStatus
from conjury.inference.errors import InputError

RUN = {"format": 2, "conjury": "1.0", "run": 1}
AGAIN = {"format": 2, "conjury": "1.0", "run": 2}
TABLE = pd.DataFrame({"level": pd.Categorical(["a", "b"], categories=["b", "a"]), "estimate": [0.1, 0.2]})
ENTERED = "the block was entered"
KINDS = ("csv", "parquet")


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def tables(*named: str) -> set[str]:
    """Files of tables, and the manifest."""
    return {"manifest.json", *(f"tables/{name}.{kind}" for name in named for kind in KINDS)}


def mine(folder: Path, *files: str) -> set[str]:
    """Write files that are not of the results."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("mine", encoding="utf-8")
    return set(files)


def replace(folder: ResultsFolder, *named: str, raises: type[BaseException] | None = None) -> None:
    with folder.replaced() as draft:
        draft.write(dict.fromkeys(named or ["mm"], TABLE), AGAIN, {"": TABLE} if raises else {})
        if raises is not None:
            raise raises


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    """Results of one table."""
    made = ResultsFolder(tmp_path)
    made.write({"amce": TABLE}, RUN)
    return made


def test_tables_data_and_manifest_come_back_as_written(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "new" / "results")
    assert folder.manifest == {}
    folder.write({"amce": TABLE}, {"study": "größer"}, {"": TABLE, "second": TABLE.head(1)})
    assert folder.manifest == {"study": "größer", "files": sorted(names(folder.path))}
    pd.testing.assert_frame_equal(folder.choices(), TABLE, check_dtype=False)
    data = {"data/choices.parquet", "data/choices.second.parquet"}
    assert names(folder.path) == tables("amce") | data


def test_replacing_leaves_nothing_of_earlier_results_but_keeps_files_of_others(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE, "mm": TABLE}, RUN, {"": TABLE})
    folder.write({"engines": TABLE}, folder.manifest)
    assert folder.manifest["files"] == sorted(names(tmp_path))
    kept = mine(tmp_path, "notes.txt", "data/raw.csv", "figures/mine.txt", "tables/own.csv")
    replace(folder, "amce")
    assert names(tmp_path) == tables("amce") | kept
    assert folder.manifest["run"] == 2


@pytest.mark.parametrize("problem", [RuntimeError, KeyboardInterrupt])
def test_a_draft_that_fails_leaves_earlier_results_as_they_were_and_no_new_folder(
    folder: ResultsFolder, problem: type[BaseException]
) -> None:
    for place in (folder, ResultsFolder(folder.path / "new")):
        with pytest.raises(problem):
            replace(place, raises=problem)
    assert names(folder.path) == tables("amce")
    assert not (folder.path / "new").exists()
    assert folder.manifest["run"] == 1


def test_a_move_that_fails_puts_back_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN, {"": TABLE})
    before, rename = names(tmp_path), Path.rename

    def breaking(self: Path, target: Path) -> Path:
        if self.name == "manifest.json" and self.parent.name.startswith(".draft-"):
            raise OSError("disk on fire")
        return rename(self, target)

    def change() -> None:
        with folder.replaced() as draft:
            draft.write({"mm": TABLE}, AGAIN, {"": TABLE})
            monkeypatch.setattr(Path, "rename", breaking)

    with pytest.raises(OSError, match="on fire"):
        change()
    assert names(tmp_path) == before
    assert folder.manifest["run"] == 1


def test_every_file_can_be_read_by_whoever_may_read_new_files(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with ResultsFolder(tmp_path).replaced() as draft:
            draft.write({"amce": TABLE}, {}, {"": TABLE})
    finally:
        os.umask(before)
    for path in tmp_path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644), path


def test_files_and_damaged_manifests_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no choices; run `conjury fit` first"):
        ResultsFolder(tmp_path).choices()
    (tmp_path / "manifest.json").write_text('{"study": ', encoding="utf-8")
    with pytest.raises(InputError, match=r"manifest\.json:1: the file is not valid JSON"):
        _ = ResultsFolder(tmp_path).manifest
    with pytest.raises(InputError, match="is a file; give a folder"):
        ResultsFolder(tmp_path / "manifest.json")


@pytest.mark.parametrize("file", ["data/raw.csv", "figures/mine.txt", "tables/old/a.txt", "manifest.json"])
def test_a_folder_with_parts_of_others_is_refused_and_left_alone(tmp_path: Path, file: str) -> None:
    mine(tmp_path, file)
    (tmp_path / file).write_text('{"name": "an app", "files": []}', encoding="utf-8")
    refused = pytest.raises(InputError, match="already exists and was not written by conjury")
    with refused, ResultsFolder(tmp_path).replaced():
        pytest.fail(ENTERED)
    assert names(tmp_path) == {file}
    (tmp_path / "empty" / "data").mkdir(parents=True)  # no obstacle
    replace(ResultsFolder(tmp_path / "empty"), "amce")
    assert names(tmp_path / "empty") == tables("amce")


def test_a_foreign_file_is_never_written_over(folder: ResultsFolder) -> None:
    mine(folder.path, "tables/mm.csv")
    before = names(folder.path)
    for write in (
        lambda: folder.write({"mm": TABLE}, RUN),
        lambda: replace(folder, "mm"),
        lambda: extend(folder, 1, "mm"),
    ):
        with pytest.raises(InputError, match=r"mm\.csv was not written by conjury"):
            write()
        assert (folder.path / "tables" / "mm.csv").read_text(encoding="utf-8") == "mine"
        assert (names(folder.path), folder.manifest["run"]) == (before, 1)


def test_a_file_that_is_read_is_not_replaced(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN, {"": TABLE})
    mine(tmp_path, "data/raw.csv")
    with folder.replaced([tmp_path / "data" / "raw.csv"]) as draft:
        draft.write({"amce": TABLE}, AGAIN, {"": TABLE})
    own = tmp_path / "tables" / ".." / "data" / "choices.parquet"
    with pytest.raises(InputError, match="would be replaced; choose another folder"), folder.replaced([own]):
        pytest.fail(ENTERED)


@pytest.mark.parametrize("outside", ["../keep.txt", "tables/../../keep.txt", "/keep.txt", "keep.txt", ""])
def test_a_manifest_cannot_name_files_outside_of_the_parts(tmp_path: Path, outside: str) -> None:
    results = tmp_path / "results"
    kept = mine(tmp_path, "keep.txt", "results/keep.txt")
    named = f"{tmp_path}/keep.txt" if outside.startswith("/") else outside
    (results / "manifest.json").write_text(json.dumps({**RUN, "files": [named]}), encoding="utf-8")
    with pytest.raises(InputError, match="not written by conjury"):
        replace(ResultsFolder(results), "amce")
    assert kept <= names(tmp_path)


def test_files_and_commands_are_described_so_that_they_can_be_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "choices.csv"
    path.write_bytes(b"pair_id\n" * 300_000)
    found = describe_file(path, 3, "second", 2)
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    described = (found["file"], found["rows"], found["rows_used"], found["variant"])
    assert described == ("choices.csv", 3, 2, "second")
    run = describe_run(["conjury", "fit", "moderation", "--data", "my choices.csv"])
    assert run["command"] == "conjury fit moderation --data 'my choices.csv'"
    assert {"numpy", "pandas", "scipy"} <= set(run["packages"])
    assert run["created"].endswith("+00:00")
    assert json.loads(json.dumps(run)) == run
    status = RStatus("3.6", r="4.2.2", packages={"survey": "4.1", "cregg": None})
    monkeypatch.setattr("conjury.analysis.r.available", lambda: status)
    assert describe_run(["conjury"], ["native", "survey"])["r"] == {"R": "4.2.2", "survey": "4.1"}
    assert describe_run(["conjury"], ["native", "statsmodels"])["r"] is None


# ---- parts that are added ----


def extend(folder: ResultsFolder, run: int, *named: str, raises: type[BaseException] | None = None) -> None:
    entries = [{"name": f"checked_{run}", "kind": "check", "part": "checked"}]
    with folder.extended("checked") as draft:
        added = {"parts": {"checked": {"run": run}}, "results": entries}
        draft.write(dict.fromkeys(named, TABLE), {**RUN, **folder.manifest, **added})
        (draft.path / "figures").mkdir()
        (draft.path / "figures" / f"{run}.png").write_bytes(b"x")
        if raises is not None:
            raise raises


def add(folder: ResultsFolder, part: str, name: str, manifest: dict[str, object]) -> None:
    with folder.extended(part) as draft:
        draft.write({name: TABLE}, manifest | {"parts": {part: {"created": part}}})


def test_a_part_joins_the_results_and_takes_the_place_of_its_earlier_run_alone(folder: ResultsFolder) -> None:
    extend(folder, 1, "balance", "ties")
    extend(folder, 2, "balance")
    kept = tables("amce", "balance") | {"figures/2.png"}
    assert names(folder.path) == set(folder.manifest["files"]) == kept
    assert folder.manifest["parts"]["checked"]["run"] == 2
    assert folder.manifest["results"] == [{"name": "checked_2", "kind": "check", "part": "checked"}]
    assert folder.manifest["run"] == 1
    before = {name: (folder.path / name).read_bytes() for name in kept}
    with pytest.raises(KeyboardInterrupt):
        extend(folder, 3, "balance", raises=KeyboardInterrupt)
    assert {name: (folder.path / name).read_bytes() for name in names(folder.path)} == before
    replace(folder)
    assert names(folder.path) == tables("mm")


def test_a_part_alone_makes_a_folder_of_results_and_two_may_begin_it(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "new")
    for part in ("agreement", "alt_test"):
        add(folder, part, part, {**RUN, "created": part, "data": [{"name": "a"}]})
    assert set(folder.manifest["parts"]) == {"agreement", "alt_test"}
    assert set(folder.manifest["files"]) == names(tmp_path / "new")


def test_parts_that_are_added_at_the_same_time_are_both_kept(folder: ResultsFolder) -> None:
    read = folder.manifest
    for part in ("agreement", "diagnosed"):
        add(folder, part, part, read)
    assert set(folder.manifest["parts"]) == {"agreement", "diagnosed"}
    assert names(folder.path) == set(folder.manifest["files"])


def test_results_that_were_replaced_meanwhile_or_are_of_another_format_are_not_added_to(
    tmp_path: Path,
) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, {**RUN, "created": "1"})
    read = folder.manifest
    with folder.replaced() as draft:
        draft.write({"amce": TABLE}, {**RUN, "created": "2"})
    with pytest.raises(InputError, match="were replaced while this was computed; run the same command again"):
        add(folder, "agreement", "alpha", read)
    assert folder.manifest["created"] == "2"
    assert "tables/alpha.csv" not in names(tmp_path)
    folder.write({"amce": TABLE}, {"conjury": "0.1", "analyses": []})
    with pytest.raises(InputError, match="run `conjury fit` again"), folder.extended("diagnosed"):
        pytest.fail(ENTERED)


# ---- several processes, and some that are killed ----


WRITER = """
import sys, time
from pathlib import Path
import pandas as pd
from conjury.analysis.pipeline.results_folder import ResultsFolder
folder = ResultsFolder(sys.argv[1])
with folder.replaced() as draft:
    draft.write({"amce": pd.DataFrame({"a": [3]})}, {"format": 2, "conjury": "1.0", "run": 3})
    print("writing", flush=True)
    time.sleep(60)
"""


def start_writer(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.long
def test_a_second_process_is_refused_in_words_and_a_killed_one_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.0)
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, {**RUN, "created": "2026-01-02T03:04:05+00:00", "command": "conjury fit a"})
    before = names(tmp_path)
    process = start_writer(tmp_path)
    try:
        for enter in (folder.replaced, lambda: folder.extended("agreement")):
            with pytest.raises(InputError) as refused, enter():
                pass
            told = str(refused.value)
            assert told.startswith(f"{tmp_path}: process {process.pid} on ")
            assert (
                "still contains those of 2026-01-02T03:04:05+00:00 (`conjury fit a`); wait until it" in told
            )
        assert folder.manifest["run"] == 1
    finally:
        stop(process)
    assert names(tmp_path) > before
    replace(folder)
    assert names(tmp_path) == tables("mm")


@pytest.mark.long
def test_a_part_that_was_computed_waits_for_another_writer(tmp_path: Path) -> None:
    process = start_writer(tmp_path)
    threading.Timer(0.5, process.kill).start()
    add(ResultsFolder(tmp_path), "agreement", "alpha", RUN)
    stop(process)
    assert "tables/alpha.csv" in names(tmp_path)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("moves", range(1, 8))
@pytest.mark.parametrize("part", ["", "agreement"])
def test_a_process_that_is_killed_while_results_change_place_leaves_whole_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int, part: str
) -> None:
    """Nobody cleans up after a kill; before the first move the earlier results are whole anyway."""
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE, "mm": TABLE}, RUN)
    if part:
        with folder.extended(part) as draft:
            draft.write({"alpha": TABLE}, RUN | {"parts": {part: {"n": 1}}})
    rename, left = Path.rename, iter([True] * moves)

    def killed(self: Path, target: Path) -> Path:
        if next(left, False):
            return rename(self, target)
        raise Killed

    def change() -> None:
        with folder.extended(part) if part else folder.replaced() as draft:
            record = {"parts": {part: {"n": 2}}} if part else {}
            draft.write({"alpha": TABLE.head(1), "amce" if not part else "kappa": TABLE}, AGAIN | record)
            monkeypatch.setattr(Path, "rename", killed)
            monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
            monkeypatch.setattr("conjury.analysis.pipeline.results_folder._put_back", lambda done: None)
            monkeypatch.setattr(Path, "unlink", lambda self, **_: None)

    with pytest.raises(Killed):
        change()
    monkeypatch.undo()
    manifest = ResultsFolder(tmp_path).manifest
    if part:
        assert manifest["run"] == 1
        assert manifest["parts"][part]["n"] == 2
    else:
        assert manifest["run"] == 2
    ResultsFolder(tmp_path)._complete()
    assert names(tmp_path) - {".lock"} == set(manifest["files"])
    assert len(pd.read_parquet(tmp_path / "tables" / "alpha.parquet")) == 1
