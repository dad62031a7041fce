"""Data are read once, with the notes, the true values and the companions that belong to them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from cases import cases

from conjury.analysis.pipeline.item_steps import with_gold
from conjury.analysis.pipeline.loading import FileSelection, read_choices_of, read_judgments_of
from conjury.inference.simulation import simulate
from conjury.inference.study import ItemStudy, Study, load_any_study
from conjury.inference.tables.columns import companion
from conjury.inference.tables.writing import atomic_write


@pytest.fixture(scope="module")
def file(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Choices of one judge without a name, and a file of true values next to them."""
    path = tmp_path_factory.mktemp("data") / "choices.csv"
    drawn = simulate(study, 1, pairs=30, judges=["gpt4o"], prompts=["baseline"], truth=False).choices
    drawn.drop(columns="judge_id").to_csv(path, index=False)
    truth = pd.DataFrame({"judge": ["judge", "other"], "analysis": "amce", "estimate": [0.1, 0.2]})
    truth.to_csv(companion(path, "truth"), index=False)
    return path


def test_names_notes_and_true_values_are_those_of_the_judges_of_the_file(study: Study, file: Path) -> None:
    alone = read_choices_of(study, [file])
    assert any("there is no judge_id" in note for note in alone.notes)
    assert alone.truth is not None
    assert alone.truth["judge"].tolist() == ["judge"]
    named = read_choices_of(study, [file], None, FileSelection(judge="gpt4o"))
    assert not any("there is no judge_id" in note for note in named.notes)
    assert set(named.variants[""]["judge_id"]) == {"gpt4o"}


def test_variants_are_tables_of_their_own(study: Study, file: Path) -> None:
    loaded = read_choices_of(study, [file], {"second": file})
    assert list(loaded.tables) == ["choices", "choices.second"]
    assert list(loaded.variants) == ["", "second"]
    assert [(entry["variant"], entry["rows"]) for entry in loaded.described()] == [("", 60), ("second", 60)]


@pytest.mark.parametrize(("table", "role", "expected"), cases(__file__, "companions"))
def test_companions_are_named_after_their_table(table: str, role: str, expected: str) -> None:
    assert companion(table, role) == Path(expected)


def test_a_file_appears_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with atomic_write(path) as file:
        file.write(b"one")

    def fail() -> None:
        with atomic_write(path) as file:
            file.write(b"two")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"one"
    assert [one.name for one in path.parent.iterdir()] == ["file.txt"]


def test_other_readings_of_answers_keep_the_capitals_that_their_rule_keeps(tmp_path: Path) -> None:
    jokes = load_any_study("multiturn")
    assert isinstance(jokes, ItemStudy)
    items = pd.read_csv(jokes.file(jokes.items))["item_id"][:4]
    values = ["Satire", "satire", "dry", "satire"]
    table = pd.DataFrame({"item_id": items, "judge_id": "qwen3_8b", "judge_kind": "model"})
    table = table.assign(dimension="joke_type")
    data, reading = tmp_path / "v2.csv", tmp_path / "v1.csv"
    table.assign(value=[value.lower() for value in values], rule="label/published@1").to_csv(data)
    table.assign(value=values, rule="label/published_v1@1").to_csv(reading)
    _, answered = with_gold(read_judgments_of(jokes, [data]), readings=[reading])
    assert list(answered.others[0]["value"]) == values
