"""Without the extras `report` and `engines` everything else works, and one sentence says what is missing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from absent import run_commands_without, run_without

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST = 16
ABSENT = (
    "bs4", "ipykernel", "jupyter_client", "jupytext", "linearmodels", "lxml", "markdown_it", "nbclient",
    "nbformat", "papermill", "statsmodels",
)  # fmt: skip


def test_a_base_installation_has_at_most_sixteen_packages_of_its_own() -> None:
    assert len(PROJECT["dependencies"]) <= MOST
    extras = PROJECT["optional-dependencies"]
    assert {"report", "engines"} <= set(extras["all"][0].removeprefix("conjury[").rstrip("]").split(","))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("demo", "Reports need the package markdown_it, which is not installed; run `pip install 'conjury"),
        pytest.param("check-table harm_or_humor_agreement", "", marks=pytest.mark.long),
        pytest.param(
            "check-table table.md",
            "`pip install 'conjury[report]'`, or give the table as CSV",
            marks=pytest.mark.long,
        ),
    ],
    ids=["demo", "a table of CSV", "a table of Markdown"],
)  # fmt: skip
def test_commands_name_the_extra_that_they_need_or_do_without(
    command: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "table.md").write_text("| judge | n |\n|---|---|\n| a | 3 |\n", encoding="utf-8")
    ended = run_commands_without(ABSENT, tmp_path, command)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == (2 if sentence else 0)
    assert sentence in " ".join(ended.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["table.md"]


def test_the_native_engine_needs_no_extra_and_others_name_theirs() -> None:
    code = """
from conjury import amce
from conjury.inference.errors import MissingDependency
from pandas import DataFrame

chosen, people = [1, 0, 0, 1, 1, 0, 1, 0], [1, 1, 2, 2, 3, 3, 4, 4]
data = DataFrame({"tone": ["rude", "kind"] * 4, "chosen": chosen, "id": people})
for engine in ("native", "statsmodels", "linearmodels"):
    try:
        amce(data, "chosen ~ tone", id="id", engine=engine)
        print("fitted")
    except MissingDependency as error:
        print(error)
"""
    ended = run_without(ABSENT, code)
    assert ended.returncode == 0, ended.stderr
    native, *others = ended.stdout.splitlines()
    assert native == "fitted"
    for name, told in zip(("statsmodels", "linearmodels"), others, strict=True):
        assert told.startswith(
            f"The engine needs the package {name}, which is not installed; run `pip install"
        )
