"""Collecting next to a bare loop and to inspect_ai: answers per second, batch files, memory, a large ledger.

Prints a page and writes it to results/COLLECTING.md; `--quick` for a short look on few requests.
All contenders put the same prompts to the same server, on loopback; each measurement has its own process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from measure import (
    SCRATCH,
    Target,
    in_a_process,
    listed,
    machine,
    page,
    peak_memory,
    publish,
    table,
    target_rows,
    versions,
)

from conjury.inference.backends.base import Recorder, completion
from conjury.inference.backends.batches.shards import ShardLimits, write_shards
from conjury.inference.backends.openai.openai_lines import LINES
from conjury.inference.collecting.jobs import Job, Plan
from conjury.inference.collecting.prices import Budget, Tokens
from conjury.inference.collecting.recorder import ask as ask_all_of
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.design.run_design import save_design
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
LIMIT = 600  # seconds of one measurement
OURS = ("conjury",)
PACKAGES = ("conjury", "openai", "inspect-ai", "aiohttp")
CONTENDERS = {
    "conjury": "conjury, every answer on disk before it counts",
    "openai": "bare loop over `AsyncOpenAI`, keeps nothing",
    "inspect_ai": "inspect_ai, an evaluation without a scorer, its log on disk",
}


@dataclass(frozen=True)
class Effort:
    """How much to do: answers a contender gets, rounds, requests to batch, and requests to stay flat over."""

    answers: int
    rounds: int
    batched: int
    flat: int


FULL = Effort(answers=1500, rounds=3, batched=60_000, flat=200_000)
QUICK = Effort(answers=200, rounds=1, batched=2000, flat=10_000)


@dataclass
class Rate:
    """Answers per second of each round, and milliseconds of computing per answer in the client."""

    a_second: list[float] = field(default_factory=list)
    computing: list[float] = field(default_factory=list)
    peak: int = 0
    bodies: frozenset[str] = frozenset()

    @property
    def typical(self) -> float:
        return median(self.a_second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few requests, one round, no COLLECTING.md")
    parser.add_argument("--measure", nargs="+", metavar="WHAT SCRATCH N URL", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        what, folder, n, *url = asked.measure
        print(json.dumps(MEASURED[what](Path(folder), int(n), *url)))
        return
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # as the command line has it
    quick = asked.quick
    effort = QUICK if quick else FULL
    described = machine()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=SCRATCH) as name:
        scratch = Path(name)
        draw(scratch, max(effort.answers, effort.batched // 2, effort.flat // 8))
        rates = answer_rates(scratch, effort)
        found = {what: work(what, scratch, n) for what, n in sizes(effort).items()}
    publish("COLLECTING", markdown(rates, found, effort, described), written=not quick)


def sizes(effort: Effort) -> dict[str, int]:
    return {"shards": effort.batched, "flat": effort.flat, "million": effort.flat}


def answer_rates(scratch: Path, effort: Effort) -> dict[str, Rate]:
    """Let all take turns, the order turned round each time; the server says who asked what."""
    from fakes.server import FakeServer  # of the tests; `measure` adds their folder to the path

    rates = {name: Rate() for name in CONTENDERS if name in OURS or find_spec(name)}
    with FakeServer() as server:
        for number in range(effort.rounds):
            for name in list(rates)[:: -1 if number % 2 else 1]:
                server.configure()
                found = work(name, scratch, effort.answers, server.url)
                counts = server.counts()
                answered = counts["answered"]
                assert len(answered) == sum(answered.values()) - WARM == effort.answers, name
                rate = rates[name]
                rate.a_second.append(effort.answers / found["seconds"])
                rate.computing.append(found["computing"] / effort.answers * 1e3)
                rate.peak, rate.bodies = counts["peak"], frozenset(answered)
    return rates


def work(what: str, scratch: Path, n: int, *more: str) -> dict[str, Any]:
    """Measure in a process of its own, and tell."""
    print(f"{what}, {n:,} ...", end=" ", flush=True)
    found = in_a_process([__file__, "--measure", what, str(scratch), str(n), *more], LIMIT)
    print(f"{found['seconds']:.2f} s", flush=True)
    return found


def growth(memory: list[float]) -> float:
    """MB by which memory grew in the second half of the requests; the ledger's caches are full then."""
    return memory[-1] - memory[len(memory) // 2 - 1]


def targets(rates: dict[str, Rate], found: dict[str, Any], effort: Effort) -> list[Target]:
    """Check every target."""
    listed = []
    for peer, least in (("inspect_ai", 5.0), ("openai", 0.8)):
        claim = f"at least {least:g} times the answers per second of {peer}"
        if peer in rates:
            ratio = rates["conjury"].typical / rates[peer].typical
            listed.append(Target(claim, f"{ratio:.2f} times", ratio >= least))
        else:
            listed.append(Target(claim, f"not measured: {peer} is not installed", None))
    batched, used, opened = found["shards"], growth(found["flat"]["memory"]), found["million"]["seconds"]
    what = f"{effort.batched:,} requests with two pictures each as batch files"
    taken, peak = batched["seconds"], batched["memory"]
    return [
        *listed,
        Target(f"{what} within 20 s", f"{taken:.1f} s", taken <= 20),
        Target(f"{what} within 300 MB", f"{peak:.0f} MB", peak <= 300),
        Target(
            f"memory flat over {effort.flat:,} requests, to 20 MB in the second half",
            f"{used:+.1f} MB",
            used < 20,
        ),
        Target(
            f"a ledger of {MILLION:,} answers opened and counted within 2 s", f"{opened:.2f} s", opened < 2
        ),
    ]


def markdown(rates: dict[str, Rate], found: dict[str, Any], effort: Effort, described: str) -> str:
    return page(
        "Benchmarks of collecting",
        {
            "Prompts": "pairs of the moderation study, text posts, one letter with log-probabilities",
            "Machine": f"{described}; the server shares it",
            "Versions": listed(versions(PACKAGES)),
        },
        "## Answers per second",
        rates_text(rates, effort),
        "## Size",
        size_text(found, effort),
        "## Targets",
        target_rows(targets(rates, found, effort)),
    )


def rates_text(rates: dict[str, Rate], effort: Effort) -> str:
    ours = rates["conjury"]
    rows = [
        [
            CONTENDERS[name],
            f"{rate.typical:,.0f}",
            f"{min(rate.a_second):,.0f} to {max(rate.a_second):,.0f}",
            f"{ours.typical / rate.typical:.2f}",
            f"{median(rate.computing):.2f}",
            f"{rate.peak:,}",
            "" if name in OURS else "same as ours" if rate.bodies == ours.bodies else "in other words",
        ]
        for name, rate in rates.items()
    ]
    head = [
        "by",
        "answers per second",
        "range",
        "ours to theirs",
        "ms of computing an answer, client",
        "most in flight",
        "bodies of requests",
    ]
    return (
        f"The same {effort.answers:,} prompts for all, {IN_FLIGHT} in flight at most, against a server on "
        f"loopback that answers at once; the median of {effort.rounds}, in turns, each in a fresh process. "
        f"Imports, drawing the design and {WARM} prompts to warm up are not counted; building the requests, "
        "opening and closing the ledger are, for conjury alone. Few in flight mean that the client is busy "
        "with its own computing. "
        "The server counts that each prompt was answered once, apart from those to warm up.\n\n"
        + table(head, rows)
    )


def size_text(found: dict[str, Any], effort: Effort) -> str:
    shards, flat, million = found["shards"], found["flat"], found["million"]
    memory = flat["memory"]
    rows = [
        [
            f"{effort.batched:,} requests with two pictures each, from the design to {shards['files']} batch "
            f"files of {shards['size']:,.0f} MB together, all in the ledger",
            f"{shards['seconds']:.1f} s",
            f"peak {shards['memory']:.0f} MB",
        ],
        [
            f"{effort.flat:,} requests to a model that answers at once, every answer on disk",
            f"{flat['seconds']:.1f} s",
            f"{memory[1]:.0f} MB after a tenth, {memory[len(memory) // 2 - 1]:.0f} MB after half, when the "
            f"ledger's caches are full, {memory[-1]:.0f} MB at the end",
        ],
        [
            f"open a ledger of {MILLION:,} answers and count, its {million['size']:,.0f} MB not in the "
            "system's cache",
            f"{million['seconds']:.2f} s",
            "",
        ],
    ]
    return table(["what", "time", "memory"], rows)


# ---- the measurements, each in a process of its own ----


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


def conjury(scratch: Path, n: int, url: str, key_variable: str = "OPENAI_API_KEY") -> Found:
    """Collect: build, ask, and have every answer on disk."""
    from conjury.inference.backends.openai.live import OpenAIBackend

    orders = {count: order(scratch, count, ["baseline"]) for count in (WARM, n)}

    def run(folder: Path, count: int) -> None:
        with Ledger.open(folder / "ledger.sqlite") as ledger:
            backend = OpenAIBackend(MODEL, base_url=url, key_variable=key_variable, concurrency=IN_FLIGHT)
            tally = ask_all_of(orders[count], ledger, backend, Budget(), UNPLANNED, lambda tally: None)
        assert tally.answered == count, tally

    return timed(run, scratch, n)


def openai(scratch: Path, n: int, url: str, typed: bool = True) -> Found:
    """Ask in a bare loop that keeps nothing; the raw answers where they are not to be ``typed``."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    raw_answer = sys.modules[DefaultAsyncHttpxClient.__base__.__module__.partition(".")[0]].Response

    bodies = ready_bodies(scratch, n)

    async def ask_all(count: int) -> None:
        gate = asyncio.Semaphore(IN_FLIGHT)
        async with AsyncOpenAI(base_url=url, api_key="none") as client:

            async def ask(body: Body) -> None:
                async with gate:
                    if typed:
                        await client.chat.completions.create(**body)
                    else:
                        await client.post("/chat/completions", cast_to=raw_answer, body=body)

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


def processor_seconds() -> float:
    """Of this process and of those that it has started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def timed(run: Callable[[Path, int], None], scratch: Path, n: int) -> Found:
    """Seconds of the second run, and of computing in it."""
    found = {}
    for count in (WARM, n):
        with TemporaryDirectory(dir=scratch) as folder:
            start, computing = time.perf_counter(), processor_seconds()
            run(Path(folder), count)
            found = {"seconds": time.perf_counter() - start, "computing": processor_seconds() - computing}
    return found


def shards(scratch: Path, n: int) -> Found:
    """Build requests with two pictures each into files of a batch, planned in the ledger."""
    start = time.perf_counter()
    wanted = order(scratch, n // 2, ["name_only", "face_only"], images=True)
    size = lines = files = 0
    with TemporaryDirectory(dir=scratch) as name:
        with Ledger.open(Path(name) / "ledger.sqlite") as ledger:
            pending = ledger.pending(wanted.requests())
            for shard in write_shards(
                pending, Path(name), JUDGE, ledger.media, ShardLimits(), ledger.record, LINES
            ):
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
            recorder.record(Outcome(request.key, completion(request.key, "A", model=MODEL, usage=(300, 1))))
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
        for name, change in changed.items():
            columns = [column for _, column, *_ in db.execute(f"PRAGMA table_info({name})")]
            values = ", ".join(change.get(column, column) for column in columns)
            given = {"shift": copy * n, "n": n}
            db.execute(f"INSERT INTO {name} SELECT {values} FROM {name} WHERE {columns[0]} <= :n", given)
    db.commit()
    db.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())


MEASURED = {one.__name__: one for one in (conjury, openai, inspect_ai, shards, flat, million)}


if __name__ == "__main__":
    main()
