"""Transcripts of clips, by Whisper of the extra ``transcripts``; each file is transcribed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError, MissingDependency
from ..tables.contained_paths import require_inside

MODEL = "small"
NEEDED = (
    "Clips are transcribed by faster-whisper, which is not installed; run `pip install "
    "'conjury[transcripts]'`."
)


@dataclass(frozen=True)
class ClipTranscript:
    """What is said in a clip, its language, and how long the clip is."""

    text: str
    language: str
    seconds: float


Transcriber = Callable[[Path], ClipTranscript]


def load_transcriber(model: str = MODEL) -> Transcriber:
    """Load a model of Whisper by its name or folder; it is downloaded where it is not there yet."""
    if find_spec("faster_whisper") is None:
        raise MissingDependency(NEEDED)
    from faster_whisper import WhisperModel

    whisper = WhisperModel(model)

    def transcribe(path: Path) -> ClipTranscript:
        segments, about = whisper.transcribe(str(path), vad_filter=True)
        text = " ".join(segment.text.strip() for segment in segments)
        return ClipTranscript(text, str(about.language), float(about.duration))

    return transcribe


def transcribe_clips(
    places: list[str | None], folder: Path, transcribe: Transcriber
) -> list[ClipTranscript | None]:
    """The transcript of each clip, by its place below a folder; None where an item has no clip."""
    by_place: dict[str, ClipTranscript] = {}
    for row, place in enumerate(places):
        if place is None or place in by_place:
            continue
        path = require_inside(folder / place, folder)
        if not path.is_file():
            raise InputError(f"Row {row + 1}: there is no clip {place} in {folder}; correct column 'media'.")
        by_place[place] = transcribe(path)
    return [None if place is None else by_place[place] for place in places]
