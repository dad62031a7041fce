"""One measurement of collecting, in a process of its own; what it found is its last line, as JSON.

``python collecting_work.py WHAT SCRATCH N [URL]``; SCRATCH holds the design that ``draw`` made.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import peak_memory

from conjury.inference.backends.base import Recorder, completion
from conjury.inference.backends.openai.shards import Limits, write_shards
from conjury.inference.collecting.jobs import Job, Plan
from conjury.inference.collecting.prices import Budget, Tokens
from conjury.inference.collecting.recorder import ask as ask_all_of
from conjury.inference.collecting.runs import RunFolder
from conjury.inference.design.drawn import save_design
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Body, Outcome, Request
from conjury.inference.study import Study, load_study
from conjury.inference.study.asking import Sampling

IN_FLIGHT = 200
WARM = 20  # prompts put before the clock starts, so that what loads late is not counted for anyone
MODEL, JUDGE, HOST = "gpt-4o", "gpt4o", "images.example.org"
SETTINGS = {"temperature": 0.0}
SAMPLES = 20  # of the memory in use
MILLION = 1_000_000

Found = dict[str, Any]

UNPLANNED = Plan(0, 0, 0, 0, Tokens(0, 0), False, None, None)


def study() -> Study:
    known = load_study("moderation")
    return known.model_copy(update={"collect": known.collect.model_copy(update={"media_hosts": [HOST]})})


def draw(scratch: Path, pairs: int) -> None:
    """Draw the design of the study, with an address of a picture for every post."""
    design = RunFolder(scratch).draw(study(), pairs, 0.0, 1)
    addresses = [f"https://{HOST}/{number:06d}.png" for number in design.posts["profile_id"]]
    save_design(replace(design, posts=design.posts.assign(media=addresses)), scratch / "design")


def order(scratch: Path, pairs: int, prompts: list[str], *, images: bool = False, samples: int = 1) -> Job:
    known = study()
    folder = RunFolder(scratch)
    content = folder.content(known, pairs, images)
    chosen = [prompt for prompt in known.prompts if prompt.id in prompts]
    ask = Sampling(model=MODEL, samples=samples, settings=SETTINGS)
    return Job(known, JUDGE, ask, chosen, content.subjects, content.count, folder.media(known, None))


def conjury(scratch: Path, n: int, url: str) -> Found:
    """Collect: build, ask, and have every answer on disk."""
    from conjury.inference.backends.openai.live import OpenAIBackend

    orders = {count: order(scratch, count, ["baseline"]) for count in (WARM, n)}

    def run(folder: Path, count: int) -> None:
        with Ledger.open(folder / "ledger.sqlite") as ledger:
            backend = OpenAIBackend(MODEL, base_url=url, concurrency=IN_FLIGHT)
            tally = ask_all_of(orders[count], ledger, backend, Budget(), UNPLANNED, lambda tally: None)
        assert tally.answered == count, tally

    return timed(run, scratch, n)


def openai(scratch: Path, n: int, url: str) -> Found:
    """Ask in a bare loop that keeps nothing."""
    from openai import AsyncOpenAI

    bodies = ready_bodies(scratch, n)

    async def ask_all(count: int) -> None:
        gate = asyncio.Semaphore(IN_FLIGHT)
        async with AsyncOpenAI(base_url=url, api_key="none") as client:

            async def ask(body: Body) -> None:
                async with gate:
                    await client.chat.completions.create(**body)

            await asyncio.gather(*(ask(body) for body in bodies[:count]))

    return timed(lambda folder, count: asyncio.run(ask_all(count)), scratch, n)


def inspect_ai(scratch: Path, n: int, url: str) -> Found:
    """Ask by an evaluation without a scorer; it writes its log."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser
    from inspect_ai.solver import generate

    os.environ["OPENAI_API_KEY"] = "none"
    bodies = ready_bodies(scratch, n)
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
    samples = [
        Sample(input=[kinds[message["role"]](content=message["content"]) for message in body["messages"]])
        for body in bodies
    ]
    settings = {name: value for name, value in bodies[0].items() if name not in ("model", "messages")}

    def run(folder: Path, count: int) -> None:
        (log,) = eval(
            Task(dataset=MemoryDataset(samples[:count]), solver=generate()),
            model=f"openai/{MODEL}",
            model_base_url=url,
            model_args={"responses_api": False},
            max_connections=IN_FLIGHT,
            max_samples=IN_FLIGHT,
            score=False,
            display="none",
            log_dir=str(folder),
            log_realtime=False,
            ctl_server=False,
            **settings,
        )
        assert log.status == "success", log.error

    return timed(run, scratch, n)


def ready_bodies(scratch: Path, n: int) -> list[Body]:
    return [request.body for request in order(scratch, n, ["baseline"]).requests()]


def timed(run: Callable[[Path, int], None], scratch: Path, n: int) -> Found:
    """Seconds of the second run, and of computing in it."""
    found = {}
    for count in (WARM, n):
        with TemporaryDirectory(dir=scratch) as folder:
            start, computing = time.perf_counter(), time.process_time()
            run(Path(folder), count)
            found = {"seconds": time.perf_counter() - start, "computing": time.process_time() - computing}
    return found


def shards(scratch: Path, n: int) -> Found:
    """Build requests with two pictures each into files of a batch, planned in the ledger."""
    start = time.perf_counter()
    wanted = order(scratch, n // 2, ["name_only", "face_only"], images=True)
    size = lines = files = 0
    with TemporaryDirectory(dir=scratch) as name:
        with Ledger.open(Path(name) / "ledger.sqlite") as ledger:
            pending = ledger.pending(wanted.requests())
            for shard in write_shards(pending, Path(name), JUDGE, ledger.media, Limits(), ledger.record):
                ledger.plan_batch(shard.name, JUDGE, shard.keys, shard.sha256)
                files, lines, size = files + 1, lines + len(shard.keys), size + shard.size
        taken = time.perf_counter() - start
    assert lines == wanted.total
    return {"seconds": taken, "memory": peak_memory(), "files": files, "size": size / 1e6}


class Instant:
    """A model that answers at once; memory in use is noted on the way."""

    def __init__(self, step: int) -> None:
        self.step, self.asked = step, 0
        self.memory: list[float] = []

    def settings(self) -> dict[str, Any]:
        return {}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        for request in requests:
            recorder.record(Outcome(request.key, completion(request, "A", model=MODEL, usage=(300, 1))))
            self.asked += 1
            if self.asked % self.step == 0:
                self.memory.append(memory())


def flat(scratch: Path, n: int) -> Found:
    """Collect ``n`` answers from a model that answers at once; the ledger stays for ``million``."""
    wanted = order(scratch, n // 8, ["baseline", "context_aware"], samples=4)
    backend = Instant(n // SAMPLES)
    start = time.perf_counter()
    with Ledger.open(scratch / "ledger.sqlite") as ledger:
        tally = ask_all_of(wanted, ledger, backend, Budget(), UNPLANNED, lambda tally: None)
    assert tally.answered == backend.asked == wanted.total
    return {"seconds": time.perf_counter() - start, "memory": backend.memory}


def memory() -> float:
    """Memory in use, in MB (10^6 bytes)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def million(scratch: Path, n: int) -> Found:
    """Open a ledger and count; it was grown from the one that ``flat`` left, which holds ``n`` answers."""
    path = scratch / "ledger.sqlite"
    multiply(path, n, MILLION // n)
    seconds = []
    for write in (False, True):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        start = time.perf_counter()
        with Ledger.open(path, write=write) as ledger:
            counts = ledger.counts()
            seconds.append(time.perf_counter() - start)
        assert sum(count.n for count in counts if count.state == "answered") == MILLION // n * n, counts
    return {"seconds": max(seconds), "size": path.stat().st_size / 1e6}


def multiply(path: Path, n: int, times: int) -> None:
    """Put ``times`` as many requests and answers into a ledger that holds ``n`` of each."""
    changed = {
        "requests": {"id": "id + :shift", "key": "lower(hex(randomblob(16)))"},
        "responses": {"id": "id + :shift", "request": "request + :shift"},
        "standings": {"request": "request + :shift", "response": "response + :shift"},
    }
    db = sqlite3.connect(path)
    db.execute("PRAGMA cache_size = -262144")
    for copy in range(1, times):
        for table, change in changed.items():
            columns = [column for _, column, *_ in db.execute(f"PRAGMA table_info({table})")]
            values = ", ".join(change.get(column, column) for column in columns)
            given = {"shift": copy * n, "n": n}
            db.execute(f"INSERT INTO {table} SELECT {values} FROM {table} WHERE {columns[0]} <= :n", given)
    db.commit()
    db.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())


if __name__ == "__main__":
    work = {one.__name__: one for one in (conjury, openai, inspect_ai, shards, flat, million)}
    what, scratch, n, *url = sys.argv[1:]
    print(json.dumps(work[what](Path(scratch), int(n), *url)))
