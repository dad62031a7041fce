"""`conjury example`: files that the other commands take; `conjury doctor`, and the console of both."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib.metadata import metadata
from pathlib import Path

import pandas as pd
import pytest
import yaml

from conjury.analysis import r as bridge
from conjury.analysis.frames.word_table import WordTable
from conjury.cli import printing
from conjury.cli.commands.starting.installed import findings
from conjury.inference.tables.files import EXAMPLES

Told = Callable[..., str]
KNOWN = yaml.safe_load((EXAMPLES / "examples.yaml").read_text(encoding="utf-8"))
MAKER = Path(__file__).parents[1] / "fixtures" / "examples" / "make_examples.py"


def test_every_folder_is_an_example_that_is_described_and_listed(ran: Told, refused: Told) -> None:
    assert set(KNOWN) == {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert [line.partition(":")[0] for line in ran("example").splitlines()[:-1]] == list(KNOWN)
    unknown = refused("example nothing")
    assert all(name in unknown for name in KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_files_are_written_once_and_never_over_others(name: str, ran: Told, refused: Told) -> None:
    assert KNOWN[name]["next"] in ran("example", name)
    for source in (EXAMPLES / name).iterdir():
        assert Path(source.name).read_bytes() == source.read_bytes()
    assert "exists and is not overwritten" in refused("example", name)


@pytest.mark.long
def test_the_script_makes_the_files_that_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("make_examples", MAKER)
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    monkeypatch.setattr(maker, "EXAMPLES", tmp_path)
    maker.main()
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) >= len(KNOWN)
    for path in made:
        assert path.read_bytes() == (EXAMPLES / path.relative_to(tmp_path)).read_bytes(), path


def test_tables_are_printed_without_empty_columns_and_with_words_as_headings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printing.print_frame(pd.DataFrame({"std_error": [0.25], "prompt": [""], "note": [None]}))
    assert capsys.readouterr().out.split() == ["std", "error", "0.250"]


@pytest.mark.parametrize(
    ("columns", "printed"),
    [
        ("12", ["share of all", "group", "  changed  1,000 (0.25)", "answers", "of both"]),
        (None, ["share of all", "group", "  changed answers of both  1,000 (0.25)"]),
    ],
)
def test_a_table_wraps_between_words_on_a_terminal_and_not_in_a_file(
    columns: str | None,
    printed: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    rows = [("group",), ("changed answers of both", "1,000 (0.25)")]
    printing.print_table(WordTable("", ("", "share of all"), rows))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [lines[0].strip(), *lines[1:]] == printed


def test_doctor_says_how_to_get_what_is_missing(
    ran: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "available", bridge.RStatus)
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "Rscript").write_text("#!/bin/sh\necho R 4.4.1\necho lme4 1.1.35\n", encoding="utf-8")
    (folder / "Rscript").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    printed = " ".join(ran("doctor").split())
    assert "rpy2 missing pip install 'conjury[r]'" in printed
    assert "R 4.4.1" in printed
    assert "R package lme4 1.1.35" in printed
    assert "R package cregg missing remotes::install_github" in printed


@pytest.mark.long
def test_doctor_names_every_extra_of_the_package_that_a_version_can_be_asked_of() -> None:
    extras = set(metadata("conjury").get_all("Provides-Extra") or []) - {"all", "cjk", "quarto"}
    remedies = " ".join(finding.remedy for finding in findings())
    assert extras
    assert {extra for extra in extras if f"conjury[{extra}]" not in remedies} == set()
