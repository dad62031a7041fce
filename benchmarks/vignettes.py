"""Posts drawn as pictures next to a script that draws them call by call: posts per second, bytes, memory.

Prints a page and writes it to VIGNETTES.md beside this file; `--posts N` for fewer posts, `--quick` for few
posts and no page. All posts have a reply and emoji. Each measurement has its own process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import vignettes_peer as peer
from measure import cores, machine, peak_memory
from tables import Target, table

from conjury.inference.design.drawn import draw_design
from conjury.inference.study import load_study
from conjury.inference.vignettes import Fonts, Job, JobFolder, draw_job, open_job, read_manifest
from conjury.inference.vignettes.jobs.jobs import Renderer
from conjury.inference.vignettes.jobs.store import compressor

HERE = Path(__file__).resolve().parent
SCRATCH = HERE.parent / "build" / "bench"  # on disk, where a folder for temporary files may be in memory
SEED, PAIRS = 1, 30_000
POSTS, PEER_POSTS, ALONE = 39_000, 300, 3_000  # by two processes; by the peer; by one process, to compare
QUICK = (600, 30, 250)
ROUNDS = 3
FACE = 400  # pixels of the faces that the peer opens
LIMIT = 3600  # seconds of one measurement
MB = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=POSTS, help="posts that two processes draw")
    parser.add_argument("--quick", action="store_true", help="few posts, one round, no VIGNETTES.md")
    parser.add_argument("--measure", nargs=3, metavar=("WHAT", "N", "WORKERS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        what, n, workers = asked.measure
        print(json.dumps(MEASURED[what](int(n), int(workers))))
        return
    described = machine()
    posts, theirs, alone = QUICK if asked.quick else (asked.posts, PEER_POSTS, ALONE)
    rounds = [
        (in_a_process("peer", theirs, 1), in_a_process("conjury", alone, 1))
        for _ in range(1 if asked.quick else ROUNDS)
    ]
    whole = in_a_process("conjury", posts, 2)
    page = markdown(described, rounds, whole)
    print(page)
    if not asked.quick:
        (HERE / "VIGNETTES.md").write_text(page, encoding="utf-8")


def in_a_process(what: str, n: int, workers: int) -> dict[str, Any]:
    print(f"{what}, {n:,} posts, {workers} processes ...", end=" ", flush=True, file=sys.stderr)
    arguments = [sys.executable, __file__, "--measure", what, str(n), str(workers)]
    made = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=LIMIT)
    if made.returncode:
        raise RuntimeError(f"{what} failed:\n{made.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(made.stdout.splitlines()[-1])
    print(f"{found['seconds']:.1f} s", file=sys.stderr)
    return found


def posts(n: int) -> tuple[Job, pd.DataFrame]:
    """Return the first n profiles of the moderation study's design that have a reply, by number."""
    study = load_study("moderation")
    profiles = draw_design(study, PAIRS, 0.0, SEED).profiles
    answered = profiles[profiles["reply"] != "no_reply"]
    if len(answered) < n:
        raise SystemExit(f"The design has {len(answered):,} posts with a reply; ask for no more than that.")
    return Job(study, "both", "post", "light", "png", SEED), answered.iloc[:n]


def measure_conjury(n: int, workers: int) -> dict[str, Any]:
    """Draw posts as `conjury render` does, files and manifest included; look at memory now and then."""
    job, profiles = posts(n)
    renderer = open_job(job)
    _ = renderer.facts  # hashed once by the command, before it draws
    memory: list[tuple[int, float]] = []
    looks = set(np.linspace(0, n, 41).astype(int)[1:])

    def progress(done: int) -> None:
        due = {look for look in looks if look <= done}
        if due:
            looks.difference_update(due)
            memory.append((done, held()))

    SCRATCH.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=SCRATCH) as name:
        folder = JobFolder(Path(name), "moderation", "both")
        begun, worked = time.perf_counter(), worked_so_far()
        draw_job(renderer, folder, profiles, workers, progress)
        taken, computing = time.perf_counter() - begun, worked_so_far() - worked
        assert len(read_manifest(folder.root, "moderation", "both", ["profile_id"])) == n
        sizes = [path.stat().st_size for path in folder.root.rglob("*.png")]
    return {
        "posts": n,
        "seconds": taken,
        "computing": computing,
        "bytes": sum(sizes) / len(sizes),
        "memory": memory,
        "peak": peak_memory(),
    }


def worked_so_far() -> float:
    """Seconds of computing, of this process and those it has started and seen end."""
    return sum(os.times()[:4])


def held() -> float:
    """MB that the largest of the processes holds that draw: those that this one has started, or itself."""
    pids = children() or [os.getpid()]
    texts = [Path(f"/proc/{pid}/status") for pid in pids]
    found = [path.read_text() for path in texts if path.exists()]
    lines = [line for text in found for line in text.splitlines() if line.startswith("VmRSS:")]
    return max((int(line.split()[1]) * 1024 / MB for line in lines), default=float("nan"))


def children() -> list[int]:
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def measure_peer(n: int, workers: int) -> dict[str, Any]:
    """Draw the same posts call by call; writing what the script opens is not counted."""
    job, profiles = posts(n)
    renderer = open_job(job)
    records = [record for _, record in renderer.in_drawing_order(renderer.records(profiles))]
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=SCRATCH) as name:
        folder = Path(name)
        peer.write_backgrounds(folder)
        write_faces(renderer, folder / "faces")
        fonts = renderer.fonts
        font, emoji = fonts.families[0].regular, emoji_font(fonts)
        begun, worked = time.perf_counter(), worked_so_far()
        for number, record in enumerate(records):
            peer.draw_post(record, folder, font, emoji, folder / f"{number}.png")
        taken, computing = time.perf_counter() - begun, worked_so_far() - worked
        sizes = [(folder / f"{number}.png").stat().st_size for number in range(n)]
        if keep := os.environ.get("VIGNETTE_SAMPLE"):
            shutil.copy(folder / "0.png", keep)
    return {
        "posts": n,
        "seconds": taken,
        "computing": computing,
        "bytes": sum(sizes) / n,
        "peak": peak_memory(),
    }


def emoji_font(fonts: Fonts) -> Path:
    if fonts.emoji is None:
        raise SystemExit("There is no emoji font here; install one (Debian: fonts-noto-color-emoji).")
    return fonts.emoji.path


def write_faces(renderer: Renderer, folder: Path) -> None:
    folder.mkdir()
    for name in renderer.faces.sources:
        renderer.faces(name, FACE).convert("RGB").save(folder / f"{name}.png", compress_level=1)


MEASURED = {"conjury": measure_conjury, "peer": measure_peer}


def markdown(
    described: str, rounds: list[tuple[dict[str, Any], dict[str, Any]]], whole: dict[str, Any]
) -> str:
    theirs, ours = (min((pair[side] for pair in rounds), key=a_post) for side in (0, 1))
    ratio = a_post(theirs) / a_post(ours)
    memory = [megabytes for _, megabytes in whole["memory"]]
    first, last = memory[len(memory) // 4], memory[-1]
    rate = whole["posts"] / whole["seconds"]
    targets = [
        Target("at least 120 full posts per second on 2 cores", f"{rate:.0f}", rate >= 120),
        Target("at least 5 times as fast as the peer's routine, by core", f"{ratio:.1f} times", ratio >= 5),
        Target(
            f"memory flat from a quarter of {whole['posts']:,} posts to their end, to 20 MB",
            f"{last - first:+.1f} MB",
            last - first < 20,
        ),
    ]
    rows = [
        ["conjury, 1 process", *figures(ours)],
        ["call by call, 1 process", *figures(theirs)],
        [f"conjury, 2 processes, {whole['posts']:,} posts", *figures(whole)],
    ]
    head = [
        "by",
        "posts per second",
        "ms of computing per post",
        "bytes per picture",
        "memory per process (MB)",
    ]
    says = {True: "met", False: "**not met**"}
    checks = [[one.claim, one.measured, says[bool(one.met)]] for one in targets]
    listed = ", ".join(f"{name} {version(name)}" for name in ("conjury", "pillow", "fonttools", "pyarrow"))
    return f"""# Benchmarks of vignettes

Written by `python benchmarks/vignettes.py` on {date.today():%d %B %Y}. All times are of one run.

- Posts: of the moderation study's design, by number; 1050 pixels wide, each with a reply and emoji
- conjury: as `conjury render` draws, from profiles to files and manifest; starting processes is counted
- Call by call: a script that opens backgrounds, faces ({FACE} pixels) and fonts again for each post, breaks
  text after {peer.POST_CHARACTERS} or {peer.REPLY_CHARACTERS} characters, draws line by line, renders and
  scales each emoji where it stands, and saves by Pillow's defaults; an equivalent, in our own words, of the
  routine in the public replication material of a published audit of moderators. It shapes no other scripts,
  and no table says what is in its pictures
- One process: the least of {len(rounds)}, the sides in turns; {ours["posts"]:,} and {theirs["posts"]:,} posts
- Computing: seconds of all processes, which a busy machine changes less than the time that passes
- Machine: {described}; {cores()} cores
- Versions: {listed}, {compressor()}

{table(head, rows)}

Both sides write PNG, which keeps every pixel. Memory is the most that a process that draws was seen to hold.

## Targets

{table(["target", "measured", ""], checks)}
"""


def a_post(found: dict[str, Any]) -> float:
    """Seconds of computing a post."""
    return float(found["computing"] / found["posts"])


def figures(found: dict[str, Any]) -> list[str]:
    seen = [megabytes for _, megabytes in found.get("memory", [])]
    return [
        f"{found['posts'] / found['seconds']:.1f}",
        f"{a_post(found) * 1e3:.1f}",
        f"{found['bytes']:,.0f}",
        f"{max(seen, default=found['peak']):,.0f}",
    ]


if __name__ == "__main__":
    main()
