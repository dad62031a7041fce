"""``design --people``, ``collect --tasks`` and ``simulate --run``: what they print, write and refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from fakes.studies import towns, write_study

HUMAN = "human,human,,part_worth,size,large,2.0\n"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The study of towns with a simulated panel, and cards without figures, which take most of the time."""
    monkeypatch.setattr("conjury.cli.commands.card._draw", lambda *arguments: [])
    folder = write_study(tmp_path / "towns", towns())
    with (folder / "truth.csv").open("a", encoding="utf-8") as file:
        file.write(HUMAN)
    return folder


def plain(out: str) -> str:
    return " ".join(out.split())


def test_five_people_and_a_model_judge_the_same_tasks(ran: Callable[..., str], study: Path) -> None:
    out = plain(ran("design", study, "--people 5"))
    assert "5 people with 3 tasks; 15 different tasks, drawn apart for each" in out
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
    assert "Requests 59: 15 answered, 0 in batches, 0 failed for good, 44 to send" in out
    ran("simulate", study, "--run runs/towns --judge human --out people.parquet")
    people = pd.read_parquet("people.parquet")
    models = pd.read_parquet("runs/towns/choices.parquet")
    assert set(people["pair_id"]) == set(models["pair_id"]) == set(sheet["pair_id"])
    assert people["judge_id"].nunique() == 5


def test_tasks_are_sampled_from_the_pairs_of_a_run(
    ran: Callable[..., str], refused: Callable[..., str], study: Path
) -> None:
    ran("design", study, "--pairs 30")
    before = plain(ran("design", study, "--people 5 --sample uniform --out before"))
    assert "--judge JUDGE, which asks a model about these tasks and others" in before
    ran("collect", study, "--judge judge --backend simulated --prompt plain")
    by = f"design {study} --people 5 --sample uncertainty --judge judge"
    assert "uncertainty is known by stratum only" in refused(by)
    out = plain(ran(by, "--strata place --floor 0.5"))
    assert "15 different tasks, sampled from the pairs of models by the uncertainty of judge" in out
    low, high = (float(text) for text in re.search(r"from (\S+) to (\S+) ", out).groups())
    assert 0.25 <= low < high <= 1
    assert "Next: conjury parse" in out
    ran("parse", study)
    assert pd.read_parquet("runs/towns/choices.parquet")["sampling_probability"].between(0.25, 1).all()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--sample uniform", "--sample is about tasks of people; add --people N"),
        ("--people 5 --strata size", "--strata is about tasks that are sampled; add --sample"),
        ("--people 5 --sample uniform --judge judge", "--judge is about --sample uncertainty"),
        ("--people 5 --sample uniform --strata size", "--strata has no use with --sample uniform"),
        ("--people 5 --sample uniform --allocation a.csv", "--allocation is about --sample strata"),
        ("--people 5 --panel people.parquet", "--panel takes tasks as they are, so --people has no use"),
        ("--panel people.parquet --floor 0.1", "--panel takes tasks as they are, so --floor has no use"),
        ("--people 5 --repeats 0.1", "--repeats is not for"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    refused: Callable[..., str], study: Path, options: str, told: str
) -> None:
    assert told in plain(refused("design", study, options))


def test_simulated_people_need_tasks(
    ran: Callable[..., str], refused: Callable[..., str], study: Path
) -> None:
    assert "--tasks panel: the design has no tasks of people" in plain(
        refused("collect", study, "--judge judge --backend simulated --tasks panel")
    )
    asked = f"simulate {study} --run runs/towns --judge human --out people.parquet"
    assert "there is no design; draw one with" in plain(refused(asked))
    ran("design", study)
    assert "The design has no tasks of people" in plain(refused(asked))
    assert "--pairs has no use with --run" in plain(refused(asked, "--pairs 3"))
    assert "--tasks panel: the design has no tasks of people" in plain(
        refused("collect", study, "--judge judge --backend simulated --tasks panel")
    )
    assert "--tasks all: the design has no tasks of people" in plain(
        refused("collect", study, "--judge judge --backend simulated --tasks all")
    )
    assert "--tasks people: write models, panel or all" in plain(
        refused("collect", study, "--judge judge --backend simulated --tasks people")
    )
