"""Choices of others in any format: missing cells, rows, labels and numbers of levels, positions, outcomes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import Study, load_study
from conjury.inference.tables.reading import ReadingRules

STUDY = """\
name: taxes
title: Taxes
kind: conjoint
question: Which one?
attributes:
  - {id: tax, label: Tax, levels: [{id: none, label: No tax}, {id: low, label: $10}, {id: high, label: $20}]}
  - {id: size, label: Size, levels: [{id: s, label: "1"}, {id: m, label: "2"}, {id: l, label: "3"}]}
design: {pairs: 12, respondents: 4, tasks: 3}
judges: [{id: human, label: People, kind: human}]
"""
LEVELS = {"tax": ["none", "low", "high"], "size": ["s", "m", "l"]}


@pytest.fixture(scope="module")
def taxes(tmp_path_factory: pytest.TempPathFactory) -> Study:
    path = tmp_path_factory.mktemp("taxes") / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return load_study(path)


def survey(**columns: Any) -> pd.DataFrame:
    """Four people in three tasks each, the last task of one without an answer."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "judge_id": np.repeat(["r1", "r2", "r3", "r4"], 6),
            "judge_kind": "human",
            "pair_id": np.repeat(np.arange(12), 2),
            "task": np.tile(np.repeat([1, 2, 3], 2), 4),
            "position": ["A", "B"] * 12,
            "chosen": np.tile([1.0, 0.0, 0.0, 1.0], 6),
            **{name: rng.permutation(np.repeat(levels, 8)) for name, levels in LEVELS.items()},
        }
    )
    frame.loc[22:, "chosen"] = np.nan
    return frame.assign(**columns)


def with_nothing_as(frame: pd.DataFrame, code: Any) -> pd.DataFrame:
    texts = frame["chosen"].map(lambda value: code if pd.isna(value) else int(value))
    return frame.assign(chosen=texts)


def write_spss(frame: pd.DataFrame, path: Path) -> None:
    coded = frame.assign(tax=frame["tax"].map({"none": 1.0, "low": 2.0, "high": 3.0}))
    labels = {"tax": {1.0: "No tax", 2.0: "$10", 3.0: "$20"}}
    pyreadstat.write_sav(coded, str(path), variable_value_labels=labels)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "choices.parquet": lambda frame, path: frame.to_parquet(path),
    "choices.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "choices.sav": write_spss,
}


@pytest.mark.parametrize("name", WRITERS)
def test_choices_are_the_same_in_formats_with_types(name, taxes, tmp_path):
    survey().to_csv(tmp_path / "plain.csv", index=False)
    plain = load_choices(taxes, tmp_path / "plain.csv")
    WRITERS[name](survey(), tmp_path / name)
    pd.testing.assert_frame_equal(load_choices(taxes, tmp_path / name), plain)
    assert {column: plain[column].cat.categories.tolist() for column in LEVELS} == LEVELS
    assert plain["status"].tolist() == ["ok"] * 22 + ["missing"] * 2


@pytest.mark.parametrize("code", ["-99", ".", "N/A", "no answer"])
def test_codes_for_no_answer_are_asked_about_or_stated(code, taxes, tmp_path):
    file = tmp_path / "choices.csv"
    with_nothing_as(survey(), code).to_csv(file, index=False)
    with pytest.raises(InputError, match=rf"row 23 of column 'chosen' .*--missing '{code}'"):
        load_choices(taxes, file)
    notes: list[str] = []
    choices = load_choices(taxes, file, rules=ReadingRules(missing=[code]), notes=notes)
    assert int(choices["chosen"].isna().sum()) == 2
    assert notes[0] == f"choices.csv: 2 cells '{code}' of column 'chosen' count as missing."


def test_a_study_file_states_how_its_tables_are_read(taxes, tmp_path):
    block = """\
reading:
  missing: [-99]
  exclude: {wave: 2}
  levels: {party: [left, centre, right]}
  relabel: {nothing: none}
"""
    (tmp_path / "study.yaml").write_text(STUDY + block, encoding="utf-8")
    study, file = load_study(tmp_path / "study.yaml"), tmp_path / "choices.csv"
    frame = with_nothing_as(survey(), -99).replace({"tax": {"none": "nothing"}})
    parties = np.repeat(["right", "left", "centre", "left"], 6)
    frame.assign(wave=np.repeat([1, 1, 2, 1], 6), party=parties).to_csv(file, index=False)
    choices = load_choices(study, file)
    assert choices["judge_id"].unique().tolist() == ["r1", "r2", "r4"]
    assert choices["party"].cat.categories.tolist() == ["left", "centre", "right"]
    assert int(choices["chosen"].isna().sum()) == 2
    assert choices["tax"].tolist() == survey()["tax"].drop(range(12, 18)).tolist()
    before = load_choices(study, file, rules=ReadingRules(exclude={"wave": "1"}))
    assert before["judge_id"].unique().tolist() == ["r3"]
    with pytest.raises(InputError, match=r"no cell of 'chosen', 'tax', 'size' is 'nothin'"):
        load_choices(study, file, rules=ReadingRules(relabel={"nothin": "none"}))


@pytest.mark.parametrize(("levels", "note"), cases(__file__, "writings_of_levels"))
def test_levels_are_ids_labels_or_numbers(levels, note, taxes, tmp_path):
    frame = survey(size=survey()["size"].map({"s": 1, "m": 2, "l": 3}))
    file, notes = tmp_path / "choices.csv", []
    frame.assign(tax=frame["tax"].map(levels)).to_csv(file, index=False)
    choices = load_choices(taxes, file, notes=notes)
    assert choices["tax"].tolist() == survey()["tax"].tolist()
    assert choices["size"].tolist() == survey()["size"].tolist()
    assert [text for text in notes if "Numbers" in text] == (
        [f"choices.csv: Numbers in column 'tax' are those of its levels: {note}."] if note else []
    )
    if note:
        with pytest.raises(InputError, match=r"which is a guess, and --strict allows none.*--relabel"):
            load_choices(taxes, file, rules=ReadingRules(strict=True))


@pytest.mark.parametrize("numbers", [[1, 2, 2], [2, 3, 4], [1, 2, 5]])
def test_numbers_that_are_not_those_of_levels_are_refused(numbers, taxes, tmp_path):
    frame = survey(tax=survey()["tax"].map(dict(zip(LEVELS["tax"], numbers, strict=True))))
    frame.to_csv(tmp_path / "choices.csv", index=False)
    with pytest.raises(InputError, match=r"row \d+ of column 'tax' .*not one of its levels; use one of"):
        load_choices(taxes, tmp_path / "choices.csv")


@pytest.mark.parametrize(("position", "chosen"), cases(__file__, "positions"))
def test_positions_and_choices_in_other_words_are_those_of_studies(position, chosen, taxes, tmp_path):
    frame = survey().iloc[:22]
    written = frame.assign(position=frame["position"].map(position))
    if chosen is not None:
        written = written.assign(chosen=written["chosen"].astype(int).map(chosen))
    written.to_csv(tmp_path / "choices.csv", index=False)
    choices = load_choices(taxes, tmp_path / "choices.csv")
    turned = position["A"] == "b"
    assert choices["position"].tolist() == [*(["B", "A"] if turned else ["A", "B"])] * 11
    assert choices["chosen"].tolist() == frame["chosen"].astype(int).tolist()


def test_three_profiles_and_other_codes_are_refused_with_the_command_or_option(taxes, tmp_path):
    file = tmp_path / "choices.csv"
    survey(position=["A", "B", "C"] * 8).to_csv(file, index=False)
    with pytest.raises(InputError, match=r"'position' has 3 values .*`conjury conjoint`"):
        load_choices(taxes, file)
    frame = survey().iloc[:22]
    frame.assign(chosen=frame["chosen"].astype(int) + 1).to_csv(file, index=False)
    with pytest.raises(InputError, match="--relabel"):
        load_choices(taxes, file)
    choices = load_choices(taxes, file, rules=ReadingRules(relabel={"2": "1", "1": "0"}))
    assert choices["chosen"].tolist() == frame["chosen"].astype(int).tolist()
    assert choices["size"].astype(str).tolist() == frame["size"].tolist()
    with pytest.raises(InputError, match="--levels a,b names no column"):
        load_choices(taxes, file, rules=ReadingRules(levels={"": ("a", "b")}))


def test_strict_reading_allows_no_assumption(taxes, tmp_path):
    file = tmp_path / "choices.csv"
    survey().to_csv(file, index=False)
    load_choices(taxes, file, rules=ReadingRules(strict=True))
    survey().drop(columns="judge_kind").to_csv(file, index=False)
    with pytest.raises(InputError, match=r"no judge_kind.*--strict allows none; add it"):
        load_choices(taxes, file, rules=ReadingRules(strict=True))
    survey(party="left").to_csv(file, index=False)
    with pytest.raises(InputError, match=r"no level order is given for party.*--levels"):
        load_choices(taxes, file, rules=ReadingRules(strict=True))
