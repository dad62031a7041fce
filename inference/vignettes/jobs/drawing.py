"""Drawing the missing pictures of a job in several processes, resumed after a stop."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from ...errors import InputError
from ...requests.media import LARGEST
from ..placing import Record
from .drawing_jobs import Renderer, check_job, open_job, record_job
from .picture_manifest import Integers, JobFolder, drawn_profiles, merge_parts, picture_rows, write_part
from .store import MEDIA_TYPES, encode, remove_drafts, store_picture

CHUNK = 250  # profiles that a process draws at a time: the work that a killed run may lose, per process
SAMPLED_CHUNKS, RUN = 4, 12  # where pictures are drawn to measure time and size, and how many in a row
BOX_FIELDS = ("name", "kind", "cue", "x", "y", "width", "height")  # in the manifest
Progress = Callable[[int], None]  # takes the number of pictures drawn


@dataclass(frozen=True)
class DrawingPlan:
    """The profiles of a job: how many are wanted, and those whose pictures are missing, sorted."""

    wanted: int
    missing: Integers

    @property
    def drawn(self) -> int:
        """Number of pictures that are there."""
        return self.wanted - len(self.missing)

    @property
    def chunks(self) -> list[Integers]:
        """The missing profiles in parts of a size for which another process is worth its start."""
        return [self.missing[start : start + CHUNK] for start in range(0, len(self.missing), CHUNK)]


def plan(folder: JobFolder, profiles: Integers) -> DrawingPlan:
    """Find the profiles whose pictures are missing."""
    profile_ids = np.unique(profiles)
    return DrawingPlan(len(profile_ids), np.setdiff1d(profile_ids, drawn_profiles(folder)))


def measure_costs(renderer: Renderer, profiles: pd.DataFrame) -> tuple[float, float]:
    """Measure the seconds and bytes per picture on a few, several in a row as in a run; none is stored."""
    starts = np.unique(np.linspace(0, max(len(profiles) - CHUNK, 0), SAMPLED_CHUNKS).astype(int))
    seconds: list[float] = []
    sizes: list[int] = []
    for start in starts:
        records = renderer.records(profiles.iloc[start : start + CHUNK])
        in_order = list(renderer.in_drawing_order(records))
        middle = max((len(in_order) - RUN) // 2, 0)
        durations = []
        for _, record in in_order[middle : middle + RUN]:
            begin = time.perf_counter()
            sizes.append(len(encode(renderer.painter.draw(record).image, renderer.job.kind)))
            durations.append(time.perf_counter() - begin)
        seconds += durations[len(durations) // 2 :]  # the first half fills the caches
    return float(np.mean(seconds)), float(np.mean(sizes))


def draw_job(
    renderer: Renderer, folder: JobFolder, profiles: pd.DataFrame, workers: int, progress: Progress
) -> None:
    """Draw the missing pictures of a job and bring its manifest up to date.

    A run that was stopped or killed resumes with the same call and gives the same files as one that was not.

    Parameters
    ----------
    renderer : Renderer
        As from :func:`open_job`.
    folder : JobFolder
        Folder of the manifest.
    profiles : DataFrame
        As from ``design.enumerate_profiles``.
    workers : int
        Processes that draw.
    progress : callable
        Takes the number of pictures that are there, after each chunk.

    Raises
    ------
    InputError
        A picture cannot be drawn or is too large for judges, the folder has pictures of another job, another
        process writes there, or a process that drew was killed.
    OSError
        A file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.design.profiles import enumerate_profiles
    >>> from conjury.inference.study import load_study
    >>> from conjury.inference.vignettes import Job, read_manifest
    >>> study = load_study("moderation")
    >>> renderer = open_job(Job(study, "both", "post", "light", "png", seed=1))
    >>> folder = JobFolder(Path(tempfile.mkdtemp()), "moderation", "both")
    >>> draw_job(renderer, folder, enumerate_profiles(study).head(2), 1, print)
    2
    >>> read_manifest(folder.root, "moderation", "both", ["profile_id", "width"]).values.tolist()
    [[1, 1050], [2, 1050]]
    """
    with folder.writing():
        if not check_job(folder, renderer.facts):
            record_job(folder, renderer.facts)
        merge_parts(folder)
        planned = plan(folder, profiles["profile_id"].to_numpy())
        by_id = profiles.set_index("profile_id", drop=False)
        chunks = [by_id.loc[ids] for ids in planned.chunks]
        n_drawn = planned.drawn
        for rows in _draw_chunks(renderer, folder.root, chunks, workers):
            write_part(folder, rows)
            n_drawn += len(rows)
            progress(n_drawn)
        merge_parts(folder)
    remove_drafts(folder.root)


def _draw_chunks(
    renderer: Renderer, root: Path, chunks: Sequence[pd.DataFrame], workers: int
) -> Iterator[pa.Table]:
    """Draw chunks of profiles in processes; yield the manifest rows of each that is finished."""
    workers = min(workers, len(chunks))
    if workers <= 1:
        for chunk in chunks:
            yield draw_rows(renderer, root, chunk)
        return
    draw = partial(_draw_in_process, pickle.dumps(renderer.job), root)
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _watch_parent)
    try:
        with _ignore_interrupts():  # by the processes that start here; Ctrl-C is for this one
            # No name refers to the futures, so that rows are freed once they are written.
            finished = as_completed([pool.submit(draw, chunk) for chunk in chunks])
        for future in finished:
            yield future.result()
    except BrokenProcessPool:
        raise InputError(
            "A process that drew pictures was killed, perhaps for lack of memory; run the same command "
            "again, with fewer --workers."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _draw_in_process(job: bytes, root: Path, profiles: pd.DataFrame) -> pa.Table:
    return draw_rows(_open_cached_job(job), root, profiles)


@cache
def _open_cached_job(job: bytes) -> Renderer:
    return open_job(pickle.loads(job))


def _watch_parent() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process once the one that started it has ended, even if it was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def draw_rows(renderer: Renderer, root: Path, profiles: pd.DataFrame) -> pa.Table:
    """Draw and store the pictures of n profiles; return their n rows of the manifest."""
    records = renderer.records(profiles)
    pictures = {
        row: draw_picture(renderer, root, record) for row, record in renderer.in_drawing_order(records)
    }
    job = renderer.job
    facts = {"cues": job.cues, "layout": job.layout, "theme": job.theme}
    return picture_rows(profiles, records, [pictures[row] for row in range(len(records))], facts)


def draw_picture(renderer: Renderer, root: Path, record: Record) -> dict[str, object]:
    """Draw and store the picture of a record; return its columns of the manifest."""
    drawing, kind = renderer.painter.draw(record), renderer.job.kind
    content = encode(drawing.image, kind)
    if len(content) > LARGEST:
        raise InputError(
            f"The picture of profile {record['profile_id']} has {len(content):,} bytes, and judges accept at "
            f"most {LARGEST:,}; make the layout smaller, or shorten the texts."
        )
    file, sha256 = store_picture(root, content, kind)
    boxes = [{name: getattr(box, name) for name in BOX_FIELDS} for box in drawing.boxes]
    return {
        "file": file,
        "sha256": sha256,
        "media_type": MEDIA_TYPES[kind],
        "width": drawing.image.width,
        "height": drawing.image.height,
        "bytes": len(content),
        "boxes": json.dumps(boxes),
    }
