"""Whole folders can be absent: the main commands import none of the wings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from absent import run_commands_without

pytestmark = pytest.mark.long

WINGS = (
    "analysis.checks",
    "analysis.conjoint.engines.bayes",
    "analysis.instrument",
    "analysis.raters.models",
    "analysis.report.paper",
    "analysis.trial",
    "inference.backends.cluster",
    "inference.panel",
    "inference.perturb",
    "inference.vignettes",
)
COMMANDS = (
    "fit study/study.yaml --data choices.parquet --out effects --draws 0",
    "agreement judgments.csv --where task=stars",
    "judge comments.csv --human ann,ben,eva",
    "collect study/study.yaml --judge mini --backend simulated --pairs 10 --out run",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, done: Callable[..., str]) -> Path:
    place = tmp_path_factory.mktemp("wings")
    for example in ("ratings", "judge"):
        done("example", example, cwd=place)
    done("init", "minimal", "study", cwd=place)
    done("simulate", "study/study.yaml", "--out", "choices.parquet", cwd=place)
    return place


@pytest.mark.parametrize("wing", WINGS)
def test_the_main_commands_work_without_a_wing(wing: str, folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    ended = run_commands_without([f"conjury.{wing}"], tmp_path, *COMMANDS)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert (tmp_path / "effects" / "tables" / "amce.csv").is_file()
    assert (tmp_path / "run" / "choices.parquet").is_file()
