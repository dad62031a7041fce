"""Notes put in words: the one place where their ids become labels."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..figures.labels import LABEL_COLUMNS, LabelKey, LevelLabels, true_minus
from ..frames.notes import Label, Note
from ..frames.vocabulary import HUMAN
from ..numerics.metrics.label_metrics import METRICS
from ..numerics.metrics.probability_metrics import PROBABILITY_METRICS

PHRASES = {metric.name: metric.phrase for metric in (*METRICS, *PROBABILITY_METRICS)}
COLUMNS = {"p_holm": "adjusted p"}
ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")
SIDES = ("judges", "prompts", "condition")  # what two sides of a comparison may be, by columns of labels


def label_of(labels: Mapping[LabelKey, str]) -> Label:
    """How ids in notes are printed: by their labels, and others without underscores."""

    def label(of: str, id: str, feature: str) -> str:
        if of == "level":
            named = (feature, id) in labels
            return LevelLabels(labels).both(feature, id) if named else f"{_spaced(feature)}={_spaced(id)}"
        phrases = {"metric": PHRASES, "column": COLUMNS}
        if id in phrases.get(of, {}):
            return phrases[of][id]
        columns = SIDES if of == "side" else (LABEL_COLUMNS.get(of, of),)
        keys: list[LabelKey] = [id] if of == "feature" else [(column, id) for column in columns]
        people = "people" if id == HUMAN and "judges" in columns else _spaced(id)
        return next((labels[key] for key in keys if key in labels), people)

    return label


def note_text(note: Note, labels: Mapping[LabelKey, str]) -> str:
    """The sentence of a note with labels, without whose answers it is about."""
    return true_minus(note.sentence(label_of(labels)))


def _spaced(id: str) -> str:
    return " ".join(word.replace("_", " ") if ID.fullmatch(word) else word for word in id.split(" "))
