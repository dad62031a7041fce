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
import yaml

from conjury.inference.design import enumerate_profiles
from conjury.inference.study import Study, load_study
from conjury.inference.vignettes.jobs import Job

from .studies import towns, write_study

PROFILES = 162
LAYOUT: dict[str, Any] = {
    "width": 300,
    "themes": {
        "light": {"background": "#ffffff", "ink": "#101418"},
        "dark": {"background": "#101418", "ink": "#ffffff"},
    },
    "styles": {"words": {"size": 18, "colour": "ink"}},
    "content": {"column": [{"each": {"text": "{field}: {value}", "style": "words"}}], "padding": 8},
}
# The command with few profiles a chunk, and pictures that take a while.
COMMAND = """
import sys, time
from conjury.inference.vignettes import planning, rendering
planning.CHUNK, pause = int(sys.argv.pop(1)), float(sys.argv.pop(1))
def slowly(*given, draw=rendering.draw_picture):
    time.sleep(pause)
    return draw(*given)
rendering.draw_picture = slowly
from conjury.cli.main import main
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
    folder: Path, root: Path, *options: object, chunk: int = 10, pause: float = 0.0
) -> subprocess.Popen[str]:
    """Start `conjury render` with all profiles of the towns."""
    arguments = [chunk, pause, "render", folder, "--all", "--out", root, *options]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
