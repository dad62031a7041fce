"""How many files of the package a task runs, and how deep its calls nest: CONTRIBUTING's walks, counted."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd
import pytest

from conjury import amce
from conjury.inference.tables.files import EXAMPLES

ROOT = Path(__file__).parents[2]
FOLDERS = tuple(f"{ROOT / name}/" for name in ("analysis", "inference", "cli"))
# Files and depth that a task may have; they may only fall, except by a line in CONTRIBUTING that says why.
CEILINGS = {"amce": (24, 13), "fit": (116, 24), "collect": (84, 25), "agreement": (99, 21), "judge": (88, 21)}


def walk(task: Callable[[], object]) -> tuple[set[str], int]:
    """Files whose functions run, and the most calls within each other, in files of the package."""
    files: set[str] = set()
    deepest = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        code = frame.f_code
        if event != "call" or code.co_name == "<module>" or not code.co_filename.startswith(FOLDERS):
            return
        files.add(code.co_filename)
        depth, caller = 0, frame
        while caller is not None:
            depth += caller.f_code.co_filename.startswith(FOLDERS)
            caller = caller.f_back
        deepest = max(deepest, depth)

    sys.setprofile(count)
    try:
        task()
    finally:
        sys.setprofile(None)
    return files, deepest


def check(name: str, task: Callable[[], object]) -> None:
    task()  # modules are imported before the count
    files, deepest = walk(task)
    most, depth = CEILINGS[name]
    assert len(files) <= most, f"{name}: {len(files)} files\n" + "\n".join(sorted(files))
    assert deepest <= depth
    assert len(files) > most - 5, f"{name}: {len(files)} files; lower its ceiling"


def test_an_amce_in_python_is_few_files() -> None:
    choices = pd.read_csv(EXAMPLES / "r" / "choices.csv")
    check("amce", lambda: amce(choices, "chosen ~ slur + topic", id=choices.columns[0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fit", "collect", "agreement", "judge"])
def test_commands_are_few_files(name: str, done: Callable[..., str], tmp_path: Path) -> None:
    for example in ("ratings", "judge"):
        done("example", example, cwd=tmp_path)
    done("init", "minimal", "study", cwd=tmp_path)
    done("simulate", "study/study.yaml", "--out", "choices.parquet", cwd=tmp_path)
    commands = {
        "fit": "fit study/study.yaml --data choices.parquet --out out --draws 0",
        "collect": "collect study/study.yaml --judge mini --backend simulated --pairs 10 --out out",
        "agreement": "agreement judgments.csv --where task=stars",
        "judge": "judge comments.csv --human ann,ben,eva",
    }

    def task() -> None:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        done(*commands[name].split(), cwd=tmp_path)

    check(name, task)
