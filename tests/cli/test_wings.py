"""Whole folders can be deleted: everyday commands, the help and tests of neighbours work without a wing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from absent import copy_without, run_commands, run_tests
from cases import cases
from lints import lint

pytestmark = pytest.mark.long

WINGS = lint("check_rooms").WINGS
COMMANDS = (
    "--help",
    "fit study/study.yaml --data choices.parquet --out effects --draws 0",
    "agreement judgments.csv --where task=stars",
    "judge comments.csv --human ann,ben,eva",
    "collect study/study.yaml --judge mini --backend simulated --pairs 10 --out run",
)
NEIGHBOURS = dict(cases(__file__, "neighbours"))  # files of tests of what is next to a wing


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, done: Callable[..., str]) -> Path:
    place = tmp_path_factory.mktemp("wings")
    for example in ("ratings", "judge"):
        done("example", example, cwd=place)
    done("init", "minimal", "study", cwd=place)
    done("simulate", "study/study.yaml", "--out", "choices.parquet", cwd=place)
    return place


OFTEN = ("analysis.checks",)  # the largest, which most of the rest is next to


@pytest.mark.parametrize(
    "wing", [wing if wing in OFTEN else pytest.param(wing, marks=pytest.mark.slow) for wing in WINGS]
)
def test_everyday_commands_and_neighbours_work_without_a_wing(
    wing: str, folder: Path, tmp_path: Path
) -> None:
    package = copy_without((wing, *WINGS[wing]), tmp_path / "package")
    work = tmp_path / "work"
    work.mkdir()
    for path in folder.iterdir():
        (work / path.name).symlink_to(path)
    ended = run_commands(package, work, *COMMANDS)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert (work / "effects" / "tables" / "amce.csv").is_file()
    assert (work / "run" / "choices.parquet").is_file()
    tested = run_tests(package, *NEIGHBOURS[wing])
    assert tested.returncode == 0, tested.stdout[-2000:]
