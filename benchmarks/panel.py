"""Pages of a panel under load: 200 people at once, the most people at once, and a server that is killed.

Prints a page and writes it to results/PANEL.md; `--quick` for few people and no page. The server has its own
process, as with `conjury panel`; simulated people ask it over loopback from another one, so that both share
the cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import numpy as np
from measure import SCRATCH, Target, cores, listed, machine, page, publish, table, target_rows, versions

STUDY = "moderation"
SLOTS, FEW_SLOTS = 6_000, 600  # of the panel that is measured, and of the one that is killed
PEOPLE, THINKING, SECONDS = 200, 3.0, 40.0  # at once; median seconds on a page; how long is measured
STEPS = (50, 100, 200, 300, 400, 600, 800, 1_200)  # people at once, until a page takes too long
KILLS, KILLED_PEOPLE, BETWEEN = 50, 20, 1.5  # seconds between kills
LIMIT_MS, MOST_MS = 50.0, 200.0
PACKAGES = ("conjury", "starlette", "uvicorn", "sqlalchemy", "psycopg", "aiohttp")
FIELD = re.compile(r'name="(token|step|language)" value="([^"]*)"')
ANSWERS = re.compile(
    r'<(?:input type="(radio|number)"|button type="(submit)")[^>]* name="(a\.[^"]+)"(?: value="([^"]*)")?'
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few people, no PANEL.md")
    parser.add_argument(
        "--serve", nargs=4, metavar=("FOLDER", "DATABASE", "PORT", "N"), help=argparse.SUPPRESS
    )
    asked = parser.parse_args()
    if asked.serve:
        serve(*asked.serve)
        return
    described = machine()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(dir=SCRATCH)))
        databases = {"SQLite": f"sqlite:///{folder}/panel.sqlite"}
        if (postgres := postgres_address(stack)) is not None:
            databases["PostgreSQL"] = postgres
        people, seconds = (20, 5.0) if asked.quick else (PEOPLE, SECONDS)
        steps = (20, 40) if asked.quick else STEPS
        loads = {name: ramp(folder, url, people, seconds, steps, name) for name, url in databases.items()}
        killed = kill_often(folder, 3 if asked.quick else KILLS)
    publish("PANEL", written_page(described, loads, killed), written=not asked.quick)


# ---- the server ----


def serve(folder: str, database: str, port: str, slots: str) -> None:
    """Serve the pages of the study as the command does, with limits of rate for one address of all people."""
    from conjury.inference.panel.plan import make_plan
    from conjury.inference.panel.visits import Visits
    from conjury.inference.panel.web.panel_server import serve as serve_pages
    from conjury.inference.panel.web.security import RequestRate, ServerLimits

    path = Path(folder) / "run"
    plan = make_plan(STUDY, out=path, people=None if (path / "design").is_dir() else int(slots))
    open_limits = ServerLimits(address=RequestRate(1e6, 10**6), arrivals=RequestRate(1e6, 10**6))
    serve_pages(
        Visits.open(plan, database),
        port=int(port),
        limits=open_limits,
        say=lambda line: print(line, flush=True),
    )


@dataclass
class Server:
    """A server in a process of its own."""

    folder: Path
    database: str
    slots: int = SLOTS
    port: int = 0
    process: Any = None

    def start(self) -> str:
        arguments = [str(self.folder), self.database, str(self.port), str(self.slots)]
        command = [sys.executable, __file__, "--serve", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        found = re.search(r"(http://[^/]+:(\d+))/", self.process.stdout.readline())
        if found is None:
            raise SystemExit("The server did not start.")
        self.port = int(found[2])
        return found[1]

    def computing(self) -> float:
        """Seconds of computing so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, how: int = signal.SIGINT) -> None:
        self.process.send_signal(how)
        self.process.communicate()


def postgres_address(stack: ExitStack) -> str | None:
    """Start a PostgreSQL server for this run, with its usual settings; None where there is none."""
    from postgres import new_database, programs_of_postgres, unprivileged

    programs = programs_of_postgres()
    if programs is None:
        return None
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="pg")))
    folder.chmod(0o777)  # another user runs the server
    prefix, data = unprivileged(), str(folder / "data")

    def call(program: str, *arguments: str) -> None:
        with (folder / f"{program}.txt").open("w") as log:
            command = [*prefix, str(programs / program), "-D", data, *arguments]
            subprocess.run(command, stdout=log, stderr=log, timeout=120, cwd=folder, check=True)

    call("initdb", "-U", "conjury", "-A", "trust", "--no-instructions")
    call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", f"-c listen_addresses= -k {folder}", "start")
    stack.callback(call, "pg_ctl", "-m", "immediate", "-w", "stop")
    return new_database(f"postgresql+psycopg://conjury@/{{name}}?host={folder}")


# ---- people ----


@dataclass
class Measured:
    """Milliseconds of pages and submissions, errors, and the submissions that the server confirmed."""

    pages: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    both: list[float] = field(default_factory=list)  # a submission and the page that follows
    errors: int = 0
    finished: int = 0
    computing: float = float("nan")  # seconds of the server
    confirmed: dict[str, dict[int, str]] = field(default_factory=dict)

    def percentile(self, share: float, of: str = "both") -> float:
        values = getattr(self, of)
        return float(np.percentile(values, share)) if values else float("nan")


def answers_to(html: str, rng: random.Random) -> dict[str, str]:
    """Answer a page: a choice at random, the first option of any other question."""
    options: dict[str, list[str]] = {}
    for radio, submit, name, value in ANSWERS.findall(html):
        if submit and value == "no":
            continue
        options.setdefault(name, []).append(value if radio != "number" else "30")
    return {name: rng.choice(values) if name == "a.choice" else values[0] for name, values in options.items()}


async def person(
    base: str, name: str, measured: Measured, until: float, thinking: float, patient: bool = False
) -> None:
    """Take part until the end, or until the time is over; a patient person sends again what was lost."""
    rng = random.Random(name)
    jar = aiohttp.CookieJar(unsafe=True)
    connector = aiohttp.TCPConnector(limit=2)
    limit = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(cookie_jar=jar, connector=connector, timeout=limit) as session:

        async def ask(method: str, path: str, data: dict[str, str] | None = None) -> tuple[str, float]:
            while True:
                begun = time.perf_counter()
                try:
                    async with session.request(
                        method, base + path, data=data, allow_redirects=False
                    ) as answer:
                        html = await answer.text()
                        if answer.status in (200, 303):
                            return html, 1000 * (time.perf_counter() - begun)
                        measured.errors += 1
                except (aiohttp.ClientError, TimeoutError):
                    measured.errors += not patient
                if not patient:
                    raise ConnectionError(path)
                await asyncio.sleep(0.1)

        html, _ = await ask("GET", f"/?PROLIFIC_PID={name}")
        fields = dict(FIELD.findall(html))
        await ask("POST", "/start", {**fields, "p.PROLIFIC_PID": name})
        html, _ = await ask("GET", "/visit")
        while time.perf_counter() < until and 'name="step"' in html:
            await asyncio.sleep(thinking * rng.lognormvariate(0, 0.5))
            fields, answers = dict(FIELD.findall(html)), answers_to(html, rng)
            _, sent = await ask("POST", "/visit", {**fields, **answers})
            kept = {key.removeprefix("a."): value for key, value in answers.items() if value}
            measured.confirmed.setdefault(name, {})[int(fields["step"])] = json.dumps(kept, sort_keys=True)
            html, shown = await ask("GET", "/visit")
            measured.sent.append(sent)
            measured.pages.append(shown)
            measured.both.append(sent + shown)
        measured.finished += 'name="step"' not in html


async def crowd(base: str, people: int, seconds: float, prefix: str) -> Measured:
    """Let people take part at once; whoever finishes is followed by another."""
    measured = Measured()
    until = time.perf_counter() + seconds + THINKING

    async def place(number: int) -> None:
        await asyncio.sleep(THINKING * number / people)
        turn = 0
        while time.perf_counter() < until:
            try:
                await person(base, f"{prefix}_{number}_{turn}", measured, until, THINKING)
            except (TimeoutError, ConnectionError):
                measured.errors += 1
            turn += 1

    await asyncio.gather(*(place(number) for number in range(people)))
    return measured


def ramp(
    folder: Path, database: str, people: int, seconds: float, steps: tuple[int, ...], name: str
) -> dict[int, Measured]:
    """Measure so many people at once, then more, until a page takes too long."""
    server = Server(folder, database)
    base = server.start()
    found: dict[int, Measured] = {}
    try:
        for step in sorted({people, *steps}):
            took = seconds if step == people else seconds / 2
            before = server.computing()
            found[step] = asyncio.run(crowd(base, step, took, f"{name}_{step}"))
            found[step].computing = server.computing() - before
            p95 = found[step].percentile(95)
            print(f"{name}, {step:,} people: p95 {p95:.0f} ms", flush=True, file=sys.stderr)
            if p95 > MOST_MS and step >= people:
                break
    finally:
        server.stop()
    return found


# ---- a server that is killed ----


def kill_often(folder: Path, kills: int) -> dict[str, int]:
    """Kill the server again and again while people answer; compare what was confirmed with what is stored."""
    path = folder / "killed.sqlite"
    server = Server(folder / "killed", f"sqlite:///{path}", FEW_SLOTS)
    base = server.start()
    measured = Measured()

    async def all_of_it() -> None:
        over = asyncio.Event()

        async def place(number: int) -> None:
            turn = 0
            while not over.is_set():
                name = f"killed_{number}_{turn}"
                until = time.perf_counter() + 1e6
                taking = asyncio.create_task(person(base, name, measured, until, 0.15, patient=True))
                ending = asyncio.create_task(over.wait())
                await asyncio.wait({taking, ending}, return_when=asyncio.FIRST_COMPLETED)
                taking.cancel()
                ending.cancel()
                await asyncio.gather(taking, ending, return_exceptions=True)
                turn += 1

        async def killer() -> None:
            for _ in range(kills):
                await asyncio.sleep(BETWEEN * random.Random(len(measured.both)).uniform(0.3, 1.0))
                await asyncio.to_thread(server.stop, signal.SIGKILL)
                await asyncio.to_thread(server.start)
            await asyncio.sleep(BETWEEN)
            over.set()

        await asyncio.gather(killer(), *(place(number) for number in range(KILLED_PEOPLE)))

    asyncio.run(all_of_it())
    server.stop()
    return {"kills": kills, **compared(path, measured)}


def compared(path: Path, measured: Measured) -> dict[str, int]:
    """Count the confirmed submissions, those that are not stored or stored otherwise, and second ones."""
    query = """select identifiers.value, answers.page, answers.fields from answers join identifiers
        on identifiers.visit = answers.visit where identifiers.name = 'PROLIFIC_PID'"""
    with sqlite3.connect(path) as connection:
        rows = connection.execute(query).fetchall()
    stored = {(person, page): fields for person, page, fields in rows}
    confirmed = {
        (person, page): fields for person, own in measured.confirmed.items() for page, fields in own.items()
    }
    lost = sum(
        key not in stored or json.dumps(json.loads(stored[key]), sort_keys=True) != fields
        for key, fields in confirmed.items()
    )
    return {"confirmed": len(confirmed), "lost": lost, "twice": len(rows) - len(stored), "stored": len(rows)}


# ---- the page ----


def written_page(described: str, loads: dict[str, dict[int, Measured]], killed: dict[str, int]) -> str:
    rows = [
        [
            database,
            f"{people:,}",
            f"{len(one.both):,}",
            *(f"{one.percentile(share, of):.1f}" for of in ("pages", "sent", "both") for share in (50, 95)),
            f"{1000 * one.computing / max(len(one.both), 1):.1f}",
            f"{one.errors:,}",
        ]
        for database, steps in loads.items()
        for people, one in steps.items()
    ]
    head = ["database", "people at once", "submissions", "page p50 (ms)", "p95", "submission p50", "p95"]
    head += ["both p50", "p95", "computing of the server for both", "errors"]
    people = PEOPLE if PEOPLE in loads["SQLite"] else min(loads["SQLite"])
    first = loads["SQLite"][people]
    most = {name: most_people(steps) for name, steps in loads.items()}
    nothing = killed["lost"] == 0 and killed["twice"] == 0
    targets = [
        Target(
            f"p95 of a page below {LIMIT_MS:.0f} ms with {people} people at once, SQLite",
            f"{first.percentile(95, 'pages'):.1f} ms",
            first.percentile(95, "pages") < LIMIT_MS,
        ),
        Target(
            f"p95 of a submission with the page that follows below {LIMIT_MS:.0f} ms, likewise",
            f"{first.percentile(95):.1f} ms",
            first.percentile(95) < LIMIT_MS,
        ),
        Target(f"no error with {people} people at once", f"{first.errors} errors", first.errors == 0),
        Target(
            f"{killed['kills']} times kill -9 during answering: nothing lost, nothing twice",
            f"{killed['confirmed']:,} confirmed submissions, {killed['lost']} lost, {killed['twice']} twice",
            nothing,
        ),
    ]
    facts = {
        "Study": f"`{STUDY}`: consent, instructions, practice, 16 pairs of posts in words, a check, "
        "questions",
        "Server": "one process as `conjury panel` starts it, without limits of rate for the one "
        "address of all people",
        "People": f"in one other process on the same cores; lognormal thinking times with a median of "
        f"{THINKING:.0f} seconds per page, about three times as fast as people; "
        "whoever finishes is followed by another",
        "Page": "a request for the page that a person is on; submission: the form, until the redirect, which "
        "comes after the answer is stored; stylesheet and script are in a browser's cache",
        "Killed": f"{KILLED_PEOPLE} people who send again what was not confirmed, thinking for 0.15 seconds; "
        "the server is killed at a random moment and started again; answers are compared one by one",
        "Machine": f"{described}; {cores()} cores",
        "Versions": listed(versions(PACKAGES)),
    }
    limits = [[name, text] for name, text in most.items()]
    if "PostgreSQL" not in loads:
        limits.append(["PostgreSQL", "not measured: no server"])
    return page(
        "Benchmarks of the panel",
        facts,
        table(head, rows),
        f"## Most people at once\n\nBefore p95 of a submission with its page passes {MOST_MS:.0f} ms.\n\n"
        + table(["database", "people at once"], limits),
        "## Targets\n\n" + target_rows(targets),
        by="python benchmarks/panel.py",
    )


def most_people(steps: dict[int, Measured]) -> str:
    """Return the most people at once whose pages did not take too long."""
    within = [people for people, one in steps.items() if one.percentile(95) <= MOST_MS and not one.errors]
    beyond = [people for people, one in steps.items() if one.percentile(95) > MOST_MS or one.errors]
    if not within:
        return f"fewer than {min(steps):,}"
    return f"{max(within):,} (not {min(beyond):,})" if beyond else f"at least {max(within):,}"


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
