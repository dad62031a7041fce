"""Collecting next to a bare loop and to inspect_ai: answers a second, batch files, memory, a large ledger.

Prints a page and writes it to results/COLLECTING.md; `--quick` for a short look on few requests.
All contenders put the same prompts to the same server, on loopback; each measurement has its own process.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from collecting_work import IN_FLIGHT, MILLION, WARM, draw
from measure import (
    HERE,
    SCRATCH,
    Target,
    in_a_process,
    machine,
    publish,
    table,
    target_rows,
)

LIMIT = 600  # seconds of one measurement
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
    """Answers a second of each round, and milliseconds of computing per answer in the client."""

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
    quick = parser.parse_args().quick
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

    rates = {name: Rate() for name in CONTENDERS if name == "conjury" or find_spec(name)}
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
    found = in_a_process([str(HERE / "collecting_work.py"), what, str(scratch), str(n), *more], LIMIT)
    print(f"{found['seconds']:.2f} s", flush=True)
    return found


def growth(memory: list[float]) -> float:
    """MB by which memory grew in the second half of the requests; the ledger's caches are full then."""
    return memory[-1] - memory[len(memory) // 2 - 1]


def targets(rates: dict[str, Rate], found: dict[str, Any], effort: Effort) -> list[Target]:
    """Check every target."""
    listed = []
    for peer, least in (("inspect_ai", 5.0), ("openai", 0.8)):
        claim = f"at least {least:g} times the answers a second of {peer}"
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
    present = [name for name in PACKAGES if find_spec(name.replace("-", "_"))]
    listed = ", ".join(f"{name} {version(name)}" for name in present)
    return (
        "# Benchmarks of collecting\n\nWritten by `make bench`. All times are of one run.\n\n"
        f"- Prompts: pairs of the moderation study, text posts, one letter with log-probabilities asked for\n"
        f"- Machine: {described}; the server shares it\n- Versions: {listed}\n\n"
        f"## Answers a second\n\n{rates_text(rates, effort)}\n\n"
        f"## Size\n\n{size_text(found, effort)}\n\n"
        f"## Targets\n\n{target_rows(targets(rates, found, effort))}\n"
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
            "" if name == "conjury" else "same as ours" if rate.bodies == ours.bodies else "in other words",
        ]
        for name, rate in rates.items()
    ]
    head = [
        "by",
        "answers a second",
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


if __name__ == "__main__":
    main()
