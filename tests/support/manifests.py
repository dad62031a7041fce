"""What a manifest of results has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def note_texts(notes: Sequence[str | Mapping[str, Any]]) -> list[str]:
    """Return the text of each note: some are text, others mappings with their parts."""
    return [note if isinstance(note, str) else note["text"] for note in notes]
