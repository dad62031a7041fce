"""Names with blanks and umlauts, and places without the letters that are printed there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conjury.cli.encodings import write_plain

PROGRAM = str(Path(sys.executable).parent / "conjury")
ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
CODE_PAGE = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}  # of a pipe on Windows


def test_letters_without_a_place_are_plain_or_codes() -> None:
    for text, printed in [("\N{MINUS SIGN}", "-"), ("\N{HORIZONTAL ELLIPSIS}", "..."), ("字", "\\u5b57")]:
        error = UnicodeEncodeError("ascii", f"a{text}b", 1, 2, "no such letter")
        assert write_plain(error) == (printed, 2)
    escaped = "é".encode().decode("ascii", "surrogateescape")
    error = UnicodeEncodeError("ascii", escaped, 0, 2, "no such letter")
    assert write_plain(error) == ("é".encode(), 2)


def run(folder: Path, variables: dict[str, str], *words: str) -> str:
    """What the command prints as a process of its own, which succeeds."""
    ended = subprocess.run(
        [PROGRAM, *words], cwd=folder, env=os.environ | variables, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.decode("utf-8", "replace")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "Ünï côdé"
    place.mkdir()
    return place


@pytest.mark.slow
@pytest.mark.parametrize("variables", [ASCII, CODE_PAGE], ids=["ASCII", "cp1252"])
def test_a_judge_is_printed_in_any_encoding(folder: Path, variables: dict[str, str]) -> None:
    run(folder, variables, "example", "judge")
    file = folder / "köm mentare.csv"
    file.write_bytes((folder / "comments.csv").read_bytes().replace(b"\n", b"\r\n"))
    options = ("--judge", "verdict", "--human", "ann,ben,eva")
    printed = run(folder, variables, "judge", file.name, *options, "--html", "Seite ä.html")
    plain = run(folder, variables, "judge", "comments.csv", *options)
    assert printed.splitlines()[2:-2] == plain.splitlines()[2:]
    assert "difference is -0." in plain
    assert "köm mentare.csv" in (folder / "Seite ä.html").read_text(encoding="utf-8")
