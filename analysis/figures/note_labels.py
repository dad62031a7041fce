"""Notes put in words: the one place where their ids become labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..frames.notes import PAIRS, Label, for_command, note_of, read_note
from ..frames.vocabulary import HUMAN
from ..numerics.metrics.label_metrics import METRICS
from ..numerics.metrics.probability_metrics import PROBABILITY_METRICS
from .labels import LABEL_COLUMNS, LabelKey, LevelLabels, true_minus

PHRASES = {metric.name: metric.phrase for metric in (*METRICS, *PROBABILITY_METRICS)}
TEXTS = "texts"  # setting of a table with texts: their notes by column
COLUMNS = {"p_holm": "adjusted p"}
ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")
SIDES = ("judges", "prompts", "condition")  # what two sides of a comparison may be, by columns of labels


def label_of(labels: Mapping[LabelKey, str]) -> Label:
    """How ids in notes are printed: by their labels, and others without underscores."""

    def label(of: str, id: str, feature: str) -> str:
        if of in PAIRS and feature:
            return _level_text(of, id, feature, labels)
        phrases = {"metric": PHRASES, "column": COLUMNS}
        if id in phrases.get(of, {}):
            return phrases[of][id]
        columns = SIDES if of == "side" else (LABEL_COLUMNS.get(of, of),)
        keys: list[LabelKey] = [id] if of == "feature" else [(column, id) for column in columns]
        people = "people" if id == HUMAN and "judges" in columns else _spaced(id)
        return next((labels[key] for key in keys if key in labels), people)

    return label


def _level_text(of: str, id: str, feature: str, labels: Mapping[LabelKey, str]) -> str:
    """A level with its attribute in front, unless its label begins with it; a label of a task alone."""
    named = LevelLabels(labels)
    if (feature, id) in labels:
        return named.both(feature, id) if of == "level" else named.level(feature, id)
    return f"{labels.get(feature, _spaced(feature))}: {_spaced(id)}" if of == "level" else _spaced(id)


def note_text(note: str, labels: Mapping[LabelKey, str]) -> str:
    """The sentence of a note with labels, without whose answers it is about."""
    return true_minus(for_command(note_of(note).sentence(label_of(labels))))


def texts_in_words(
    frame: pd.DataFrame, settings: Mapping[str, Any], labels: Mapping[LabelKey, str]
) -> pd.DataFrame:
    """A table with texts in words whose notes are among its settings, in the order of rows."""
    # Tables of earlier versions have no notes beside them; their texts stay as they are.
    notes = settings.get(TEXTS) or {}
    columns = [name for name in ("finding", "remedy") if name in frame]
    entries = {name: list(notes.get(name) or frame[name].astype("string").fillna("")) for name in columns}
    return frame.assign(
        **{name: [note_text(read_note(each), labels) for each in texts] for name, texts in entries.items()}
    )


def _spaced(id: str) -> str:
    return " ".join(word.replace("_", " ") if ID.fullmatch(word) else word for word in id.split(" "))
