"""Exports, completions and columns become tables with the command line alone; options that are refused."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from conjury.cli.import_options import ExportOptions
from conjury.cli.options import grouped, typed_options
from conjury.cli.reading_options import TableOptions
from conjury.inference.readers.programs.formats import FORMATS, JOINED
from conjury.inference.study import load_study
from conjury.inference.tables import read_table

Told = Callable[..., str]

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
HUMANS = FIXTURES / "humans"
CONJOINT = FIXTURES / "tables" / "qualtrics.csv"
OUT = "--out judgments.parquet"
QUALTRICS = f"import {HUMANS}/qualtrics.csv {OUT} --ratings j{{item}}_{{dimension}}"
ANCHORS = "--anchors 'Not funny at all=0,A little funny=1,Moderately funny=2,Very funny=4'"
PROLIFIC = f"import {HUMANS}/prolific.csv --format prolific {OUT}"
LABELS = "import completions.parquet --study multiturn"
GOLD = "import items.parquet --study multiturn --gold"


@dataclass(frozen=True)
class Cut:
    depth: Annotated[int, typer.Option("--deep", help="How deep.")] = 1
    sharp: Annotated[list[str] | None, typer.Option()] = None


def judgments() -> pd.DataFrame:
    return read_table("judgments.parquet", "judgments")


@pytest.fixture
def completions(tmp_path: Path) -> None:
    """A table of completions and one of jokes in the working directory."""
    lines = json.dumps({"ANSWER": ["setup", "punchline", "punchline"]})
    rows = [
        ("en", 1, "none", "qwen3-8b", 1, "j1", 1, 'Sure: {"category": "Pun", "reasoning": "x"} Next!'),
        ("en", 1, "none", "qwen3-8b", 1, "j2", 2, ""),
        ("es", 2, "none", "apertus-8b", 1, "j2", 1, lines),
    ]
    names = ("language", "task", "perturbation", "model", "run", "item_id", "prompt_no", "raw_completion")
    pd.DataFrame(rows, columns=names).to_parquet(tmp_path / "completions.parquet")
    items = {"item_id": ["j1", "j2"], "language": ["en", "es"], "text": ["One.\nTwo.", "Uno.\nDos."]}
    pd.DataFrame({**items, "kind": ["Witty", "slapstick"]}).to_parquet(tmp_path / "items.parquet")
    of_lines = {"item_id": ["j1", "j1"], "line_no": [1, 2], "does": ["set-up", "Punchline"]}
    pd.DataFrame(of_lines).to_csv(tmp_path / "lines.csv")


def test_an_export_becomes_choices_and_a_study_that_fit_takes(ran):
    wide = pd.read_csv(CONJOINT, dtype=str).iloc[2:]
    many = pd.concat([wide.assign(ResponseId=wide["ResponseId"] + f"_{copy}") for copy in range(8)])
    many.to_csv("posts.csv", index=False)
    told = ran(
        "import posts.csv --format qualtrics --out choices.parquet --draft-study study.yaml --covariates Age"
    )
    first_line = told.splitlines()[0]
    assert first_line == "144 rows of choices in choices.parquet: 24 respondents, 2 tasks, 2 attributes"
    assert "vote1_repeated_flipped repeats task 1, with its profiles swapped." in told
    ran("fit study.yaml --data choices.parquet --draws 0")
    amce = read_table("results/tables/amce.parquet")
    assert amce["feature"].unique().tolist() == ["curse_word", "number_of_likes"]
    assert amce["std_error"].notna().sum() == 2


def test_a_draft_does_not_overwrite_a_study(refused):
    Path("study.yaml").write_text("name: mine\n")
    problem = refused(f"import {CONJOINT} {OUT} --draft-study study.yaml")
    assert "study.yaml exists and is not overwritten" in problem
    assert Path("study.yaml").read_text() == "name: mine\n"


@pytest.mark.long
def test_a_qualtrics_export_and_prolific_become_anonymous_judgments(ran):
    printed = ran(
        f"{QUALTRICS} {ANCHORS} --attention-check Q9=4 --min-seconds 30 --anonymise",
        f"--prolific {HUMANS}/prolific.csv --prolific-id PROLIFIC_PID",
    )
    first = "20 judgments in judgments.parquet: 5 people, 3 items, funny, clear; 4 to be used"
    assert printed.splitlines()[0] == first
    assert "  Excluded as failed check Q9: 6 ratings by 2 respondents." in printed
    made = judgments()
    assert made["excluded"].isna().sum() == 4
    assert made["judge_id"].unique().tolist() == ["r001", "r002", "r003", "r004", "r005"]
    assert "PROLIFIC_PID" not in made
    assert not made.astype("string").apply(lambda column: column.str.contains("5f0000")).any(axis=None)


def test_a_table_with_a_column_of_ratings_is_read_as_any_table(ran):
    rows = [(f"i{k}", "ann", f"d{d:02d}", k % 3) for k in range(4) for d in range(20)]
    pd.DataFrame(rows, columns=["item", "who", "what", "rating"]).to_csv("t.csv", index=False)
    said = ran(f"import t.csv --item item --judge who --value rating --dimension what {OUT}")
    assert said.startswith("80 judgments in judgments.parquet: 1 person, 4 items, d00, d01,")
    assert "d11 and 8 more; 80 to be used" in said


SNAPSHOTS = sorted((FIXTURES / "snapshots" / "imports").glob("*.txt"))


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=[path.stem for path in SNAPSHOTS])
def test_an_import_gives_the_notes_and_the_table_of_its_snapshot(ran, snapshot):
    """After a change on purpose, CONJURY_SNAPSHOTS=write writes the snapshots, to be read in the diff."""
    command, _, expected = snapshot.read_text(encoding="utf-8").partition("\n")
    words = shlex.split(command.removeprefix("$ conjury import "))
    words = [str(FIXTURES / word) if (FIXTURES / word).is_file() else word for word in words]
    printed = ran("import --out judgments.parquet", shlex.join(words))
    text = printed + "\n" + pd.read_parquet("judgments.parquet").to_csv(index=False)
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        snapshot.write_text(f"{command}\n{text}", encoding="utf-8")
    assert text == expected


@pytest.mark.long
def test_demographics_can_be_joined_later_and_flags_of_that_table_are_kept(ran):
    ran(f"{QUALTRICS} {ANCHORS} --judge PROLIFIC_PID")
    made = judgments()
    flags = ["yes", "spoke of it", "False", *["no"] * (len(made) - 3)]
    made.assign(excluded=flags).to_csv("own.csv", index=False)
    printed = ran(f"{PROLIFIC} --judgments own.csv")
    assert "People found in Prolific's export by Participant id: 4." in printed
    made = judgments()
    assert made.drop_duplicates("judge_id")["age"].dropna().tolist() == [31, 44]
    reasons = made["excluded"].fillna("").str.replace(r"(; )?Prolific: .*", "", regex=True)
    assert reasons.tolist() == ["marked as excluded", "spoke of it", *[""] * (len(made) - 2)]
    used = (made["excluded"].isna() & (made["status"] == "ok")).sum()
    assert used > 0
    assert f"; {used} to be used" in printed


def test_completions_become_judgments_and_are_kept(ran, completions):
    printed = ran(f"{LABELS} --parser lenient --items items.parquet")
    assert printed.splitlines()[0] == (
        "3 completions of 2 judges gave 5 judgments in judgments.parquet; the unchanged completions are in "
        "judgments_responses.parquet."
    )
    assert "label/lenient@3: The label" in printed
    assert "Type of joke: 1 ok, 1 empty" in printed
    assert "Of 1 answers with labels for lines, 1 have more labels than there are lines" in printed
    values = judgments()["value"].fillna("").tolist()
    assert values == ["wordplay", "", "setup", "punchline", "punchline"]
    kept = read_table("judgments_responses.parquet", "responses")
    assert kept["text"].str.startswith("Sure").tolist() == [True, False, False]


@pytest.mark.long
def test_the_parser_and_the_file_are_those_that_were_asked_for(ran, completions):
    for parser, expected in (("published", "pun"), ("strict", None)):
        ran(f"{LABELS} --parser {parser} --out {parser}.csv")
        made = read_table(f"{parser}.csv", "judgments")
        assert made.loc[0, "rule"].startswith(f"label/{parser}@")
        assert (None if pd.isna(made.loc[0, "value"]) else made.loc[0, "value"]) == expected
        assert Path(f"{parser}_responses.csv").is_file()


def test_columns_become_gold_labels(ran, completions):
    printed = ran(f"{GOLD} joke_type=kind --gold line=does --lines lines.csv")
    assert printed.splitlines()[0] == "4 gold labels of 2 items in labels.parquet"
    assert "1 gold labels are none of the study's and stay as they are: joke_type 'slapstick' (1)" in printed
    labels = read_table("labels.parquet", "labels")
    assert labels["label"].tolist() == ["witty", "slapstick", "setup", "punchline"]


def test_the_formats_read_all_options_and_each_has_a_reader():
    names = {field.name for group in (ExportOptions, TableOptions) for field in fields(group)} - {"form"}
    assert names == set().union(*(row.options for row in FORMATS))
    assert all(callable(row.load()) for row in FORMATS)
    assert {row.name for row in FORMATS if row.content == JOINED} == {"prolific"}


def test_options_that_were_typed_are_those_that_differ_from_their_defaults():
    assert typed_options(ExportOptions()) == {}
    typed = typed_options(ExportOptions(value=["a"], all_shown=True, flipped=False))
    names = {"flipped": "--no-flipped", "value": "--value", "all_shown": "--all-shown"}
    assert typed == names


def test_a_command_takes_groups_of_options_as_one_object():
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


@pytest.mark.long
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_what_is_made_of_an_export_for_its_owner_alone_is_for_its_owner_alone(mode, ran, tmp_path):
    ran("example qualtrics-conjoint")
    (tmp_path / "conjoint_export.csv").chmod(mode)
    ran("import conjoint_export.csv --out hotels.csv")
    assert ((tmp_path / "hotels.csv").stat().st_mode & 0o077 == 0) == (mode == 0o600)


def test_a_draft_has_usual_references_and_the_combinations_that_never_occur(ran):
    rng, rows = np.random.default_rng(2), []
    for person in range(60):
        row = {"ResponseId": f"R_{person}"}
        for task in (1, 2, 3):
            row[f"choice{task}"] = f"Flat {rng.integers(1, 3)}"
            for profile in (1, 2):
                rent = str(rng.choice(["$900", "$1,200", "$400"]))
                pets = "no pets" if rent == "$400" else str(rng.choice(["cats", "no pets"]))
                for place, (name, level) in enumerate({"Rent": rent, "Pets": pets}.items(), 1):
                    row |= {f"K-{task}-{place}": name, f"K-{task}-{profile}-{place}": level}
        rows.append(row)
    pd.DataFrame(rows).to_csv("flats.csv", index=False)
    text = ran("import flats.csv --format qualtrics --out flats.parquet --draft-study flats.yaml")
    assert "Never shown together: rent 'level_400' with pets 'cats'" in text
    study = load_study("flats.yaml")
    assert [level.label for level in study.attributes[0].levels] == ["$400", "$900", "$1,200"]
    assert study.levels("pets") == ["no_pets", "cats"]
    (restriction,) = study.design.restrictions
    assert restriction.levels == {"rent": ["level_400"], "pets": ["cats"]}
    assert study.analyses[0].formula == "chosen ~ rent * pets"
