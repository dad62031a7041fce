"""``design --people``, ``collect --tasks`` and ``simulate --run``: what they print, write and refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from cases import cases
from fakes.studies import towns, write_study

from conjury.analysis.conjoint.power import design_card_page

HUMAN = "human,human,,part_worth,size,large,2.0\n"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The study of towns with a simulated panel, and cards without figures, which take most of the time."""
    monkeypatch.setattr(design_card_page, "_draw", lambda *arguments: {})
    folder = write_study(tmp_path / "towns", towns())
    with (folder / "truth.csv").open("a", encoding="utf-8") as file:
        file.write(HUMAN)
    return folder


def plain(out: str) -> str:
    return " ".join(out.split())


@pytest.mark.long
def test_five_people_and_a_model_judge_the_same_tasks(ran: Callable[..., str], study: Path) -> None:
    out = plain(ran("design", study, "--people 5"))
    assert "5 people with 3 tasks; 15 different tasks, drawn separately for each person" in out
    assert "Next: conjury collect" in out
    assert "--judge JUDGE --tasks panel" in out
    sheet = pd.read_csv("runs/towns/design/panel_tasks.csv")
    assert len(sheet) == 30
    assert {"judge_id", "judge_kind", "pair_id", "position", "size", "sampling_probability"} <= set(sheet)
    out = plain(ran("collect", study, "--judge judge --backend simulated --tasks panel --prompt plain"))
    assert "Requests 15: 0 answered" in out
    assert "15 new answers" in out
    out = plain(
        ran("collect", study, "--judge judge --backend simulated --tasks all --prompt plain --dry-run")
    )
    assert "Requests 59: 15 answered, 0 in batches, 0 failed permanently, 44 to send" in out
    ran("simulate", study, "--run runs/towns --judge human --out people.parquet")
    people = pd.read_parquet("people.parquet")
    models = pd.read_parquet("runs/towns/choices.parquet")
    assert set(people["pair_id"]) == set(models["pair_id"]) == set(sheet["pair_id"])
    assert people["judge_id"].nunique() == 5


@pytest.mark.long
def test_the_card_is_about_the_people_of_the_design(ran: Callable[..., str], study: Path) -> None:
    out = plain(ran("design", study, "--pairs 30 --people 4 --sample uniform --people-per-task 2"))
    told = "People: 4 people with 3 tasks; 6 different tasks, sampled uniformly from the pairs of models."
    assert told in out
    assert "not known for 4 x 3 pairs." in out
    assert "drawn separately for each person" not in out
    assert "Power of People assumes that each pair" in out
    ran("design", study, "--pairs 30 --out later")
    assert "10 x 3 pairs, drawn separately for each person" in Path("later/design/card.html").read_text(
        encoding="utf-8"
    )
    ran("design", study, "--people 4 --sample uniform --people-per-task 2 --out later")
    assert Path("later/design/card.csv").read_bytes() == Path("runs/towns/design/card.csv").read_bytes()
    assert told in Path("later/design/card.html").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize(("sample", "tasks", "told"), cases(__file__, "sentences_by_task"))
def test_what_follows_answers_depends_on_the_tasks(
    ran: Callable[..., str], study: Path, sample: str, tasks: str, told: str
) -> None:
    ran("design", study, f"--pairs 30 --people 2 {sample}")
    out = plain(ran("collect", study, f"--judge judge --backend simulated --prompt plain --tasks {tasks}"))
    assert re.search(f"Next: {told}" if tasks == "panel" else f"Next: conjury fit .*{told}", out)
