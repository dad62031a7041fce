"""The results folder: whole or as it was, readable by others, described by checksum."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.store import ResultsFolder, describe_file, describe_run
from conjury.inference.errors import InputError

TABLE = pd.DataFrame({"level": pd.Categorical(["a", "b"], categories=["b", "a"]), "estimate": [0.1, 0.2]})


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_tables_data_and_manifest_come_back_as_written(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "new" / "results")
    folder.write({"amce": TABLE}, {"study": "größer"}, {"": TABLE, "second": TABLE.head(1)})
    assert folder.manifest == {"study": "größer"}
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
    folder.write({"amce": TABLE, "published": TABLE}, {"run": 1})
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with folder.replaced() as draft:
        draft.write({"amce": TABLE}, {"run": 2})
    assert names(tmp_path) == {"manifest.json", "notes.txt", "tables/amce.csv", "tables/amce.parquet"}
    assert folder.manifest == {"run": 2}


def replace_and_break(folder: ResultsFolder, problem: type[BaseException]) -> None:
    with folder.replaced() as draft:
        draft.write({"mm": TABLE}, {"run": 2}, {"": TABLE})
        raise problem


@pytest.mark.parametrize("problem", [RuntimeError, KeyboardInterrupt])
def test_a_draft_that_fails_leaves_earlier_results_as_they_were(
    tmp_path: Path, problem: type[BaseException]
) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, {"run": 1})
    before = names(tmp_path)
    with pytest.raises(problem):
        replace_and_break(folder, problem)
    assert names(tmp_path) == before
    assert folder.manifest == {"run": 1}


def test_a_draft_that_fails_leaves_no_new_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        replace_and_break(ResultsFolder(tmp_path / "results"), RuntimeError)
    assert list(tmp_path.iterdir()) == []


def test_a_move_that_fails_puts_back_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ResultsFolder(tmp_path)
    folder.write({"amce": TABLE}, {"run": 1}, {"": TABLE})
    before = names(tmp_path)
    rename = Path.rename

    def breaking(self: Path, target: Path) -> Path:
        if self.name == "manifest.json" and self.parent != tmp_path:
            raise OSError("disk on fire")
        return rename(self, target)

    def replace() -> None:
        with folder.replaced() as draft:
            draft.write({"mm": TABLE}, {"run": 2}, {"": TABLE})
            monkeypatch.setattr(Path, "rename", breaking)

    with pytest.raises(OSError, match="on fire"):
        replace()
    assert names(tmp_path) == before
    assert folder.manifest == {"run": 1}


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
    with pytest.raises(InputError, match="holds no choices; run `conjury fit` first"):
        ResultsFolder(tmp_path).choices()


def test_files_are_described_by_checksum_and_without_their_folder(tmp_path: Path) -> None:
    path = tmp_path / "choices.csv"
    path.write_bytes(b"pair_id\n" * 300_000)
    found = describe_file(path, 3, "second")
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (found["file"], found["rows"], found["variant"]) == ("choices.csv", 3, "second")


def test_a_recorded_command_can_be_pasted_into_a_shell() -> None:
    run = describe_run(["conjury", "fit", "moderation", "--data", "my choices.csv"])
    assert run["command"] == "conjury fit moderation --data 'my choices.csv'"
    assert {"numpy", "pandas", "scipy"} <= set(run["packages"])
    assert run["created"].endswith("+00:00")
    assert json.loads(json.dumps(run)) == run
