"""Studies of ratings on the command line: simulated, assigned, and collected from a simulation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.tables import read_table, validate

Told = Callable[..., tuple[int, str]]


def test_simulated_judgments_come_with_items_and_truth(conjury_here: Told, tmp_path: Path) -> None:
    code, said = conjury_here(
        "simulate", "oogiri", "--out", "made/judgments.parquet", "--topics", 6, "--people", 32, "--seed", 4
    )
    assert code == 0
    assert "2,016 rows of judgments in made/judgments.parquet" in said
    judgments = validate(read_table("made/judgments.parquet"), "judgments")
    items = validate(read_table("made/judgments.items.parquet"), "items")
    truth = read_table("made/judgments.truth.parquet")
    assert len(judgments) == 6 * 8 * 7 * 6
    assert set(judgments["item_id"]) == set(items["item_id"])
    assert {"latent_correlation", "severity", "expected_rating"} <= set(truth["quantity"])
    assert sorted(path.name for path in Path("made").iterdir()) == [
        "judgments.items.parquet",
        "judgments.parquet",
        "judgments.truth.parquet",
    ]


def test_judges_samples_and_repeats_are_options_of_simulate(conjury_here: Told, tmp_path: Path) -> None:
    options = ("--topics", 4, "--judge", "human", "--judge", "gpt_4_1", "--samples", 3, "--repeats", 0.5)
    code, _ = conjury_here("simulate", "oogiri", "--people", 32, "--out", "j.csv", *options)
    assert code == 0
    judgments = read_table("j.csv")
    counts = judgments.groupby(["judge_kind", "repeat"], observed=True).size()
    assert counts["model", False] == 4 * 8 * 3 * 6
    assert counts["human", False] == 4 * 8 * 4 * 6
    assert counts["human", True] == 32 * 2 * 6
    assert Path("j.items.csv").is_file()
    assert Path("j.truth.csv").is_file()


def test_design_writes_who_rates_what_once(conjury_here: Told, tmp_path: Path) -> None:
    code, said = conjury_here("design", "oogiri", "--people", 40, "--repeats", 0.2)
    assert code == 0
    assert "96 items, 4 people for each; 40 people with 9 to 10 items each; 8 subsets; 80 repeats" in said
    folder = Path("runs/oogiri/design")
    table = pd.read_parquet(folder / "assignment.parquet")
    assert list(table) == ["rater", "subset", "order", "item_id", "repeat"]
    assert len(pd.read_csv(folder / "assignment.csv")) == len(table) == 96 * 4 + 80
    assert conjury_here("design", "oogiri", "--people", 40, "--repeats", 0.2)[0] == 0
    code, said = conjury_here("design", "oogiri", "--people", 48)
    assert code == 2
    assert "there is another assignment already" in said
    assert pd.read_parquet(folder / "assignment.parquet").equals(table)
    assert conjury_here("design", "oogiri", "--people", 48, "--out", "other")[0] == 0


def test_a_simulated_judge_is_collected_and_a_dry_run_sends_nothing(
    conjury_here: Told, tmp_path: Path
) -> None:
    code, said = conjury_here("collect", "oogiri", "--judge", "gpt_4_1", "--dry-run")
    assert code == 0
    assert "96 x 1 prompts (rubric) x 1 sample" in said
    assert "Nothing was sent" in said
    assert not Path("runs").exists()
    code, said = conjury_here("collect", "oogiri", "--judge", "gpt_4_1", "--backend", "simulated")
    assert code == 0
    assert "96 new answers; failed attempts: none" in said
    judgments = validate(read_table("runs/oogiri/judgments.parquet"), "judgments")
    assert len(judgments) == 96 * 6
    assert judgments["status"].eq("ok").all()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("simulate", "oogiri", "--out", "j.parquet", "--pairs", 5), "--pairs is not for oogiri, which is a"),
        (("simulate", "oogiri", "--out", "j.parquet", "--noise", 0), "--noise is not for oogiri"),
        (("simulate", "moderation", "--out", "c.parquet", "--topics", 5), "--topics is not for moderation"),
        (("simulate", "oogiri", "--out", "j.parquet", "--topics", 0), "The number of topics is 0"),
        (("simulate", "oogiri", "--out", "j.parquet", "--people", 9), "There are 9 people"),
        (("design", "oogiri", "--pairs", 5), "--pairs is not for oogiri, which is a study of items"),
        (("design", "oogiri", "--repeats", 2), "--repeats 2: give a share from 0 to 1"),
        (
            ("design", "moderation", "--people", 5),
            "--people is not for moderation, which is a study of pairs",
        ),
    ],
)
def test_options_of_another_kind_of_study_are_refused(
    conjury_here: Told, arguments: tuple[object, ...], told: str
) -> None:
    code, said = conjury_here(*arguments)
    assert code == 2
    assert told in said
    assert "Traceback" not in said
    assert not list(Path().iterdir())
