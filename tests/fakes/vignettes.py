"""A study whose pictures are small and quickly drawn, and the command that draws them as a process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import yaml
from interrupts import interruptible_process

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.study import Study, load_study
from conjury.inference.vignettes import Job, JobFolder
from conjury.inference.vignettes.jobs.picture_manifest import picture_rows
from conjury.inference.vignettes.jobs.store import store_picture

from .studies import towns, write_study

PROFILES = 162
LAYOUT: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("card.yaml").read_text(encoding="utf-8"))
FACTS = {"cues": "both", "layout": "post", "theme": "light"}
# The command with few profiles per chunk; after so many chunks (0: none) it waits.
COMMAND = """
import itertools, sys, time
from conjury.inference.vignettes.jobs import drawing
drawing.CHUNK, last = int(sys.argv.pop(1)), int(sys.argv.pop(1))
chunks = itertools.count(1)
def waiting(*given, write=drawing.write_part):
    write(*given)
    if next(chunks) == last:
        time.sleep(100)
drawing.write_part = waiting
from conjury.cli.main import main
if __name__ == "__main__":
    main()
"""


def write_towns(folder: Path, **layout: Any) -> Path:
    """Write the study of towns with a small layout; return its folder."""
    written = write_study(folder, {**towns(), "vignette": {"layout": "card.yaml"}})
    (folder / "card.yaml").write_text(yaml.safe_dump(LAYOUT | layout, sort_keys=False), encoding="utf-8")
    return written


def job(folder: Path, **changes: Any) -> Job:
    """Return how the towns are drawn."""
    study: Study = load_study(folder)
    return Job(
        **{"study": study, "cues": "both", "layout": "card.yaml", "theme": "light", "kind": "png", "seed": 3}
        | changes
    )


def profiles(folder: Path) -> pd.DataFrame:
    """Return all profiles of the towns."""
    return enumerate_profiles(load_study(folder)).drop(columns="probability")


def start(
    folder: Path, root: Path, *options: object, chunk: int = 10, last: int = 0
) -> subprocess.Popen[str]:
    """Start `conjury render` with all profiles of the towns."""
    arguments = [chunk, last, "render", folder, "--every", "--out", root, *options]
    return interruptible_process(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a process; return its exit code and what it printed."""
    out, error = process.communicate(timeout=120)
    return process.returncode, out, error


def wait_until(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something holds while a process runs."""
    deadline = time.monotonic() + 60
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def files(root: Path) -> dict[str, bytes]:
    """Return all pictures and manifests below a root."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and (path.suffix == ".png" or path.name == "profiles.parquet")
    }


def rows(folder: JobFolder, profiles: list[int], shade: int = 0) -> pa.Table:
    """Store pictures of profiles and return their rows of a manifest."""
    pictures = []
    for number in profiles:
        content = f"{number} {shade}".encode()
        file, sha256 = store_picture(folder.root, content, "png")
        facts = {"media_type": "image/png", "width": 30, "height": 20, "bytes": len(content)}
        pictures.append({"file": file, "sha256": sha256, **facts, "boxes": "[]"})
    levels = pd.Categorical(
        ["small" if number % 2 else "large" for number in profiles], ["small", "large", "huge"]
    )
    known = pd.DataFrame({"profile_id": profiles, "size": levels, "probability": 0.5})
    words = pd.array([None if number % 3 else "hills" for number in profiles], dtype="string")
    records = pd.DataFrame({"profile_id": profiles, "Place": words, "alt": "A town."})
    return picture_rows(known, records, pictures, FACTS)
