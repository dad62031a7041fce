"""Without the extras `report` and `engines` everything else works, and one sentence says what is missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST = 16
ABSENT = (
    "bs4", "ipykernel", "jupyter_client", "jupytext", "linearmodels", "markdown_it", "nbclient",
    "nbformat", "papermill", "statsmodels",
)  # fmt: skip
BLOCK = f"""
import sys
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *place: None if name.partition(".")[0] in {ABSENT!r} else find_spec(name, *place)
)
"""
WITHOUT = f"""{BLOCK}
from conjury.cli.main import main

sys.argv = ["conjury", *sys.argv[1:]]
main()
"""


def run_without(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_base_installation_has_at_most_sixteen_packages_of_its_own() -> None:
    assert len(PROJECT["dependencies"]) <= MOST
    extras = PROJECT["optional-dependencies"]
    assert {"report", "engines"} <= set(extras["all"][0].removeprefix("conjury[").rstrip("]").split(","))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("demo",), "Reports need the package jupytext, which is not installed; run `pip install 'conjury"),
        (("check-table", "harm_or_humor_agreement"), ""),
        (("check-table", "table.md"), "`pip install 'conjury[report]'`, or give the table as CSV"),
    ],
    ids=["demo", "a table of CSV", "a table of Markdown"],
)  # fmt: skip
def test_commands_name_the_extra_that_they_need_or_do_without(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "table.md").write_text("| judge | n |\n|---|---|\n| a | 3 |\n", encoding="utf-8")
    ended = run_without(tmp_path, *arguments)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == (2 if sentence else 0)
    assert sentence in " ".join(ended.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["table.md"]


@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        ("native", ""),
        ("statsmodels", "The engine needs the package statsmodels, which is not installed; run `pip install"),
        (
            "linearmodels",
            "The engine needs the package linearmodels, which is not installed; run `pip install",
        ),
    ],
    ids=["native", "statsmodels", "linearmodels"],
)
def test_the_native_engine_needs_no_extra_and_others_name_theirs(
    engine: str, sentence: str, tmp_path: Path
) -> None:
    code = f"""{BLOCK}
from conjury import amce
from conjury.inference.errors import MissingDependency
from pandas import DataFrame

chosen, people = [1, 0, 0, 1, 1, 0, 1, 0], [1, 1, 2, 2, 3, 3, 4, 4]
data = DataFrame({{"tone": ["rude", "kind"] * 4, "chosen": chosen, "id": people}})
try:
    amce(data, "chosen ~ tone", id="id", engine={engine!r})
except MissingDependency as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.startswith(sentence)
    assert bool(ended.stdout) == bool(sentence)
