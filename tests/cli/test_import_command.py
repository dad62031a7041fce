"""From a survey export to estimates with the command line alone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from typer.testing import CliRunner

from conjury.cli.import_options import RatingOptions
from conjury.cli.importing import READ
from conjury.cli.options import grouped
from conjury.inference.tables import read_table

Run = Callable[..., subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class Cut:
    depth: Annotated[int, typer.Option("--deep", help="How deep.")] = 1
    sharp: Annotated[list[str] | None, typer.Option()] = None


EXPORT = Path(__file__).resolve().parents[1] / "fixtures" / "tables" / "qualtrics.csv"


def test_an_export_becomes_choices_and_a_study_that_fit_takes(conjury: Run, tmp_path: Path) -> None:
    wide = pd.read_csv(EXPORT, dtype=str).iloc[2:]
    many = pd.concat([wide.assign(ResponseId=wide["ResponseId"] + f"_{copy}") for copy in range(8)])
    many.to_csv(tmp_path / "posts.csv", index=False)
    made = conjury(
        *("import", "posts.csv", "--format", "qualtrics", "--out", "choices.parquet"),
        *("--draft-study", "study.yaml", "--covariates", "Age"),
        cwd=tmp_path,
    )
    assert (made.returncode, made.stderr) == (0, "")
    first_line = made.stdout.splitlines()[0]
    assert first_line == "144 rows of choices in choices.parquet: 24 respondents, 2 tasks, 2 attributes"
    assert "Respondents who saw no task and are left out: 8." in made.stdout
    assert "vote1_repeated_flipped is task 1 once more, with its profiles swapped." in made.stdout
    fitted = conjury("fit", "study.yaml", "--data", "choices.parquet", "--draws", 0, cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    amce = read_table(tmp_path / "results" / "tables" / "amce.parquet")
    assert amce["feature"].unique().tolist() == ["curse_word", "number_of_likes"]
    assert amce["std_error"].notna().sum() == 2


def test_outcomes_and_repeat_can_be_named(conjury: Run, tmp_path: Path) -> None:
    made = conjury(
        *("import", EXPORT, "--out", "choices.csv", "--outcomes", "vote1,vote2"),
        *("--repeated", "vote1_repeated_flipped=2", "--no-flipped"),
        cwd=tmp_path,
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert "is task 2 once more, with the same profiles in the same places" in made.stdout


def test_a_draft_does_not_overwrite_a_study(conjury: Run, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("name: mine\n")
    refused = conjury("import", EXPORT, "--out", "c.csv", "--draft-study", "study.yaml", cwd=tmp_path)
    assert refused.returncode == 2
    assert "study.yaml exists; a draft would overwrite it" in refused.stderr
    assert (tmp_path / "study.yaml").read_text() == "name: mine\n"


def test_a_wrong_format_or_option_ends_with_one_sentence(conjury: Run, tmp_path: Path) -> None:
    for options, sentence in (
        (["--format", "spss"], "conjury: --format 'spss' is unknown; use qualtrics, mturk, "),
        (
            ["--outcomes", "chosen="],
            "conjury: --outcomes 'chosen=' cannot be used; write each outcome once as ",
        ),
    ):
        refused = conjury("import", EXPORT, "--out", "c.csv", *options, cwd=tmp_path)
        assert refused.returncode == 2
        assert refused.stderr.startswith(sentence)
        assert len(refused.stderr.splitlines()) == 1


def test_every_option_of_ratings_is_read_for_some_format() -> None:
    assert {field.name for field in fields(RatingOptions)} == set().union(*READ.values())


def test_options_that_were_not_typed_are_told_from_those_that_were() -> None:
    assert RatingOptions().typed() == []
    assert RatingOptions(value=["a"], all_shown=True, again="refuse").typed() == ["value", "all_shown"]


def test_a_command_takes_groups_of_options_as_one_object() -> None:
    taken = []

    def cut(what: str, how: Cut, twice: bool = False) -> None:
        taken.append((what, how, twice))

    app = typer.Typer()
    app.command()(grouped(cut))
    made = CliRunner().invoke(app, ["wood", "--deep", "3", "--sharp", "a", "--sharp", "b", "--twice"])
    assert made.exit_code == 0, made.output
    assert CliRunner().invoke(app, ["stone"]).exit_code == 0
    assert taken == [("wood", Cut(3, ["a", "b"]), True), ("stone", Cut(), False)]
    assert CliRunner().invoke(app, ["wood", "--deep", "far"]).exit_code == 2
