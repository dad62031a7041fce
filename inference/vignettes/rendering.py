"""Drawing the pictures of a plan: processes claim chunks, store pictures, and leave their rows as parts."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from ..errors import InputError
from ..requests.media import LARGEST
from .claims import Claims
from .contents import Record
from .encoding import MEDIA_TYPES, encode
from .jobs import Desk
from .manifest import JobFolder, Picture, held, rows_of, write_part
from .planning import Chunk, Plan
from .store import keep

PAUSE = 0.1  # seconds between two looks at what other processes draw
TOLD_EACH = 10  # pictures

Tell = Callable[[int, int], None]  # takes the number of a chunk, and how many of its pictures are drawn


def draw_chunks(
    desk: Desk, folder: JobFolder, claims: Claims, profiles: pd.DataFrame, planned: Plan, tell: Tell
) -> None:
    """Draw the chunks that no other process draws, wait for theirs, and take over what ended ones leave.

    Parameters
    ----------
    profiles : DataFrame
        As from ``design.enumerate_profiles``, with all profiles of the chunks.
    tell : callable
        Told how far each chunk is, whoever draws it; now and then also while waiting.

    Raises
    ------
    InputError
        A picture cannot be drawn, or is larger than judges take.
    OSError
        A file cannot be written.
    """
    by_id = profiles.set_index("profile_id", drop=False)
    finished = _Finished(folder, planned)
    waiting = list(enumerate(planned.chunks))
    while waiting:
        busy = []
        for number, chunk in waiting:
            tell(number, 0)
            if not finished(chunk) and not claims.take(chunk.name):
                busy.append((number, chunk))
                continue
            if not finished(chunk):  # nor has anyone finished it before it was claimed
                ids = np.setdiff1d(chunk.profiles, planned.elsewhere)
                rows = draw_rows(desk, folder, by_id.loc[ids], partial(tell, number))
                write_part(folder, chunk.name, rows)
            claims.release(chunk.name)
            tell(number, len(chunk.profiles))
        waiting = busy
        if busy:
            time.sleep(PAUSE)


def draw_rows(desk: Desk, folder: JobFolder, profiles: pd.DataFrame, tell: Callable[[int], None]) -> pa.Table:
    """Draw and store the pictures of n profiles; return their n rows of the manifest."""
    records = desk.records(profiles)
    pictures: dict[int, Picture] = {}
    for row, record in desk.in_order(records):
        pictures[row] = draw_picture(desk, folder.root, record)
        if len(pictures) % TOLD_EACH == 0:
            tell(len(pictures))
    job = desk.job
    facts = {"cues": job.cues, "layout": job.layout, "theme": job.theme}
    return rows_of(profiles, records, [pictures[row] for row in range(len(records))], facts)


def draw_picture(desk: Desk, root: Path, record: Record) -> Picture:
    """Draw and store the picture of a record."""
    drawing = desk.painter.draw(record)
    content = encode(drawing.image, desk.job.kind)
    if len(content) > LARGEST:
        raise InputError(
            f"The picture of profile {record['profile_id']} has {len(content):,} bytes, and judges take "
            f"{LARGEST:,} at most; make the layout smaller, or shorten the texts."
        )
    stored = keep(root, content, desk.job.kind)
    media_type = MEDIA_TYPES[desk.job.kind]
    return Picture(*(stored.file, stored.sha256, media_type), *drawing.image.size, stored.size, drawing.boxes)


class _Finished:
    """Whether a chunk is finished: it has a part, or all of it is in parts of other runs or the manifest."""

    def __init__(self, folder: JobFolder, planned: Plan) -> None:
        self._folder = folder
        self._held = planned.elsewhere
        self._seen = self._stamp()

    def __call__(self, chunk: Chunk) -> bool:
        if self._folder.part(chunk.name).exists():
            return True
        if self._stamp() != self._seen:  # another process has gathered parts
            self._seen = self._stamp()
            ids, there = held(self._folder, self._folder.manifest)
            self._held = np.union1d(self._held, ids[there])
        return bool(np.isin(chunk.profiles, self._held).all())

    def _stamp(self) -> tuple[int, int] | None:
        try:
            told = self._folder.manifest.stat()
        except FileNotFoundError:
            return None
        return told.st_mtime_ns, told.st_ino
