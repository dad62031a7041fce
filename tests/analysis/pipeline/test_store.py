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
from conjury.analysis.pipeline.results_folder import ResultsFolder, describe_file, describe_run
from conjury.analysis.r import RStatus
from conjury.inference.errors import InputError

RUN = {"format": 2, "conjury": "1.0", "run": 1}
AGAIN = {"format": 2, "conjury": "1.0", "run": 2}
TABLE = pd.DataFrame({"level": pd.Categorical(["a", "b"], categories=["b", "a"]), "estimate": [0.1, 0.2]})


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_tables_data_and_manifest_come_back_as_written(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "new" / "results")
    folder.write({"amce": TABLE}, {"study": "größer"}, {"": TABLE, "second": TABLE.head(1)})
    assert folder.manifest == {"study": "größer", "files": sorted(names(folder.path))}
    pd.testing.assert_frame_equal(folder.choices(), TABLE, check_dtype=False)
    assert names(folder.path) == {
        "manifest.json",
        "tables/amce.csv",
        "tables/amce.parquet",
        "data/choices.parquet",
        "data/choices.second.parquet",
    }


def test_replacing_leaves_nothing_of_earlier_results_but_keeps_files_of_others(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE, "published": TABLE}, RUN)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with folder.replaced() as draft:
        draft.write({"amce": TABLE}, AGAIN)
    assert names(tmp_path) == {"manifest.json", "notes.txt", "tables/amce.csv", "tables/amce.parquet"}
    assert folder.manifest["run"] == 2


def replace_and_break(folder: ResultsFolder, problem: type[BaseException]) -> None:
    with folder.replaced() as draft:
        draft.write({"mm": TABLE}, AGAIN, {"": TABLE})
        raise problem


@pytest.mark.parametrize("problem", [RuntimeError, KeyboardInterrupt])
def test_a_draft_that_fails_leaves_earlier_results_as_they_were(
    tmp_path: Path, problem: type[BaseException]
) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN)
    before = names(tmp_path)
    with pytest.raises(problem):
        replace_and_break(folder, problem)
    assert names(tmp_path) == before
    assert folder.manifest["run"] == 1


def test_a_draft_that_fails_leaves_no_new_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        replace_and_break(ResultsFolder(tmp_path / "results"), RuntimeError)
    assert list(tmp_path.iterdir()) == []


def test_a_move_that_fails_puts_back_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN, {"": TABLE})
    before = names(tmp_path)
    rename = Path.rename

    def breaking(self: Path, target: Path) -> Path:
        if self.name == "manifest.json" and self.parent.name.startswith(".draft-"):
            raise OSError("disk on fire")
        return rename(self, target)

    def replace() -> None:
        with folder.replaced() as draft:
            draft.write({"mm": TABLE}, AGAIN, {"": TABLE})
            monkeypatch.setattr(Path, "rename", breaking)

    with pytest.raises(OSError, match="on fire"):
        replace()
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
        expected = 0o755 if path.is_dir() else 0o644
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_a_file_is_no_results_folder(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="is a file; give a folder"):
        ResultsFolder(tmp_path / "results")


def test_a_damaged_manifest_is_refused_by_name(tmp_path: Path) -> None:
    assert ResultsFolder(tmp_path).manifest == {}
    (tmp_path / "manifest.json").write_text('{"study": ', encoding="utf-8")
    with pytest.raises(InputError, match=r"manifest\.json is not readable as JSON"):
        _ = ResultsFolder(tmp_path).manifest


def test_choices_of_an_empty_folder_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no choices; run `conjury fit` first"):
        ResultsFolder(tmp_path).choices()


@pytest.mark.parametrize("file", ["data/raw.csv", "figures/mine.txt", "tables/old/a.txt", "manifest.json"])
def test_a_folder_with_parts_of_others_is_refused_and_left_alone(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text('{"name": "an app", "files": []}', encoding="utf-8")
    with (
        pytest.raises(InputError, match="is there already and no manifest"),
        ResultsFolder(tmp_path).replaced(),
    ):
        pytest.fail("the block was entered")
    assert names(tmp_path) == {file}


def test_empty_parts_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with ResultsFolder(tmp_path).replaced() as draft:
        draft.write({"amce": TABLE}, RUN)
    assert names(tmp_path) == {"manifest.json", "tables/amce.csv", "tables/amce.parquet"}


def test_foreign_files_beside_ours_stay_when_results_are_replaced(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE, "mm": TABLE}, RUN, {"": TABLE})
    mine = {"data/raw.csv", "figures/mine.txt", "tables/own.csv"}
    for name in mine:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine", encoding="utf-8")
    with folder.replaced() as draft:
        draft.write({"amce": TABLE}, AGAIN)
    assert names(tmp_path) == {"manifest.json", "tables/amce.csv", "tables/amce.parquet", *mine}


def test_a_foreign_file_is_never_written_over(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN)
    (tmp_path / "tables" / "mm.csv").write_text("mine", encoding="utf-8")
    before = names(tmp_path)
    with pytest.raises(InputError, match=r"mm\.csv was not written by conjury"):
        folder.write({"mm": TABLE}, RUN)
    with pytest.raises(InputError, match=r"mm\.csv was not written by conjury"), folder.replaced() as draft:
        draft.write({"mm": TABLE}, AGAIN)
    assert names(tmp_path) == before
    assert (tmp_path / "tables" / "mm.csv").read_text(encoding="utf-8") == "mine"
    assert folder.manifest["run"] == 1


def test_a_file_that_is_read_is_not_replaced(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN, {"": TABLE})
    (tmp_path / "data" / "raw.csv").write_text("mine", encoding="utf-8")
    with folder.replaced([tmp_path / "data" / "raw.csv"]) as draft:
        draft.write({"amce": TABLE}, AGAIN, {"": TABLE})
    own = tmp_path / "tables" / ".." / "data" / "choices.parquet"
    with pytest.raises(InputError, match="would be replaced; choose another folder"), folder.replaced([own]):
        pytest.fail("the block was entered")


@pytest.mark.parametrize("outside", ["../keep.txt", "tables/../../keep.txt", "/keep.txt", "keep.txt", ""])
def test_a_manifest_cannot_name_files_outside_of_the_parts(tmp_path: Path, outside: str) -> None:
    results = tmp_path / "results"
    results.mkdir()
    kept = [tmp_path / "keep.txt", results / "keep.txt"]
    for file in kept:
        file.write_text("mine", encoding="utf-8")
    manifest = {
        **RUN,
        "files": [outside.replace("/keep", f"{tmp_path}/keep") if outside[:1] == "/" else outside],
    }
    (results / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with (
        pytest.raises(InputError, match="not written by conjury"),
        ResultsFolder(results).replaced() as draft,
    ):
        draft.write({"amce": TABLE}, AGAIN)
    assert all(file.is_file() for file in kept)


def test_files_that_are_added_join_those_of_the_folder(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN)
    folder.write({"engines": TABLE}, folder.manifest)
    assert folder.manifest["files"] == sorted(names(tmp_path))
    with folder.replaced() as draft:
        draft.write({"amce": TABLE}, AGAIN)
    assert not (tmp_path / "tables" / "engines.csv").exists()


def test_files_are_described_by_checksum_and_without_their_folder(tmp_path: Path) -> None:
    path = tmp_path / "choices.csv"
    path.write_bytes(b"pair_id\n" * 300_000)
    found = describe_file(path, 3, "second", 2)
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (found["file"], found["rows"], found["rows_used"], found["variant"]) == (
        "choices.csv",
        3,
        2,
        "second",
    )


def test_a_recorded_command_can_be_pasted_into_a_shell() -> None:
    run = describe_run(["conjury", "fit", "moderation", "--data", "my choices.csv"])
    assert run["command"] == "conjury fit moderation --data 'my choices.csv'"
    assert {"numpy", "pandas", "scipy"} <= set(run["packages"])
    assert run["created"].endswith("+00:00")
    assert json.loads(json.dumps(run)) == run


def test_versions_of_r_are_recorded_where_an_engine_runs_in_r(monkeypatch: pytest.MonkeyPatch) -> None:
    status = RStatus("3.6", r="4.2.2", packages={"survey": "4.1", "cregg": None})
    monkeypatch.setattr("conjury.analysis.r.available", lambda: status)
    assert describe_run(["conjury"], ["native", "survey"])["r"] == {"R": "4.2.2", "survey": "4.1"}
    assert describe_run(["conjury"], ["native", "statsmodels"])["r"] is None


def entry(part: str, run: int) -> dict[str, object]:
    return {"name": f"{part}_{run}", "part": part}


def extend(folder: ResultsFolder, tables: dict[str, pd.DataFrame], run: int) -> None:
    with folder.extended("checked") as draft:
        draft.write(
            tables,
            {
                **RUN,
                **folder.manifest,
                "parts": {"checked": {"run": run}},
                "results": [entry("checked", run)],
            },
        )
        (draft.path / "figures").mkdir()
        (draft.path / "figures" / f"{run}.png").write_bytes(b"x")


def test_a_part_joins_the_results_and_takes_the_place_of_its_earlier_run_alone(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN)
    extend(folder, {"balance": TABLE, "ties": TABLE}, 1)
    extend(folder, {"balance": TABLE}, 2)
    kept = {
        "manifest.json",
        *(f"tables/{name}.{end}" for name in ("amce", "balance") for end in ("csv", "parquet")),
    }
    assert names(tmp_path) == {*kept, "figures/2.png"}
    assert set(folder.manifest["files"]) == {*kept, "figures/2.png"}
    assert folder.manifest["parts"]["checked"]["run"] == 2
    assert folder.manifest["results"] == [entry("checked", 2)]
    assert folder.manifest["run"] == 1
    with folder.replaced() as draft:
        draft.write({"mm": TABLE}, AGAIN)
    assert names(tmp_path) == {"manifest.json", "tables/mm.csv", "tables/mm.parquet"}


def extend_and_break(folder: ResultsFolder) -> None:
    with folder.extended("checked") as draft:
        draft.write({"balance": TABLE}, {**RUN, "parts": {"checked": {}}})
        raise KeyboardInterrupt


def test_a_part_that_fails_leaves_the_results_as_they_were(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    with pytest.raises(KeyboardInterrupt):
        extend_and_break(folder)
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


def test_a_part_alone_makes_a_folder_of_results(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "new")
    extend(folder, {"balance": TABLE}, 1)
    assert set(folder.manifest["files"]) == names(tmp_path / "new")


def test_a_part_writes_over_no_file_of_others(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN)
    (tmp_path / "tables" / "balance.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="was not written by conjury"):
        extend(folder, {"balance": TABLE}, 1)
    assert (tmp_path / "tables" / "balance.csv").read_text(encoding="utf-8") == "mine"


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
            assert "still holds those of 2026-01-02T03:04:05+00:00 (`conjury fit a`); wait until it" in told
        assert folder.manifest["run"] == 1
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    assert names(tmp_path) > before
    with folder.replaced() as draft:
        draft.write({"mm": TABLE}, AGAIN)
    assert names(tmp_path) == {"manifest.json", "tables/mm.csv", "tables/mm.parquet"}


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


def test_results_that_were_replaced_meanwhile_are_not_added_to(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, {**RUN, "created": "1"})
    read = folder.manifest
    with folder.replaced() as draft:
        draft.write({"amce": TABLE}, {**RUN, "created": "2"})

    def add() -> None:
        with folder.extended("agreement") as draft:
            draft.write({"alpha": TABLE}, read | {"parts": {"agreement": {}}})

    with pytest.raises(InputError, match="were replaced while this was computed; run the same command again"):
        add()
    assert folder.manifest["created"] == "2"
    assert "tables/alpha.csv" not in names(tmp_path)


def test_parts_that_are_added_at_the_same_time_are_both_kept(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, RUN)
    read = folder.manifest
    for part in ("agreement", "diagnosed"):
        with folder.extended(part) as draft:
            draft.write({part: TABLE}, read | {"parts": {part: {"n": 1}}})
    assert set(folder.manifest["parts"]) == {"agreement", "diagnosed"}
    assert names(tmp_path) == set(folder.manifest["files"])


def test_a_part_that_was_computed_waits_for_another_writer(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    process = start_writer(tmp_path)
    threading.Timer(0.5, process.kill).start()
    with folder.extended("agreement") as draft:
        draft.write({"alpha": TABLE}, {**RUN, "parts": {"agreement": {}}})
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    assert "tables/alpha.csv" in names(tmp_path)


def test_two_parts_begin_a_folder_at_the_same_time(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "new")
    for part in ("agreement", "alt_test"):
        run = {**RUN, "created": part, "data": ["a"]}
        with folder.extended(part) as draft:
            draft.write({part: TABLE}, {**run, "parts": {part: {"created": part}}})
    assert set(folder.manifest["parts"]) == {"agreement", "alt_test"}


def test_results_of_another_format_are_not_added_to(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, {"conjury": "0.1", "analyses": []})
    with pytest.raises(InputError, match="run `conjury fit` again"), folder.extended("diagnosed"):
        pytest.fail("the block was entered")
