"""What a job comes to: which pictures are there, how the others are shared out, how long they will take."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .encoding import encode
from .jobs import Desk
from .manifest import Integers, JobFolder, held

CHUNK = 250  # pictures that are drawn between two parts
PLACES, RUN = 4, 12  # where pictures are drawn to see how long it takes, and how many in a row


@dataclass(frozen=True, slots=True)
class Chunk:
    """Profiles that one process draws in one go, by ascending number; the name is a hash of them."""

    name: str
    profiles: Integers


@dataclass(frozen=True)
class Plan:
    """What a job comes to.

    Attributes
    ----------
    wanted : int
        Pictures that are asked for.
    there : int
        How many of them are drawn.
    chunks : tuple of Chunk
        Those that are not in the manifest, drawn or not.
    elsewhere : ndarray of int, shape (n,)
        Profiles that parts of other runs hold.
    spoiled : tuple of Path
        Parts whose pictures are gone.
    """

    wanted: int
    there: int
    chunks: tuple[Chunk, ...]
    elsewhere: Integers
    spoiled: tuple[Path, ...]

    @property
    def left(self) -> int:
        """How many pictures are to be drawn."""
        return self.wanted - self.there


@dataclass(frozen=True, slots=True)
class Expected:
    """Seconds of computing and bytes that a picture takes."""

    seconds: float
    size: float


def plan(folder: JobFolder, profiles: Integers) -> Plan:
    """See which pictures of profiles are there, and share the others out in chunks.

    The chunks follow from ``profiles`` and the manifest alone: processes with the same job share them.

    Examples
    --------
    >>> planned = plan(JobFolder(Path("nowhere"), "towns", "both"), np.arange(1, 601))
    >>> planned.left, [len(chunk.profiles) for chunk in planned.chunks]
    (600, [250, 250, 100])
    """
    wanted = np.unique(profiles)
    ids, there = held(folder, folder.manifest)
    rest = np.setdiff1d(wanted, ids[there])
    chunks = tuple(_chunk(rest[start : start + CHUNK]) for start in range(0, len(rest), CHUNK))
    names = {chunk.name for chunk in chunks}
    waiting, elsewhere, spoiled = [rest[:0]], [rest[:0]], []
    for path in folder.parts():
        ids, there = held(folder, path)
        if not there.all():
            spoiled.append(path)
            continue
        waiting.append(ids)
        if path.stem not in names:
            elsewhere.append(ids)
    left = np.setdiff1d(rest, np.concatenate(waiting))
    return Plan(
        len(wanted), len(wanted) - len(left), chunks, np.unique(np.concatenate(elsewhere)), tuple(spoiled)
    )


def expect(desk: Desk, profiles: pd.DataFrame) -> Expected:
    """Draw pictures in the middle of a few chunks, several in a row as later, and keep none.

    The first half of each row warms the caches and is not timed.
    """
    starts = np.unique(np.linspace(0, max(len(profiles) - CHUNK, 0), PLACES).astype(int))
    seconds: list[float] = []
    sizes: list[int] = []
    for start in starts:
        in_order = list(desk.in_order(desk.records(profiles.iloc[start : start + CHUNK])))
        middle = max((len(in_order) - RUN) // 2, 0)
        taken = []
        for _, record in in_order[middle : middle + RUN]:
            begun = time.perf_counter()
            sizes.append(len(encode(desk.painter.draw(record).image, desk.job.kind)))
            taken.append(time.perf_counter() - begun)
        seconds += taken[len(taken) // 2 :]
    return Expected(float(np.mean(seconds)), float(np.mean(sizes)))


def _chunk(profiles: Integers) -> Chunk:
    return Chunk(hashlib.sha256(profiles.astype("<i8").tobytes()).hexdigest()[:24], profiles)
