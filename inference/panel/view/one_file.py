"""Transcripts as one HTML file that needs no server and loads nothing: pictures and clips are inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...errors import InputError
from ...tables.writing import atomic_write
from . import MOST
from .filters import APART, Collection, Query
from .transcript_pages import TranscriptRenderer, filter_choices, static_file, view_environment
from .transcripts import Transcript, Transcripts

MEDIA = 64 * 2**20  # bytes of pictures and clips in a file; others are named


@dataclass
class EmbeddedMedia:
    """Pictures and clips as addresses that contain them, each read once, up to a number of bytes in all."""

    transcripts: Transcripts
    left: int
    omitted: set[str] = field(default_factory=set)
    _known: dict[str, str] = field(default_factory=dict)

    def address(self, name: str) -> str:
        """Address with the content of a medium; an empty one where there is no place for it."""
        if name not in self._known:
            kind, content = self._read(name)
            if len(content) > self.left:
                self.omitted.add(name)
                kind, content = "image/png", b""
            self.left -= len(content)
            self._known[name] = f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
        return self._known[name]

    def _read(self, name: str) -> tuple[str, bytes]:
        if name in self.transcripts.contents.files:
            path, kind = self.transcripts.contents.files[name]
            return kind, path.read_bytes()
        run, _, sha256 = name.partition("-")
        ledger = self.transcripts.collection.sources.runs[int(run)].ledger
        assert ledger is not None  # names of its media come from its requests
        try:
            return ledger.media(sha256)
        except InputError:
            return "image/png", b""


@dataclass(frozen=True)
class WrittenContents:
    """What a file contains: answers that the filters select, those that are in it, and media left out."""

    selected: int
    written: int
    omitted: int
    size: int


def write_file(
    collection: Collection, path: Path, query: Query | None = None, most: int = MOST
) -> WrittenContents:
    """Write transcripts as one HTML file, the first ``most`` of those that a query selects."""
    # The file loads nothing: its policy allows its own script and style, by their hashes, and pictures that
    # it contains.
    numbers = collection.numbers(query or Query())
    transcripts = Transcripts(collection)
    media = EmbeddedMedia(transcripts, MEDIA)
    renderer = TranscriptRenderer(transcripts, view_environment(lambda name: name, media.address))
    written = numbers[:most].tolist()
    linked = set(written)
    style = "".join(_text(name) for name in ("panel.css", "view.css"))
    script = _text("view.js")
    parts = renderer.parts_of_page(
        "one_file.html.j2",
        articles=(_article(renderer, number, linked) for number in written),
        written=len(written),
        choices=[choice for choice in filter_choices(collection) if choice.name not in ("level", "check")],
        selected=len(numbers),
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
        media=media,
    )
    with atomic_write(path, private=True) as file:
        size = sum(file.write(part.encode("utf-8")) for part in parts)
    return WrittenContents(len(numbers), len(written), len(media.omitted), size)


def policy(style: str, script: str) -> str:
    """Content security policy of a file: nothing but its own style and script, and media inside of it."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "media-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _text(name: str) -> str:
    text = static_file(name).decode("utf-8")
    assert "</" not in text  # nothing in it ends the element that contains it
    return text


def _article(renderer: TranscriptRenderer, number: int, linked: set[int]) -> dict[str, Any]:
    values = renderer.transcript(number)
    transcript: Transcript = values["one"]
    row = renderer.collection.answers.frame.iloc[number]
    kind = "people" if transcript.row.kind == "human" else "models"
    statuses = [judgment["status"] for judgment in transcript.judgments]
    return values | {
        "number": number,
        "data": {
            "judge": APART.join([str(row["judge_id"]), kind]),
            "prompt": str(row["prompt_id"]),
            "status": APART.join(dict.fromkeys(statuses)),
            "mark": APART.join(transcript.row.marks),
        },
        "linked": linked,
    }


def sentence(written: WrittenContents, path: Path, runs: Sequence[str]) -> str:
    """What was written, and where the rest is."""
    text = f"{written.written:,} transcripts in {path} ({written.size / 2**20:.1f} MB)."
    if written.selected > written.written:
        text += (
            f" The filters select {written.selected:,}; the file contains the first {written.written:,} of "
            f"them. Narrow them with --filter, raise --most, or see all with `conjury view "
            f"{' '.join(runs)}`."
        )
    if written.omitted:
        text += (
            f" {written.omitted:,} pictures or clips are left out, since those of a file have at most "
            f"{MEDIA // 2**20} MB."
        )
    return text
