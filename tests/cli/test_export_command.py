"""`conjury export` writes a study for other programs, and `conjury import` reads the answers to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from made_up.exports import Qualtrics, jspsych_trials, write_study

from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import load_study
from conjury.inference.tables import read_table


def first(slot: str, task: int, answer: str, options: int) -> int:
    """Made-up people who agree and choose what comes first; blue is second."""
    return int(answer == "attention_colour")


def test_a_study_goes_to_qualtrics_and_its_answers_come_back(
    tmp_path: Path, done: Callable[..., str]
) -> None:
    write_study(tmp_path, "hotel")
    printed = done("export study.yaml --to qualtrics", cwd=tmp_path)
    assert "4 slots for qualtrics, in runs/hotel/elsewhere/qualtrics" in printed
    assert (
        "Next: conjury import EXPORT --format qualtrics --study study.yaml --out choices.parquet" in printed
    )
    file = tmp_path / "runs/hotel/elsewhere/qualtrics/hotel.qsf"
    survey = Qualtrics(json.loads(file.read_text()), first)
    for _ in range(4):
        survey.answer()
    survey.export(tmp_path / "export.csv")
    printed = done(
        "import export.csv --format qualtrics --study study.yaml --out choices.parquet", cwd=tmp_path
    )
    assert "40 rows of choices in choices.parquet: 4 people" in printed
    assert "4 respondents in choices_respondents.parquet" in printed
    for name in ("choices.parquet", "choices_respondents.parquet"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    choices = read_table(tmp_path / "choices.parquet", "choices")
    assert choices.loc[choices["chosen"] == 1, "position"].tolist() == ["A"] * 20
    assert not load_choices(load_study(tmp_path / "study.yaml"), tmp_path / "choices.parquet").empty


def test_the_run_that_was_exported_can_be_another_folder(tmp_path: Path, done: Callable[..., str]) -> None:
    write_study(tmp_path, "labels")
    printed = done("export study.yaml --to jspsych --people 4 --out elsewhere", cwd=tmp_path)
    assert "--run elsewhere --out judgments.parquet" in printed
    content = json.loads((tmp_path / "elsewhere/elsewhere/jspsych/study.json").read_text())
    trials = [trial for visit in jspsych_trials(content, first) for trial in visit]
    (tmp_path / "data.json").write_text(json.dumps(trials))
    printed = done("import data.json --format jspsych --study study.yaml --run elsewhere", cwd=tmp_path)
    assert "judgments in judgments.parquet: 4 people" in printed
    judgments = read_table(tmp_path / "judgments.parquet", "judgments")
    assert set(judgments["value"]) == {"safe"}
    assert set(judgments["dimension"]) == {"harm_label"}
