"""Notes that commands print: doubts and what is excluded come first, whatever their words are."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from conjury.analysis.frames.notes import (
    EXCLUSION,
    Note,
    doubting,
    excluding,
    note_under,
    read_note,
    record_notes,
)
from conjury.cli.printing import NOTES, WrappingConsole, console, print_notes


def test_notes_on_exclusions_are_printed_first_by_their_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    excluded = note_under({"judge": "gpt"}, excluding("{n:,} ratings are not used.", n=2))
    notes = [f"Note {n} says that nothing was excluded." for n in range(NOTES)]
    stored = [read_note(json.loads(json.dumps(record_notes(note)))) for note in (*notes, excluded)]
    print_notes([*stored, doubting("Labels do not overlap.")], tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["  Note: Labels do not overlap.", "  Note: gpt: 2 ratings are not used."]
    assert re.match(r"  \d+ more notes? in ", lines[-1])  # their number depends on the wish for all


def test_a_note_is_of_the_kind_of_its_parts() -> None:
    part = excluding("one row is excluded.")
    whole = Note.of("{group}: {note}", group=Note("", judge="gpt"), note=part)
    assert (part.kind, whole.kind) == (EXCLUSION, "")
    assert whole.is_of(EXCLUSION)
    assert not Note("one row is excluded.").is_of(EXCLUSION)


@pytest.mark.parametrize("width", [40, 80])
def test_lines_are_broken_between_words_below_their_first_words(
    capsys: pytest.CaptureFixture[str], width: int
) -> None:
    terminal = WrappingConsole(force_terminal=True, width=width)
    words = [f"interval{k}" for k in range(20)]
    path = "results/" + "folder/" * 20
    command = f"Next: conjury fit {' '.join(words)}"
    terminal.print(f"  - {' '.join(words)}\n  judge   {' '.join(words)}\n{path}\n{command}")
    *text, path_line, command_line = capsys.readouterr().out.splitlines()
    assert (path_line, command_line) == (path, command)
    assert all(len(line) <= width for line in text)
    assert [word for line in text for word in line.replace("judge", "").split() if word != "-"] == words * 2
    second = next(k for k, line in enumerate(text) if "judge" in line)
    assert all(line.startswith("    i") for line in text[1:second])
    assert all(line.startswith("          i") for line in text[second + 1 :])


def test_files_take_lines_of_any_length(capsys: pytest.CaptureFixture[str]) -> None:
    console.print("interval " * 50)
    assert capsys.readouterr().out == "interval " * 50 + "\n"


def test_a_reader_that_has_ended_does_not_end_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    redirected: list[tuple[int, int]] = []
    monkeypatch.setattr("os.dup2", lambda *ends: redirected.append(ends))
    WrappingConsole(file=Closed()).print("a line")
    assert [end for _, end in redirected] == [sys.stdout.fileno()]
