"""Studies of ratings and labels on the command line: simulated, assigned, collected, fitted and reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.benchmark import scores
from conjury.analysis.benchmark.data.label_answers import score_study
from conjury.analysis.pipeline.item_steps import find_gold, with_gold
from conjury.analysis.pipeline.loading import read_judgments_of
from conjury.analysis.pipeline.runner import FittedResults
from conjury.analysis.pipeline.wings.published import add_printed_numbers
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table, validate

Ran = Callable[..., str]
JUDGE = "oogiri --judge gpt_4_1"


def item_study(name: str) -> ItemStudy:
    known = load_any_study(name)
    assert isinstance(known, ItemStudy)
    return known


@pytest.mark.long
def test_simulated_judgments_come_with_items_and_truth(ran: Ran) -> None:
    told = ran("simulate oogiri --out made/judgments.parquet --topics 6 --people 32 --seed 4")
    assert "2,016 rows of judgments in made/judgments.parquet" in told
    judgments = validate(read_table("made/judgments.parquet"), "judgments")
    items = validate(read_table("made/judgments.items.parquet"), "items")
    assert len(judgments) == 6 * 8 * 7 * 6
    assert set(judgments["item_id"]) == set(items["item_id"])
    truth = read_table("made/judgments.truth.parquet")
    assert {"latent_correlation", "severity", "expected_rating"} <= set(truth["quantity"])
    names = ("judgments.items.parquet", "judgments.parquet", "judgments.truth.parquet")
    assert {path.name for path in Path("made").iterdir()} == set(names)


def test_judges_samples_and_repeats_are_options_of_simulate(ran: Ran) -> None:
    ran(f"simulate {JUDGE} --judge human --people 32 --out j.csv --topics 4 --samples 3 --repeats 0.5")
    judgments = read_table("j.csv")
    counts = judgments.groupby(["judge_kind", "repeat"], observed=True).size()
    assert counts["model", False] == 4 * 8 * 3 * 6
    assert counts["human", False] == 4 * 8 * 4 * 6
    assert counts["human", True] == 32 * 2 * 6
    assert Path("j.items.csv").is_file()
    assert Path("j.truth.csv").is_file()


def test_simulated_labels_come_with_items_gold_labels_and_truth(ran: Ran) -> None:
    told = ran("simulate multiturn --out made/j.parquet --items 12 --judge qwen3_8b --samples 2 --seed 4")
    assert "56 items in made/j.items.parquet" in told
    names = {"judgments": "j", "items": "j.items", "labels": "j.labels"}
    tables = {name: validate(read_table(f"made/{file}.parquet"), name) for name, file in names.items()}
    assert (tables["judgments"]["origin"] == "simulated").all()
    assert (tables["labels"]["label_set"] == "joke_type").sum() == 11  # 7 of 8 English jokes
    assert {"accuracy", "pass_at_k", "difference"} <= set(read_table("made/j.truth.parquet")["quantity"])


@pytest.mark.long
def test_repeats_and_samples_of_pairs_are_drawn_on_request(ran: Ran) -> None:
    ran(
        "simulate moderation --judge gpt4o --prompt baseline --pairs 50 --out choices.parquet",
        "--swapped-share 0.2 --samples 2 --noise 0.3",
    )
    choices = read_table("choices.parquet")
    assert choices.groupby(["repeat", "sample"], observed=True).size().tolist() == [100, 100, 20, 20]
    one, two = (choices[choices["sample"] == number]["chosen"].tolist() for number in (1, 2))
    assert one != two


@pytest.mark.long
def test_design_writes_who_rates_what_once(ran: Ran, refused: Callable[..., str]) -> None:
    told = ran("design oogiri --people 40 --repeats 0.2")
    assert "96 items, 4 people per item; 40 people with 9 to 10 items each; 8 subsets; 80 repeats" in told
    folder = Path("runs/oogiri/design")
    table = pd.read_parquet(folder / "assignment.parquet")
    assert list(table) == ["rater", "subset", "order", "item_id", "repeat"]
    assert len(pd.read_csv(folder / "assignment.csv")) == len(table) == 96 * 4 + 80
    ran("design oogiri --people 40 --repeats 0.2")
    assert "the folder already contains another assignment" in refused("design oogiri --people 48")
    assert pd.read_parquet(folder / "assignment.parquet").equals(table)
    ran("design oogiri --people 48 --out other")


def test_a_simulated_judge_is_collected_and_a_dry_run_sends_nothing(ran: Ran) -> None:
    told = ran(f"collect {JUDGE} --dry-run")
    assert "96 x 1 prompts (rubric) x 1 sample" in told
    assert "Nothing was sent" in told
    assert not Path("runs").exists()
    assert "96 new answers; failed attempts: none" in ran(f"collect {JUDGE} --backend simulated")
    judgments = validate(read_table("runs/oogiri/judgments.parquet"), "judgments")
    assert len(judgments) == 96 * 6
    assert judgments["status"].eq("ok").all()


def test_gold_labels_of_a_simulation_are_found_next_to_its_judgments(ran: Ran) -> None:
    known = item_study("multiturn")
    ran("simulate multiturn --out j.parquet --items 9 --judge qwen3_8b --samples 1")
    judged = read_judgments_of(known, [Path("j.parquet")])
    found = find_gold(known, judged, None)
    assert found.file == Path("j.labels.parquet")
    assert set(found.labels["item_id"]) == set(read_table("j.labels.parquet")["item_id"])
    assert any("next to the data, j.labels.parquet" in note for note in found.notes)
    named = find_gold(known, judged, known.folder / "labels.csv")
    assert named.file == known.folder / "labels.csv"


@pytest.mark.long
def test_a_simulation_is_not_compared_with_published_numbers(ran: Ran) -> None:
    known = item_study("harm_or_humor")
    ran("simulate harm_or_humor --out j.parquet --items 40 --judge gpt_4o --judge human")
    loaded, answered = with_gold(read_judgments_of(known, [Path("j.parquet")]))
    fitted = FittedResults()
    fitted.add("scores_modality", "Scores", scores(score_study(answered, answered.of_models), draws=0))
    add_printed_numbers(answered, fitted, loaded.source())
    assert "published_scores" not in fitted.by_name
    assert not fitted.notes


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("study", "items"), [("multiturn", 60), ("harm_or_humor", 150)])
def test_a_simulation_becomes_results_and_a_report_that_say_so(ran: Ran, study: str, items: int) -> None:
    ran(f"simulate {study} --out j.parquet --items {items}")
    ran(f"fit {study} --data j.parquet --out made --draws 100")
    manifest = json.loads(Path("made/manifest.json").read_text(encoding="utf-8"))
    assert manifest["simulated"]
    assert any("simulated" in note for note in manifest["notes"])
    names = {made["name"] for made in manifest["results"]}
    assert any(name.startswith("scores") for name in names)
    assert "differences" in names
    assert "published_scores" not in names
    assert ("robustness" in names) == (study == "multiturn")
    ran(f"report {study} --results made")
    page = Path(f"reports/{study}.html").read_text(encoding="utf-8")
    assert "are simulated" in page
    assert "Shares of intervals that contain the true value" in page
    assert read_table("made/tables/recovery.parquet")["inside"].mean() > 0.85
