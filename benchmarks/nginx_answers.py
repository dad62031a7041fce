"""Answers per second of the client alone: nginx answers at once, plainly and by TLS; writes TRANSPORT.md.

nginx comes from the system (`apt install nginx-light`) or is named by `--nginx`; `--quick` for few answers.
All contenders put the same prompts, in turns; each measurement has its own process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import ProxyHandler, build_opener

import collecting
from collecting import Found
from measure import (
    SCRATCH,
    Target,
    in_a_process,
    listed,
    machine,
    page,
    publish,
    table,
    target_rows,
    versions,
)

from conjury.inference.backends.base import completion

IN_FLIGHT = 64
LIMIT = 900  # seconds of one measurement
KEY = "sentinel-0123456789abcdef"  # a key, so that answers are searched for it as those of a provider are
PACKAGES = ("conjury", "aiohttp", "openai")
CONTENDERS = {
    "conjury": "conjury, every answer on disk before it counts",
    "conjury_tls": "the same over TLS",
    "raw": "bare loop over `AsyncOpenAI.post`, keeps nothing",
    "typed": "bare loop over `AsyncOpenAI.chat.completions.create`, keeps nothing",
}
CONFIGURATION = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 100000000; client_body_buffer_size 256k;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
  server {{
    listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl;
    location / {{ default_type application/json; return 200 '{answer}'; }}
  }}
}}
"""


@dataclass
class ClientCost:
    """Milliseconds of computing per answer, and answers per second, of each round."""

    computing: list[float] = field(default_factory=list)
    a_second: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few answers, one round, no TRANSPORT.md")
    parser.add_argument("--nginx", default=shutil.which("nginx") or "", help="the program nginx")
    parser.add_argument("--measure", nargs=4, metavar="WHAT SCRATCH N URL", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        what, folder, n, url = asked.measure
        collecting.IN_FLIGHT = IN_FLIGHT
        print(json.dumps(MEASURED[what](Path(folder), int(n), url)))
        return
    if not shutil.which(asked.nginx):
        sys.exit("nginx is not installed; install it (apt install nginx-light) or name it by --nginx.")
    n, rounds = (300, 1) if asked.quick else (4000, 3)
    described = machine()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=SCRATCH) as name:
        scratch = Path(name)
        collecting.draw(scratch, n)
        costs = measured_costs(scratch, asked.nginx, n, rounds)
    publish("TRANSPORT", markdown(costs, n, rounds, described), written=not asked.quick)


def measured_costs(scratch: Path, nginx: str, n: int, rounds: int) -> dict[str, ClientCost]:
    """Let all take turns, the order turned round each time."""
    costs = {name: ClientCost() for name in CONTENDERS}
    with serving(scratch, nginx) as (plain, tls):
        os.environ |= {"SSL_CERT_FILE": str(scratch / "server.pem"), "BENCH_KEY": KEY}
        for number in range(rounds):
            for name in list(CONTENDERS)[:: -1 if number % 2 else 1]:
                url = tls if name == "conjury_tls" else plain
                arguments = [__file__, "--measure", name, str(scratch), str(n), url]
                result = in_a_process(arguments, LIMIT)
                costs[name].computing.append(result["computing"] / n * 1e3)
                costs[name].a_second.append(n / result["seconds"])
                print(f"{name}: {costs[name].computing[-1]:.3f} ms, {costs[name].a_second[-1]:,.0f} a second")
    return costs


@contextmanager
def serving(folder: Path, nginx: str) -> Iterator[tuple[str, str]]:
    """Let nginx answer every request with the same completion; yield its plain address and that by TLS."""
    plain, tls = free_port(), free_port()
    answer = completion(
        "0" * 32, "A", model="gpt-4o", tokens=[("A", -0.1, {"A": -0.1, "B": -2.3})], usage=(300, 1)
    )
    content = CONFIGURATION.format(folder=folder, plain=plain, tls=tls, answer=answer.decode())
    (folder / "nginx.conf").write_text(content, encoding="utf-8")
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=127.0.0.1",
            ),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(folder / "server.key"), "-out", str(folder / "server.pem")),
        ],
        check=True,
        capture_output=True,
    )
    process = subprocess.Popen([nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")])
    try:
        wait_for(f"http://127.0.0.1:{plain}/")
        yield f"http://127.0.0.1:{plain}/v1", f"https://127.0.0.1:{tls}/v1"
    finally:
        process.terminate()
        process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str) -> None:
    opener, deadline = build_opener(ProxyHandler({})), time.monotonic() + 10
    while True:
        try:
            opener.open(url, timeout=1).read()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def conjury(scratch: Path, n: int, url: str) -> Found:
    return collecting.conjury(scratch, n, url, key_variable="BENCH_KEY")


def typed(scratch: Path, n: int, url: str) -> Found:
    return collecting.openai(scratch, n, url)


def raw(scratch: Path, n: int, url: str) -> Found:
    return collecting.openai(scratch, n, url, typed=False)


MEASURED: dict[str, Any] = {"conjury": conjury, "conjury_tls": conjury, "typed": typed, "raw": raw}


def markdown(costs: dict[str, ClientCost], n: int, rounds: int, described: str) -> str:
    rows = [
        [
            CONTENDERS[name],
            f"{median(cost.computing):.2f}",
            f"{min(cost.computing):.2f} to {max(cost.computing):.2f}",
            f"{median(cost.a_second):,.0f}",
            f"{min(cost.a_second):,.0f} to {max(cost.a_second):,.0f}",
        ]
        for name, cost in costs.items()
    ]
    computing, rate = median(costs["conjury"].computing), median(costs["conjury"].a_second)
    targets = [
        Target("at most 0.5 ms of computing per durable answer", f"{computing:.2f} ms", computing <= 0.5),
        Target("at least 1,200 durable answers per second", f"{rate:,.0f}", rate >= 1200),
    ]
    return page(
        "Computing of the client per answer",
        {
            "Server": f"nginx with one worker, the same short answer to every request, {IN_FLIGHT} in flight",
            "Machine": f"{described}; the server shares it",
            "Versions": listed(versions(PACKAGES)),
        },
        f"{n:,} prompts of the moderation study for all; the median of {rounds}, in turns, each in a fresh "
        "process. Imports, drawing the design and a first run of 20 prompts are not counted; building the "
        "requests, opening and closing the ledger are, for conjury alone. Computing is user and system time "
        "of the client's process, without that of the server.",
        table(["by", "ms per answer", "range", "answers per second", "range"], rows),
        "## Targets",
        target_rows(targets),
        by="python benchmarks/nginx_answers.py",
    )


if __name__ == "__main__":
    main()
