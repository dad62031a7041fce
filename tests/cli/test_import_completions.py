"""From raw completions to judgments, and from columns to gold labels, with one command each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.cli.main import main
from conjury.inference.tables import read_table

Run = Callable[..., tuple[int, str, str]]
STUDY = ("--study", "multiturn")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run `conjury import` in an empty folder with a table of completions and one of jokes."""
    monkeypatch.chdir(tmp_path)
    lines = json.dumps({"ANSWER": ["setup", "punchline", "punchline"]})
    rows = [
        ("en", 1, "none", "qwen3-8b", 1, "j1", 1, 'Sure: {"category": "Pun", "reasoning": "x"} Next!'),
        ("en", 1, "none", "qwen3-8b", 1, "j2", 2, ""),
        ("es", 2, "none", "apertus-8b", 1, "j2", 1, lines),
    ]
    names = ("language", "task", "perturbation", "model", "run", "item_id", "prompt_no", "raw_completion")
    pd.DataFrame(rows, columns=names).to_parquet("completions.parquet")
    items = {"item_id": ["j1", "j2"], "language": ["en", "es"], "text": ["One.\nTwo.", "Uno.\nDos."]}
    pd.DataFrame({**items, "kind": ["Witty", "slapstick"]}).to_parquet("items.parquet")
    of_lines = {"item_id": ["j1", "j1"], "line_no": [1, 2], "does": ["set-up", "Punchline"]}
    pd.DataFrame(of_lines).to_csv("lines.csv")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["conjury", "import", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        code = stop.value.code
        said = capsys.readouterr()
        return (0 if code is None else int(code)), said.out, said.err

    return call


def test_completions_become_judgments_and_are_kept(run: Run) -> None:
    given = ("--parser", "lenient", "--items", "items.parquet")
    code, said, complaint = run("completions.parquet", *STUDY, *given)
    assert (code, complaint) == (0, "")
    assert said.splitlines()[0] == (
        "3 completions of 2 judges gave 5 judgments in judgments.parquet; the unchanged completions are in "
        "judgments_responses.parquet."
    )
    assert "label/lenient@2: The label" in said
    assert "Type of joke: 1 ok, 1 empty" in said
    assert "Of 1 answers with labels for lines, 1 have more labels than there are lines" in said
    judgments = read_table("judgments.parquet", "judgments")
    assert judgments["value"].fillna("").tolist() == ["wordplay", "", "setup", "punchline", "punchline"]
    kept = read_table("judgments_responses.parquet", "responses")
    assert kept["text"].str.startswith("Sure").tolist() == [True, False, False]


def test_the_parser_and_the_file_are_those_that_were_asked_for(run: Run) -> None:
    for parser, expected in (("published", "pun"), ("strict", None)):
        code, _, _ = run("completions.parquet", *STUDY, "--parser", parser, "--out", f"{parser}.csv")
        assert code == 0
        made = read_table(f"{parser}.csv", "judgments")
        assert made.loc[0, "rule"].startswith(f"label/{parser}@")
        assert (None if pd.isna(made.loc[0, "value"]) else made.loc[0, "value"]) == expected
        assert Path(f"{parser}_responses.csv").is_file()


def test_columns_become_gold_labels(run: Run) -> None:
    gold = ("--gold", "joke_type=kind", "--gold", "line=does", "--lines", "lines.csv")
    code, said, complaint = run("items.parquet", *STUDY, *gold)
    assert (code, complaint) == (0, "")
    assert said.splitlines()[0] == "4 gold labels of 2 items in labels.parquet"
    assert "1 gold labels are none of the study's and stay as they are: joke_type 'slapstick' (1)" in said
    labels = read_table("labels.parquet", "labels")
    assert labels["label"].tolist() == ["witty", "slapstick", "setup", "punchline"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["completions.parquet"], "--out is missing"),
        (["completions.parquet", "--parser", "strict"], "--parser needs the study"),
        (["completions.parquet", "--study", "moderation"], "--study moderation is a conjoint"),
        (["completions.parquet", "--study", "multiturns"], "did you mean multiturn?"),
        (["completions.parquet", *STUDY, "--parser", "lax"], "there is no rule 'lax'"),
        (["completions.parquet", *STUDY, "--judge", "x"], "--judge does not go with --study"),
        (["completions.parquet", *STUDY, "--format", "csv"], "--format does not go with --study"),
        (["completions.parquet", *STUDY, "--lines", "lines.csv"], "--lines is for gold labels"),
        (["completions.parquet", *STUDY, "--items", "gone.parquet"], "gone.parquet"),
        (["gone.parquet", *STUDY], "gone.parquet"),
        (["items.parquet", *STUDY, "--gold", "kind"], "--gold kind: write the label set and its column"),
        (["items.parquet", *STUDY, "--gold", "type=kind"], "has no labels 'type'"),
        (
            ["items.parquet", *STUDY, "--gold", "joke_type=kid"],
            "column 'kid' is missing",
        ),
        (
            ["items.parquet", *STUDY, "--gold", "joke_type=kind", "--parser", "strict"],
            "omit one of the two",
        ),
    ],
)
def test_what_cannot_be_imported_is_told_in_one_sentence(run: Run, arguments: list[str], told: str) -> None:
    code, said, complaint = run(*arguments)
    assert (code, said) == (2, "")
    assert told in complaint
    assert complaint.count("\n") == 1
