"""Posts drawn as pictures next to a script that draws them call by call: posts per second, bytes, memory.

Prints a page and writes it to results/VIGNETTES.md; `--posts N` for fewer posts, `--quick` for few
posts and no page. All posts have a reply and emoji. Each measurement has its own process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import regex
from measure import SCRATCH, Target, cores, in_a_process, machine, peak_memory, publish, table, target_rows
from PIL import Image, ImageDraw, ImageFont

from conjury.inference.design.run_design import draw_design
from conjury.inference.study import load_study
from conjury.inference.vignettes import Fonts, Job, JobFolder, draw_job, open_job, read_manifest
from conjury.inference.vignettes.jobs.drawing_jobs import Renderer
from conjury.inference.vignettes.jobs.store import compressor

SEED, PAIRS = 1, 30_000
POSTS, PEER_POSTS, ALONE = 39_000, 300, 3_000  # by two processes; by the peer; by one process, to compare
QUICK = (600, 30, 250)
ROUNDS = 3
FACE = 400  # pixels of the faces that the peer opens
LIMIT = 3600  # seconds of one measurement
MB = 1e6

# The side to compare with: a script that opens everything again for each post.
WIDTH = 1050
POST_CHARACTERS, REPLY_CHARACTERS = 54, 70
POST_SIZE, NAME_SIZE, SMALL_SIZE = 40, 36, 34
POST_LINE, REPLY_LINE = 56, 48
HEAD, FOOT, REPLY_HEAD = 160, 230, 110  # heights of the backgrounds
MARGIN, PEER_FACE, REPLY_FACE = 44, 100, 84
EMOJI_SIZE = 109  # of the bitmaps in the emoji font
Font = ImageFont.FreeTypeFont
Colour = tuple[int, int, int]

INK, MUTED, LINE = (15, 20, 25), (83, 100, 113), (228, 233, 236)
EMOJI = regex.compile(r"(\p{Emoji_Presentation}\ufe0f?|\p{Emoji}\ufe0f)")


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
        (measured("peer", theirs, 1), measured("conjury", alone, 1))
        for _ in range(1 if asked.quick else ROUNDS)
    ]
    whole = measured("conjury", posts, 2)
    publish("VIGNETTES", markdown(described, rounds, whole), written=not asked.quick)


def measured(what: str, n: int, workers: int) -> dict[str, Any]:
    print(f"{what}, {n:,} posts, {workers} processes ...", end=" ", flush=True, file=sys.stderr)
    found = in_a_process([__file__, "--measure", what, str(n), str(workers)], LIMIT)
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
        write_backgrounds(folder)
        write_faces(renderer, folder / "faces")
        fonts = renderer.fonts
        font, emoji = fonts.families[0].regular, emoji_font(fonts)
        begun, worked = time.perf_counter(), worked_so_far()
        for number, record in enumerate(records):
            draw_post(record, folder, font, emoji, folder / f"{number}.png")
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
    listed = ", ".join(f"{name} {version(name)}" for name in ("conjury", "pillow", "fonttools", "pyarrow"))
    return f"""# Benchmarks of vignettes

Written by `python benchmarks/vignettes.py` on {date.today():%d %B %Y}. All times are of one run.

- Posts: of the moderation study's design, by number; 1050 pixels wide, each with a reply and emoji
- conjury: as `conjury render` draws, from profiles to files and manifest; starting processes is counted
- Call by call: a script that opens backgrounds, faces ({FACE} pixels) and fonts again for each post, breaks
  text after {POST_CHARACTERS} or {REPLY_CHARACTERS} characters, draws line by line, renders and
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

{target_rows(targets)}
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


def write_backgrounds(folder: Path) -> None:
    """Write the pictures that posts begin with: what stands above and below a text, and before a reply."""
    for name, height in (("head", HEAD), ("foot", FOOT), ("reply", REPLY_HEAD)):
        image = Image.new("RGB", (WIDTH, height), "white")
        pen = ImageDraw.Draw(image)
        if name == "head":
            for place in (970, 986, 1002):
                pen.ellipse((place - 4, 82, place + 4, 90), fill=MUTED)
        if name == "foot":
            for y in (70, 150, 228):
                pen.line((MARGIN, y, WIDTH - MARGIN, y), fill=LINE, width=2)
            for place in range(124, WIDTH, 200):
                pen.ellipse((place - 20, 170, place + 20, 210), outline=MUTED, width=4)
        image.save(folder / f"{name}.png")


def draw_post(post: Mapping[str, Any], folder: Path, font: Path, emoji: Path, out: Path) -> None:
    """Draw one post and save it.

    ``folder`` has the backgrounds, and faces as ``faces/NAME.png``.
    """
    faces = {size: ImageFont.truetype(font, size) for size in (POST_SIZE, NAME_SIZE, SMALL_SIZE)}
    signs = ImageFont.truetype(emoji, EMOJI_SIZE)
    lines = textwrap.wrap(post["text"], POST_CHARACTERS)
    reply_lines = textwrap.wrap(post["reply_text"] or "", REPLY_CHARACTERS)
    reply_height = REPLY_HEAD + REPLY_LINE * len(reply_lines) + 40 if reply_lines else 0
    image = Image.new("RGB", (WIDTH, HEAD + POST_LINE * len(lines) + FOOT + reply_height), "white")

    def write(corner: tuple[int, int], line: str, size: int, colour: Colour) -> None:
        _write(image, corner, line, faces[size], signs, colour)

    with Image.open(folder / "head.png") as head:
        image.paste(head, (0, 0))
    _paste_face(image, folder / "faces" / f"{post['face']}.png", PEER_FACE, (MARGIN, 36))
    write((168, 40), post["name"], NAME_SIZE, INK)
    write((168, 86), f"@{post['handle']}", SMALL_SIZE, MUTED)
    y = HEAD
    for line in lines:
        write((MARGIN, y), line, POST_SIZE, INK)
        y += POST_LINE
    with Image.open(folder / "foot.png") as foot:
        image.paste(foot, (0, y))
    write((MARGIN, y + 16), post["posted"].replace("T", " · "), SMALL_SIZE, MUTED)
    write((MARGIN, y + 94), f"{post['likes']} Likes", SMALL_SIZE, INK)
    y += FOOT
    if reply_lines:
        with Image.open(folder / "reply.png") as reply:
            image.paste(reply, (0, y))
        _paste_face(image, folder / "faces" / f"{post['reply_face']}.png", REPLY_FACE, (MARGIN, y + 20))
        write((152, y + 14), post["reply_name"], SMALL_SIZE, INK)
        write((152, y + 58), f"Replying to @{post['handle']}", SMALL_SIZE, MUTED)
        y += REPLY_HEAD
        for line in reply_lines:
            write((152, y), line, SMALL_SIZE, INK)
            y += REPLY_LINE
    image.save(out, "PNG")


def _paste_face(image: Image.Image, path: Path, size: int, corner: tuple[int, int]) -> None:
    """Open a face, scale it, cut it round and paste it."""
    with Image.open(path) as opened:
        face = opened.convert("RGB").resize((size, size), Image.Resampling.LANCZOS)
    mask = Image.new("L", (size, size))
    ImageDraw.Draw(mask).ellipse((0, 0, size - 1, size - 1), fill=255)
    image.paste(face, corner, mask)


def _write(
    image: Image.Image, corner: tuple[int, int], line: str, face: Font, signs: Font, colour: Colour
) -> None:
    """Write a line piece by piece: text from its font, emoji rendered and scaled one by one."""
    pen = ImageDraw.Draw(image)
    x, y = corner
    for piece, is_emoji in _pieces(line):
        if is_emoji:
            sign = _emoji(piece, signs, round(face.size * 1.15))
            image.paste(sign, (round(x), y), sign)
            x += face.size * 1.2
        else:
            pen.text((x, y), piece, font=face, fill=colour)
            x += pen.textlength(piece, font=face)


def _emoji(character: str, signs: Font, size: int) -> Image.Image:
    left, top, right, bottom = signs.getbbox(character)
    drawn = Image.new("RGBA", (round(right - left), round(bottom - top)))
    ImageDraw.Draw(drawn).text((-left, -top), character, font=signs, embedded_color=True)
    return drawn.resize((size, size), Image.Resampling.LANCZOS)


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    """Split a line at its emoji."""
    for number, piece in enumerate(EMOJI.split(line)):
        if piece:
            yield piece, bool(number % 2)


if __name__ == "__main__":
    main()
