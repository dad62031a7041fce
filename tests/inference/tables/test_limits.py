"""Limits on what is read: what lies within them is read as before, what lies beyond is refused by name."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from conjury.cli import main as command
from conjury.inference.errors import InputError
from conjury.inference.parsing import read_completion
from conjury.inference.parsing.quoted import decode_whole
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.study.study_yaml import read_marked_yaml
from conjury.inference.tables import limits
from conjury.inference.tables.limits import (
    DEPTH,
    DIGITS,
    TRUE_CELLS,
    check_text_size,
    limit_error,
    parse_json,
    read_content,
    reading,
)


def test_json_at_the_limits_is_read_and_beyond_refused():
    assert parse_json("[" * DEPTH + "]" * DEPTH) is not None
    assert parse_json("9" * DIGITS) == int("9" * DIGITS)
    with pytest.raises(ValueError, match="nested more than 100 levels"):
        parse_json("[" * (DEPTH + 1) + "]" * (DEPTH + 1))
    with pytest.raises(ValueError, match="41 digits"):
        parse_json("9" * (DIGITS + 1))


def test_files_at_the_limits_are_read_and_beyond_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x" * 10)
    assert read_content(path, 10) == b"x" * 10
    for limit, size in ((9, "9 bytes"), (2**20, "1 MiB")):
        path.write_bytes(b"x" * (limit + 1))
        with pytest.raises(InputError, match=f"contains more than {size}, the limit"):
            read_content(path, limit)
    for name, value in (("LINE_BYTES", 100), ("TABLE_BYTES", 1010), ("BLOCK", 1)):
        monkeypatch.setattr(limits, name, value)
    for line, rows, problem in (
        (100, 10, None),
        (101, 2, "a line of the CSV is longer than 100"),
        (100, 11, "1,010"),
    ):
        path.write_text(("y" * line + "\n") * rows)
        with nullcontext() if problem is None else pytest.raises(InputError, match=problem):
            check_text_size(path)


def test_halves_of_surrogate_pairs_are_replaced_and_whole_pairs_kept():
    assert parse_json('{"a\\ud800": ["\\udfff", "\\ud83d\\ude00"]}') == {"a\ufffd": ["\ufffd", "\U0001f600"]}
    assert read_completion({"choices": [{"message": {"content": "B\ud800"}}]}).text == "B\ufffd"
    quoted = '{"reasoning": "\\ud800", "labels": ["\\udc00"]}'
    assert decode_whole(quoted) == {"reasoning": "\ufffd", "labels": ["\ufffd"]}


def test_aliases_that_do_not_multiply_are_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n")
    assert read_marked_yaml(path).content == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


def test_what_a_file_exhausts_is_told_and_bugs_elsewhere_stay_visible(monkeypatch, capsys):
    with pytest.raises(InputError, match="cannot be read, because it needs more memory"), reading("a.csv"):
        raise MemoryError

    def bug() -> None:
        raise RecursionError("ours")

    monkeypatch.setattr(command, "app", bug)
    with pytest.raises(SystemExit) as crashed:
        command.main()
    assert crashed.value.code == 70
    assert "RecursionError: ours" in capsys.readouterr().err
    source = "def read(path):\n    raise OverflowError('theirs')\n"
    reader: dict[str, object] = {"__name__": "conjury.inference.tables.files"}
    exec(source, reader)
    monkeypatch.setattr(command, "app", lambda: reader["read"](Path("b.csv")))
    with pytest.raises(SystemExit) as stopped:
        command.main()
    assert stopped.value.code == 2
    assert "b.csv: the file cannot be read, because it contains a number" in capsys.readouterr().err
    assert "nested too deeply" in str(limit_error("x", RecursionError()))


def test_messages_are_printed_without_control_characters(monkeypatch, capsys):
    def refuse() -> None:
        raise InputError("a\x1b[31m\ud800b.")

    monkeypatch.setattr(command, "app", refuse)
    with pytest.raises(SystemExit):
        command.main()
    assert capsys.readouterr().err == "conjury: a\\x1b[31m\\ud800b.\n"


def test_a_study_of_many_cells_is_simulated_without_true_values():
    study = load_study("moderation")
    copied = study.attributes[1].model_copy(update={"id": "more"})
    slurs = study.attributes[0].model_copy(update={"id": "further"})
    big = study.model_copy(update={"attributes": [*study.attributes, copied, slurs], "stimuli": []})
    raters = study.folder / "truth.csv"
    made = simulate(big, 1, pairs=5, judges=["gpt4o"], prompts=["baseline"], raters=raters)
    assert len(made.profiles) > TRUE_CELLS
    assert made.truth is None
