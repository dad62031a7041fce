"""Notes that commands print: those on what is excluded come first, whatever their words are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conjury.analysis.frames.notes import EXCLUSION, Note, excluding, note_under, read_note, record_notes
from conjury.cli.printing import NOTES, print_notes


def test_notes_on_exclusions_are_printed_first_by_their_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    excluded = note_under({"judge": "gpt"}, excluding("{n:,} ratings are not used.", n=2))
    notes = [f"Note {n} says that nothing was excluded." for n in range(NOTES)]
    stored = [read_note(json.loads(json.dumps(record_notes(note)))) for note in (*notes, excluded)]
    print_notes(stored, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["  Note: gpt: 2 ratings are not used.", f"  Note: {notes[0]}"]
    assert lines[-1].startswith("  1 more note")


def test_a_note_is_of_the_kind_of_its_parts() -> None:
    part = excluding("one row is excluded.")
    whole = Note.of("{group}: {note}", group=Note("", judge="gpt"), note=part)
    assert (part.kind, whole.kind) == (EXCLUSION, "")
    assert whole.is_of(EXCLUSION)
    assert not Note("one row is excluded.").is_of(EXCLUSION)
