"""From exports of conjoints and ratings to tables with the command line alone, and refused options."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from conjury.cli.import_options import ExportOptions
from conjury.cli.main import main
from conjury.cli.options import grouped
from conjury.inference.humans.formats import FORMATS, JOINED
from conjury.inference.tables import read_table

Conjury = Callable[..., subprocess.CompletedProcess[str]]
Run = Callable[..., tuple[int, str, str]]

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
HUMANS = FIXTURES / "humans"
CONJOINT = FIXTURES / "tables" / "qualtrics.csv"
QUALTRICS = ("qualtrics.csv", "--ratings", "j{item}_{dimension}")
WORDS = ("--anchors", "Not funny at all=0,A little funny=1,Moderately funny=2,Very funny=4")
PROLIFIC = ("prolific.csv", "--format", "prolific", "--judgments")


@dataclass(frozen=True)
class Cut:
    depth: Annotated[int, typer.Option("--deep", help="How deep.")] = 1
    sharp: Annotated[list[str] | None, typer.Option()] = None


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run `conjury import` on a fixture, with judgments.parquet in an empty folder as its output."""
    monkeypatch.chdir(tmp_path)

    def call(export: str | Path, *options: str) -> tuple[int, str, str]:
        out = ("--out", "judgments.parquet")
        monkeypatch.setattr(sys, "argv", ["conjury", "import", str(HUMANS / export), *out, *options])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    return call


def judgments() -> pd.DataFrame:
    return read_table("judgments.parquet", "judgments")


def test_an_export_becomes_choices_and_a_study_that_fit_takes(conjury: Conjury, tmp_path: Path) -> None:
    wide = pd.read_csv(CONJOINT, dtype=str).iloc[2:]
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
    assert "vote1_repeated_flipped repeats task 1, with its profiles swapped." in made.stdout
    fitted = conjury("fit", "study.yaml", "--data", "choices.parquet", "--draws", 0, cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    amce = read_table(tmp_path / "results" / "tables" / "amce.parquet")
    assert amce["feature"].unique().tolist() == ["curse_word", "number_of_likes"]
    assert amce["std_error"].notna().sum() == 2


def test_a_draft_does_not_overwrite_a_study(run: Run) -> None:
    Path("study.yaml").write_text("name: mine\n")
    code, _, problem = run(CONJOINT, "--draft-study", "study.yaml")
    assert code == 2
    assert "study.yaml exists; a draft would overwrite it" in problem
    assert Path("study.yaml").read_text() == "name: mine\n"


def test_a_qualtrics_export_and_prolific_become_anonymous_judgments(run: Run) -> None:
    code, printed, problem = run(
        *QUALTRICS,
        *WORDS,
        *("--check", "Q9=4", "--min-seconds", "30", "--anonymise"),
        *("--prolific", str(HUMANS / "prolific.csv"), "--prolific-id", "PROLIFIC_PID"),
    )
    assert (code, problem) == (0, "")
    first = "20 judgments in judgments.parquet: 5 people, 3 items, funny, clear; 4 to be used"
    assert printed.splitlines()[0] == first
    assert "  Excluded as failed check Q9: 6 ratings by 2 respondents." in printed
    made = judgments()
    assert made["excluded"].isna().sum() == 4
    assert made["judge_id"].unique().tolist() == ["r001", "r002", "r003", "r004", "r005"]
    assert "PROLIFIC_PID" not in made
    assert not made.astype("string").apply(lambda column: column.str.contains("5f0000")).any(axis=None)


SNAPSHOTS = sorted((FIXTURES / "snapshots" / "imports").glob("*.txt"))


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=[path.stem for path in SNAPSHOTS])
def test_an_import_gives_the_notes_and_the_table_of_its_snapshot(run: Run, snapshot: Path) -> None:
    """After a change on purpose, CONJURY_SNAPSHOTS=write writes the snapshots, to be read in the diff."""
    command, _, expected = snapshot.read_text(encoding="utf-8").partition("\n")
    words = shlex.split(command.removeprefix("$ conjury import "))
    words = [str(FIXTURES / word) if (FIXTURES / word).is_file() else word for word in words]
    code, printed, problem = run(*words)
    assert (code, problem) == (0, "")
    text = printed + "\n" + pd.read_parquet("judgments.parquet").to_csv(index=False)
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        snapshot.write_text(f"{command}\n{text}", encoding="utf-8")
    assert text == expected


def test_demographics_can_be_joined_later_and_flags_of_that_table_are_kept(run: Run) -> None:
    assert run(*QUALTRICS, *WORDS, "--judge", "PROLIFIC_PID")[0] == 0
    made = judgments()
    flags = ["yes", "spoke of it", "False", *["no"] * (len(made) - 3)]
    made.assign(excluded=flags).to_csv("own.csv", index=False)
    code, printed, _ = run(*PROLIFIC, "own.csv")
    assert code == 0
    assert "People found in Prolific's export by Participant id: 4." in printed
    made = judgments()
    assert made.drop_duplicates("judge_id")["age"].dropna().tolist() == [31, 44]
    reasons = made["excluded"].fillna("").str.replace(r"(; )?Prolific: .*", "", regex=True)
    assert reasons.tolist() == ["marked as excluded", "spoke of it", *[""] * (len(made) - 2)]
    used = (made["excluded"].isna() & (made["status"] == "ok")).sum()
    assert used > 0
    assert f"; {used} to be used" in printed


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("qualtrics.csv", "--anchors", "a=1"), "--anchors is not for choices from qualtrics; omit it"),
        ((*QUALTRICS, "--outcomes", "a,b"), "--outcomes is not for ratings from qualtrics"),
        (("ratings.csv", "--format", "csv", "--id", "x"), "--id is not for ratings from csv"),
        (("label_studio.json", "--format", "label-studio", "--check", "a=1"), "--check is not for ratings"),
        ((*QUALTRICS, "--prolific-id", "x"), "--prolific-id names the ids for --prolific"),
        (("qualtrics.csv", "--format", "spss"), "--format 'spss' is unknown; use qualtrics, mturk, "),
        (("qualtrics.csv", "--outcomes", "chosen="), "--outcomes 'chosen=' cannot be used"),
        ((*QUALTRICS, "--check", "Q9"), "--check 'Q9' is incomplete; write COLUMN=ANSWER"),
        ((*QUALTRICS, "--again", "exlude"), "--again exlude (did you mean 'exclude'?) is unknown"),
        ((*QUALTRICS, "--timezone", "Mars"), "--timezone 'Mars' is unknown"),
        ((*QUALTRICS, "--encoding", "utf9"), "--encoding utf9 is unknown"),
        (("prolific.csv", "--format", "prolific"), "name them with --judgments"),
        (("qualtrics.cvs", "--ratings", "Q{item}"), "no such file (did you mean 'qualtrics.csv'?)"),
        (("ratings.csv", "--format", "csv", "--value", "=x"), "--value '=x' cannot be used"),
    ],
)
def test_refused_imports_end_with_one_sentence(run: Run, arguments: tuple[str, ...], problem: str) -> None:
    code, printed, error = run(*arguments)
    assert (code, printed) == (2, "")
    assert error.startswith("conjury: ")
    assert problem in error
    assert len(error.splitlines()) == 1
    assert not Path("judgments.parquet").exists()


def test_the_formats_read_all_options_and_each_has_a_reader() -> None:
    assert {field.name for field in fields(ExportOptions)} == set().union(*(row.options for row in FORMATS))
    assert all(callable(row.load()) for row in FORMATS)
    assert {row.name for row in FORMATS if row.content == JOINED} == {"prolific"}


def test_options_that_were_typed_are_those_that_differ_from_their_defaults() -> None:
    assert ExportOptions().typed() == []
    typed = ExportOptions(value=["a"], all_shown=True, again="refuse", flipped=False).typed()
    assert typed == ["flipped", "value", "all_shown"]


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
