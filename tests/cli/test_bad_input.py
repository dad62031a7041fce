"""What a user can get wrong: each ends with exit code 2 and one sentence on stderr, without a traceback."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conjury.analysis.conjoint import amce
from conjury.cli.main import main
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

Run = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]
FIT = ("fit", "moderation", "--draws", "0", "--out", "out", "--data")


@pytest.fixture(scope="module")
def made() -> pd.DataFrame:
    """Choices of one model as plain columns, as a CSV holds them."""
    study = load_study("moderation")
    found = simulate(study, 1, pairs=60, judges=["gpt4o"], prompts=["baseline"], truth=False).choices
    labels = found.select_dtypes("category").columns
    return found.astype(dict.fromkeys(labels, "string")).astype({"chosen": object})


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Refused:
    """Run the command in an empty folder and return the one sentence that it ends with."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["conjury", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        told = capfd.readouterr().err
        assert stopped.value.code == 2
        assert told.startswith("conjury: ")
        assert told.count("\n") == 1
        assert told.endswith((".\n", "?\n"))
        assert not Path("out").exists()
        return told

    return run


def with_cell(frame: pd.DataFrame, column: str, row: int, value: object) -> pd.DataFrame:
    changed = frame.copy()
    changed[column] = changed[column].astype(object)
    changed.loc[row, column] = value
    return changed


CHANGES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], list[str]]] = {
    "text in chosen": (lambda f: with_cell(f, "chosen", 3, "yes"), ["row 4", "'chosen'", "'yes'", "write 1"]),
    "chosen is 2": (lambda f: with_cell(f, "chosen", 3, 2), ["row 4", "'chosen'", "contains 2", "write 1"]),
    "both are chosen": (lambda f: f.assign(chosen=1), ["row 1", "'chosen'", "both profiles"]),
    "no pair_id": (lambda f: f.drop(columns="pair_id"), ["'pair_id' is missing", "add or rename"]),
    "empty pair_id": (lambda f: with_cell(f, "pair_id", 5, None), ["row 6", "'pair_id'", "is empty"]),
    "half a pair": (lambda f: f.iloc[1:], ["row 1", "'pair_id'", "one row", "keep both"]),
    "a pair twice": (lambda f: pd.concat([f, f.head(2)]), ["row 121", "repeats an earlier row"]),
    "unknown level": (
        lambda f: with_cell(f, "topic", 2, "sports"),
        ["row 3", "'topic'", "'sports'", "did you mean 'sport'"],
    ),
    "unknown status": (lambda f: with_cell(f, "status", 0, "fine"), ["row 1", "'status'", "'fine'"]),
    "no rows": (lambda f: f.head(0), ["no rows"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_bad_cells_are_refused_by_file_column_and_row(
    change: str, made: pd.DataFrame, refused: Refused
) -> None:
    spoil, expected = CHANGES[change]
    spoil(made).to_csv("choices.csv", index=False)
    told = refused(*FIT, "choices.csv")
    for part in ["choices.csv", *expected]:
        assert part in told


def test_a_feature_of_one_level_is_refused_by_name(made: pd.DataFrame, refused: Refused) -> None:
    made.assign(curse="curse").to_csv("choices.csv", index=False)
    told = refused(*FIT, "choices.csv")
    assert "'curse' has a single level" in told
    assert "gpt4o baseline" in told


def test_cluster_columns_that_the_file_lacks_are_refused_before_any_work(
    made: pd.DataFrame, refused: Refused
) -> None:
    made.to_csv("choices.csv", index=False)
    told = refused(*FIT, "choices.csv", "--id", "txt")
    assert "--id txt: choices.csv has no column 'txt' (did you mean 'text'?); correct" in told


def test_a_single_pair_is_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.head(2).to_csv("choices.csv", index=False)
    assert "gpt4o baseline" in refused(*FIT, "choices.csv")


def test_choices_without_any_answer_are_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.assign(status="refused", chosen=None).to_csv("choices.csv", index=False)
    assert "No judge has an answer in column 'chosen'" in refused(*FIT, "choices.csv")


def test_files_that_are_no_tables_are_refused(made: pd.DataFrame, refused: Refused) -> None:
    Path("empty.csv").touch()
    Path("empty.parquet").touch()
    Path("folder").mkdir()
    Path("notes.txt").write_text("hello", encoding="utf-8")
    made.to_csv("choices.csv", index=False)
    Path("renamed.parquet").write_bytes(Path("choices.csv").read_bytes())
    assert "absent.csv: there is no such file" in refused(*FIT, "absent.csv")
    assert "did you mean 'choices.csv'" in refused(*FIT, "choice.csv")
    assert "this is a folder" in refused(*FIT, "folder")
    assert "this is a folder" in refused(*FIT, ".")
    assert "empty.csv: the file is empty" in refused(*FIT, "empty.csv")
    assert "empty.parquet: the file is empty" in refused(*FIT, "empty.parquet")
    assert "notes.txt: tables are files that end in" in refused(*FIT, "notes.txt")
    assert "this is not a Parquet file" in refused(*FIT, "renamed.parquet")


def test_a_truncated_parquet_file_is_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.astype({"chosen": "Int8"}).to_parquet("whole.parquet")
    content = Path("whole.parquet").read_bytes()
    for share in (0.01, 0.5, 0.999):
        Path("cut.parquet").write_bytes(content[: int(share * len(content))])
        assert "cut.parquet: the Parquet file is" in refused(*FIT, "cut.parquet")


def test_a_parquet_header_that_claims_three_gigabytes_is_refused_before_memory_is_taken(
    refused: Refused,
) -> None:
    file = io.BytesIO()
    rows = 3_000_000_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, dtype=np.int8)), pa.array(["a"]))
    pq.write_table(pa.table({"chosen": column}), file)
    claimed = _with_row_count(file.getvalue(), 1000, rows)
    Path("huge.parquet").write_bytes(claimed)
    assert pq.ParquetFile("huge.parquet").metadata.num_rows == rows
    told = refused(*FIT, "huge.parquet")
    assert f"claims {rows:,} rows" in told


def _with_row_count(content: bytes, old: int, new: int) -> bytes:
    """Replace the file's row count in the Thrift footer (field 3 of FileMetaData, a zigzag varint)."""
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size : -8]
    changed = footer.replace(b"\x16" + _varint(2 * old), b"\x16" + _varint(2 * new))
    assert changed != footer
    return content[: -8 - size] + changed + len(changed).to_bytes(4, "little") + content[-4:]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_duplicate_columns_are_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.rename(columns={"user": "text"}).to_csv("choices.csv", index=False)
    assert "column 'text' occurs twice" in refused(*FIT, "choices.csv")


OPTIONS = {
    "--engine": ("fortran", "no engine 'fortran'"),
    "--interval": ("wide", "no interval 'wide'"),
    "--variant": ("choices.csv", "write NAME=VALUE"),
    "--rename": ("model", "write NAME=VALUE"),
    "--levels": ("absent.json", "absent.json"),
    "--judge": ("gpt4", "did you mean 'gpt4o'"),
    "--prompt": ("base", "no prompt 'base'"),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_that_make_no_sense_are_refused(option: str, made: pd.DataFrame, refused: Refused) -> None:
    made.to_csv("choices.csv", index=False)
    value, expected = OPTIONS[option]
    assert expected in refused(*FIT, "choices.csv", option, value)


@pytest.mark.parametrize(
    ("option", "value"), [("--alpha", "0"), ("--alpha", "2"), ("--alpha", "nan"), ("--draws", "1")]
)
def test_numbers_out_of_range_are_refused(
    option: str, value: str, made: pd.DataFrame, refused: Refused
) -> None:
    made.to_csv("choices.csv", index=False)
    assert f"{option[2:]} is {value}" in refused(*FIT, "choices.csv", option, value)


def test_negative_draws_do_not_mean_the_default(made: pd.DataFrame, refused: Refused) -> None:
    made.to_csv("choices.csv", index=False)
    assert "draws is -1" in refused(*FIT, "choices.csv", "--draws=-1")


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", "two words"])
def test_variant_names_stay_inside_the_results_folder(
    name: str, made: pd.DataFrame, refused: Refused
) -> None:
    made.to_csv("choices.csv", index=False)
    assert "letters, digits and underscores" in refused(
        *FIT, "choices.csv", "--variant", f"{name}=choices.csv"
    )


def test_a_variant_named_twice_is_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.to_csv("choices.csv", index=False)
    twice = ("--variant", "b=choices.csv") * 2
    assert "names 'b' twice" in refused(*FIT, "choices.csv", *twice)


def test_unknown_names_are_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.to_csv("choices.csv", index=False)
    assert "no study 'nonsense'" in refused("fit", "nonsense", "--data", "choices.csv")
    compare = ("compare", "moderation", "--data", "choices.csv", "--results", "out")
    assert "no engine 'fortran'" in refused(*compare, "--engines", "native,fortran")
    assert "No engine is named" in refused(*compare, "--engines", ",")
    assert "'nonsense' is unknown" in refused(*compare, "--analysis", "nonsense")
    assert "only counts" in refused(*compare, "--analysis", "frequencies")


def test_reports_need_results(refused: Refused) -> None:
    Path("file").write_text("not a folder", encoding="utf-8")
    assert "contains no results" in refused("report", "moderation", "--results", "absent")
    assert "contains no results" in refused("report", "moderation", "--results", "file")
    assert "no report 'nonsense'" in refused("report", "nonsense", "--results", "absent")
    assert "absent contains no choices" in refused("compare", "moderation", "--results", "absent")
    for words in (("report", "moderation"), ("compare", "moderation")):
        told = refused(*words)
        assert told.startswith("conjury: results contains no")
        assert "--results" in told


def test_a_file_where_a_results_folder_should_be_is_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.to_csv("choices.csv", index=False)
    told = refused("fit", "moderation", "--data", "choices.csv", "--draws", "0", "--out", "choices.csv")
    assert "choices.csv is a file" in told
    inside = refused("fit", "moderation", "--data", "choices.csv", "--draws", "0", "--out", "choices.csv/out")
    assert "cannot be written" in inside


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.to_csv("choices.csv", index=False)
    Path("closed").mkdir(mode=0o500)
    assert "cannot be written" in refused(
        "fit", "moderation", "--data", "choices.csv", "--draws", "0", "--out", "closed/out"
    )


def test_simulations_of_nothing_or_of_unknown_judges_are_refused(refused: Refused) -> None:
    simulate = ("simulate", "moderation", "--out")
    assert "--pairs is 0" in refused(*simulate, "a.csv", "--pairs", "0")
    assert "--respondents is -1" in refused(*simulate, "a.csv", "--respondents=-1")
    assert "'gpt9' is unknown" in refused(*simulate, "a.csv", "--judge", "gpt9")
    assert "a.txt: tables are files that end in" in refused(*simulate, "a.txt", "--pairs", "20")


def test_bad_input_ends_the_process_with_code_2_and_one_line(
    conjury: Run, made: pd.DataFrame, tmp_path: Path
) -> None:
    with_cell(made, "chosen", 3, "yes").to_csv(tmp_path / "choices.csv", index=False)
    done = conjury(*FIT, "choices.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("conjury: choices.csv: row 4 of column 'chosen' contains 'yes'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["fit"], ["fit", "moderation"], ["nonsense"], ["simulate", "--seed=-1"]]
)
def test_words_that_the_parser_does_not_know_end_with_code_2(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["conjury", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2


def test_negative_weights_and_wrong_outcomes_are_refused_by_the_functions(made: pd.DataFrame) -> None:
    data = made.astype({"chosen": "Int8"}).assign(weight=1.0)
    with pytest.raises(InputError, match="'weight' are negative in row 3"):
        amce(with_cell(data, "weight", 2, -1.0).astype({"weight": float}), "chosen ~ topic", weights="weight")
    with pytest.raises(InputError, match="no column 'chosne'"):
        amce(data, "chosne ~ topic")
    with pytest.raises(InputError, match=r"'user' holds text \('.*' in row 1\)"):
        amce(data, "user ~ topic")
