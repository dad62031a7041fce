"""From exports of ratings to judgments with one command, and what is refused with one sentence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.cli.main import main
from conjury.inference.tables import read_table

HUMANS = Path(__file__).resolve().parents[1] / "fixtures" / "humans"
QUALTRICS = ("qualtrics.csv", "--ratings", "j{item}_{dimension}")
WORDS = ("--anchors", "Not funny at all=0,A little funny=1,Moderately funny=2,Very funny=4")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run `conjury import` on a fixture, with judgments.parquet in an empty folder as its output."""
    monkeypatch.chdir(tmp_path)

    def call(export: str, *options: str) -> tuple[int, str, str]:
        out = ("--out", "judgments.parquet")
        monkeypatch.setattr(sys, "argv", ["conjury", "import", str(HUMANS / export), *out, *options])
        with pytest.raises(SystemExit) as stop:
            main()
        code = stop.value.code
        said = capsys.readouterr()
        return (0 if code is None else int(code)), said.out, said.err

    return call


def judgments() -> pd.DataFrame:
    return read_table("judgments.parquet", "judgments")


def test_a_qualtrics_export_and_prolific_become_anonymous_judgments(run: Run) -> None:
    code, said, complaint = run(
        *QUALTRICS,
        *WORDS,
        *("--check", "Q9=4", "--min-seconds", "30", "--anonymise"),
        *("--prolific", str(HUMANS / "prolific.csv"), "--prolific-id", "PROLIFIC_PID"),
    )
    assert (code, complaint) == (0, "")
    first = "20 judgments in judgments.parquet: 5 people, 3 items, funny, clear; 4 to be used"
    assert said.splitlines()[0] == first
    assert "  Excluded as failed check Q9: 6 ratings by 2 respondents." in said
    made = judgments()
    assert made["excluded"].isna().sum() == 4
    assert made["judge_id"].unique().tolist() == ["r001", "r002", "r003", "r004", "r005"]
    assert "PROLIFIC_PID" not in made
    assert not made.astype("string").apply(lambda column: column.str.contains("5f0000")).any(axis=None)


@pytest.mark.parametrize(
    ("export", "options", "rows"),
    [
        (
            "qualtrics_loop.csv",
            "--ratings {place}_Q3_{dimension} --item joke_{place} --dimensions 1=funny,2=clear",
            10,
        ),
        ("mturk.csv", "--format mturk --item Input.joke_id --dimensions funny", 4),
        (
            "mturk_packed.csv",
            "--format mturk --ratings Answer.{dimension}_{place} --item Input.id_{place} --dimensions funny",
            4,
        ),
        ("lancers.csv", "--format lancers --value clear=わかりやすさ --item 回答番号", 4),
        (
            "ratings.csv",
            "--format csv --value rating --dimension scale --item joke --check-item gold=4",
            6,
        ),
        ("label_studio.json", "--format label-studio --item joke_id --judge email", 10),
        ("label_studio_min.json", "--format label-studio --dimensions wit --items 11=a,12=b", 3),
    ],
)
def test_every_format_gives_judgments_with_one_command(
    run: Run, export: str, options: str, rows: int
) -> None:
    code, said, complaint = run(export, *options.split())
    assert (code, complaint) == (0, "")
    assert said.startswith(f"{rows} judgments in judgments.parquet: ")
    assert len(judgments()) == rows


def test_demographics_can_be_joined_later(run: Run) -> None:
    assert run(*QUALTRICS, *WORDS, "--judge", "PROLIFIC_PID")[0] == 0
    code, said, _ = run("prolific.csv", "--format", "prolific", "--judgments", "judgments.parquet")
    assert code == 0
    assert "People found in Prolific's export by Participant id: 4." in said
    made = judgments().drop_duplicates("judge_id")
    assert made["age"].dropna().tolist() == [31, 44]


def test_flags_of_a_table_of_one_s_own_are_flags_and_its_reasons_are_reasons(run: Run) -> None:
    assert run(*QUALTRICS, *WORDS, "--judge", "PROLIFIC_PID")[0] == 0
    made = judgments()
    flags = ["no"] * len(made)
    flags[:3] = ["yes", "spoke of it", "False"]
    made.assign(excluded=flags).to_csv("own.csv", index=False)
    code, said, _ = run("prolific.csv", "--format", "prolific", "--judgments", "own.csv")
    assert code == 0
    known = judgments()["excluded"].fillna("").str.replace(r"(; )?Prolific: .*", "", regex=True)
    assert known.tolist() == ["marked as excluded", "spoke of it", *[""] * (len(made) - 2)]
    used = (judgments()["excluded"].isna() & (judgments()["status"] == "ok")).sum()
    assert used > 0
    assert f"; {used} to be used" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("qualtrics.csv", "--anchors", "a=1"),
            "--anchors is about ratings, and nothing tells which columns",
        ),
        ((*QUALTRICS, "--outcomes", "a,b"), "--outcomes is not for an import of ratings from qualtrics"),
        ((*QUALTRICS, "--prolific-id", "x"), "--prolific-id names the ids for --prolific"),
        ((*QUALTRICS, "--check", "Q9"), "--check 'Q9' is incomplete; write COLUMN=ANSWER"),
        ((*QUALTRICS, "--again", "exlude"), "--again exlude (did you mean 'exclude'?) is unknown"),
        ((*QUALTRICS, "--timezone", "Mars"), "--timezone 'Mars' is unknown"),
        ((*QUALTRICS, "--encoding", "utf9"), "--encoding utf9 is unknown"),
        (
            (*QUALTRICS, "--anchors", "Very funny=4"),
            "row 1 of column 'j2_funny' holds 'Not funny at all', which",
        ),
        (("label_studio.json", "--format", "label-studio", "--check", "a=1"), "--check is not for --format"),
        (("prolific.csv", "--format", "prolific"), "name them with --judgments"),
        (("qualtrics.cvs", "--ratings", "Q{item}"), "no such file (did you mean 'qualtrics.csv'?)"),
        (("ratings.csv", "--format", "csv", "--value", "=x"), "--value '=x' cannot be used"),
    ],
)
def test_what_cannot_be_imported_ends_with_one_sentence(
    run: Run, arguments: tuple[str, ...], sentence: str
) -> None:
    code, said, complaint = run(*arguments)
    assert code == 2
    assert said == ""
    assert complaint.startswith("conjury: ")
    assert sentence in complaint
    assert len(complaint.splitlines()) == 1
    assert not Path("judgments.parquet").exists()


def test_judgments_of_an_import_are_ratings_of_the_analysis(
    conjury: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    made = conjury(
        *("import", HUMANS / QUALTRICS[0], *QUALTRICS[1:], *WORDS, "--out", "judgments.csv"), cwd=tmp_path
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert read_table(tmp_path / "judgments.csv", "judgments")["excluded"].notna().sum() == 12
