"""Ledgers that were changed, damaged, lost or exchanged: nothing is read from them, and nothing is sent."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
import typer
from fakes.ledgers import as_first_version
from fakes.studies import change_study, collect, table, towns, write_study

from conjury.cli.commands.collecting.runs import parse, retry, status, verify
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger

pytestmark = pytest.mark.long

HOW = {"backend": "simulated", "pairs": 3}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Folder of a study and of a run of three pairs under two prompts."""
    folder = tmp_path_factory.mktemp("finished")
    study = write_study(folder / "towns", towns())
    assert collect(study, folder / "run", **HOW) == 0
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def execute(folder: Path, *commands: str) -> None:
    with closing(sqlite3.connect(folder / "run" / "ledger.sqlite")) as db:
        for command in commands:
            assert db.execute(command).rowcount != 0
        db.commit()


def reverse_options(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "run" / "ledger.sqlite")) as db:
        for number, text in db.execute("SELECT id, arrangement FROM requests").fetchall():
            arrangement = json.loads(text)
            arrangement["options"].reverse()
            db.execute("UPDATE requests SET arrangement = ? WHERE id = ?", (json.dumps(arrangement), number))
        db.commit()


def verified(folder: Path) -> int:
    with pytest.raises(typer.Exit) as ended:
        verify(str(folder / "towns"), folder / "run")
    return ended.value.exit_code


def files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.glob("*.parquet")}


DAMAGE = {
    "options": reverse_options,
    "models": lambda folder: execute(
        folder, "UPDATE facts SET value = replace(value, 'gpt-4o-mini', 'gpt-4o') WHERE name = 'inputs'"
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_ledger_that_was_changed_or_damaged_is_neither_parsed_nor_gone_on_with(copy, kind):
    study, run = copy / "towns", copy / "run"
    assert verified(copy) == 0
    before = files(run)
    DAMAGE[kind](copy)
    assert verified(copy) == 1
    for use in (
        lambda: parse(str(study), run),
        lambda: collect(study, run, **HOW),
        lambda: collect(study, run, **HOW, dry_run=True),
        lambda: collect(study, run, **HOW, recheck=0.5),
        lambda: retry(str(study), ["ok"], None, run),
    ):
        with pytest.raises(InputError, match="the ledger is damaged, so its answers are not used"):
            use()
    assert files(run) == before


@pytest.mark.parametrize(
    ("state", "trace"),
    [
        ("empty", "responses.parquet"),
        *(("missing", trace) for trace in ("provenance.json", "batches", "ledger.sqlite-wal")),
    ],
)
def test_a_run_whose_ledger_is_lost_is_not_begun_again(copy, state, trace):
    study, run = copy / "towns", copy / "run"
    for path in run.iterdir():
        if path.name not in ("ledger.sqlite", "design", trace):
            path.unlink()
    if trace == "batches":
        (run / "batches").mkdir()
        (run / "batches" / "judge-1.jsonl").write_text("{}\n", encoding="utf-8")
    if trace == "ledger.sqlite-wal":
        (run / trace).write_bytes(b"x" * 100)
    (run / "ledger.sqlite").write_bytes(b"")
    if state == "missing":
        (run / "ledger.sqlite").unlink()
    left = sorted(path.name for path in run.iterdir())
    for use in (
        lambda: collect(study, run, **HOW),
        lambda: collect(study, run, **HOW, dry_run=True),
        lambda: parse(str(study), run),
        lambda: status(str(study), run),
    ):
        with pytest.raises(
            InputError, match=rf"the ledger is {state}, but the folder contains .*-?{trace[:7]}"
        ):
            use()
    assert sorted(path.name for path in run.iterdir()) == left


def test_an_empty_ledger_with_nothing_around_it_is_begun(copy, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "ledger.sqlite").touch()
    assert collect(copy / "towns", tmp_path / "new", **HOW) == 0
    assert len(table(tmp_path / "new", "responses")) == 6


def test_an_older_copy_of_a_ledger_does_not_replace_newer_tables(copy):
    study, run = copy / "towns", copy / "run"
    older = (run / "ledger.sqlite").read_bytes()
    assert collect(study, run, **HOW | {"pairs": 5}) == 0
    before = files(run)
    (run / "ledger.sqlite").write_bytes(older)
    for use in (lambda: parse(str(study), run), lambda: collect(study, run, **HOW)):
        with pytest.raises(InputError, match="no answer to 4 of the 10 requests that are answered in"):
            use()
    assert files(run) == before
    (run / "responses.parquet").unlink()
    parse(str(study), run)
    assert len(table(run, "responses")) == 6


def test_second_answers_whose_ledger_is_lost_are_not_asked_for_again(copy):
    study, run = copy / "towns", copy / "run"
    assert collect(study, run, **HOW, recheck=1.0) == 0
    (run / "recheck" / "seed_1" / "ledger.sqlite").write_bytes(b"")
    with pytest.raises(InputError, match=r"seed_1/ledger\.sqlite: the ledger is empty"):
        collect(study, run, **HOW, recheck=1.0)


def test_the_ledger_of_another_study_is_not_verified_as_that_of_this_one(copy, capsys):
    study, run = copy / "towns", copy / "run"
    change_study(study, lambda content: content.update(name="villages"))
    for use in (verify, parse, status):
        with pytest.raises(InputError, match="villages"):
            use(str(study), run)
    assert "6 requests, no damage" in capsys.readouterr().out


def test_a_ledger_of_the_first_version_is_parsed_and_says_what_is_not_covered(copy, capsys):
    study, run = copy / "towns", copy / "run"
    before = table(run, "choices")
    as_first_version(run / "ledger.sqlite")
    parse(str(study), run)
    assert verified(copy) == 0
    assert "would not be noticed" in capsys.readouterr().out
    assert collect(study, run, **HOW) == 0
    assert "The digests of the first 6 requests and 6 answers were added" in capsys.readouterr().out
    pd.testing.assert_frame_equal(table(run, "choices"), before)
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        assert ledger.problems() == []


def test_facts_that_cannot_be_read_are_damage_and_not_a_crash(copy):
    study, run = copy / "towns", copy / "run"
    execute(copy, "UPDATE facts SET value = '{' WHERE name = 'inputs'")
    for use in (parse, status):
        with pytest.raises(InputError, match="damaged"):
            use(str(study), run)
    assert verified(copy) == 1
