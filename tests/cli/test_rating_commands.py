"""Ratings from the command line: simulate, fit, test, and render, each as a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.pipeline.fitting import free_name
from conjury.analysis.pipeline.results_folder import ResultsFolder
from conjury.cli.commands.raters.raters import file_names
from conjury.cli.main import main
from conjury.inference.tables import read_table

pytestmark = pytest.mark.long

Run = Callable[..., subprocess.CompletedProcess[str]]

ANALYSES = [
    "coverage",
    "means",
    "means_crossed",
    "distributions",
    "correlations",
    "lines",
    "dimension_correlations",
    "tiers",
    "biases",
    "agreement",
    "alt_test",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, conjury: Run) -> Path:
    """Simulated ratings of 32 topics, fitted with few draws."""
    folder = tmp_path_factory.mktemp("rated")
    made = conjury("simulate", "oogiri", "--topics", 32, "--people", 32, "--out", "r.parquet", cwd=folder)
    assert (made.returncode, made.stderr) == (0, "")
    fit = conjury("fit", "oogiri", "--data", "r.parquet", "--draws", 20, "--out", "res", cwd=folder)
    assert (fit.returncode, fit.stderr) == (0, "")
    return folder


def test_every_analysis_of_the_study_is_in_the_results(place: Path) -> None:
    manifest = json.loads((place / "res" / "manifest.json").read_text(encoding="utf-8"))
    assert [made["name"] for made in manifest["results"]] == ANALYSES
    for made in manifest["results"]:
        table = read_table(place / "res" / "tables" / f"{made['name']}.parquet")
        assert len(table) > 0
    assert manifest["simulated"] is True
    assert set(manifest["files"]) >= {"data/judgments.parquet", "data/items.parquet", "tables/truth.parquet"}
    assert not (place / "res" / "tables" / "published_means.parquet").exists()


def test_means_are_those_of_the_ratings(place: Path) -> None:
    ratings = read_table(place / "r.parquet")
    people = ratings[(ratings["judge_kind"] == "human") & (ratings["dimension"] == "funniness")]
    high = people[people["item_id"].str.endswith("_high")].astype({"value": float})
    means = read_table(place / "res" / "tables" / "means.parquet")
    row = means[
        (means["dimension"] == "funniness") & (means["group"] == "human") & (means["response_type"] == "high")
    ]
    assert row["estimate"].item() == pytest.approx(high.groupby("item_id")["value"].mean().mean())


def test_further_results_join_those_of_the_fit(place: Path, conjury: Run) -> None:
    made = conjury(
        "alt-test",
        "--results",
        "res",
        "--dimension",
        "funniness",
        "--draws",
        0,
        "--model",
        "gpt_4_1",
        cwd=place,
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert "winning rate" in made.stdout
    manifest = json.loads((place / "res" / "manifest.json").read_text(encoding="utf-8"))
    name = "alt_test_funniness_gpt_4_1"
    (added,) = (made for made in manifest["results"] if made["part"] == name)
    assert added["settings"]["epsilon"] == 0.1
    assert "(Overall Funniness, GPT-4.1)" in added["title"]
    assert read_table(place / "res" / "tables" / f"{name}.parquet")["model"].tolist() == ["gpt_4_1"]
    assert len(read_table(place / "res" / "tables" / "alt_test.parquet")) == 18
    assert sum(made["part"] == "fit" for made in manifest["results"]) == len(ANALYSES)


def test_a_run_by_other_settings_leaves_the_earlier_one_as_it_is(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)

    def hold(part: str) -> None:
        entry = {"name": "alt_test", "kind": "alt_test", "settings": {"epsilon": 0.1}, "part": part}
        (tmp_path / "manifest.json").write_text(json.dumps({"format": 2, "results": [entry]}))

    hold("fit")
    assert free_name(folder, "alt_test", {"epsilon": 0.1}) == "alt_test_2"
    assert free_name(folder, "agreement", {}) == "agreement"
    hold("alt_test")
    assert free_name(folder, "alt_test", {"epsilon": 0.1}) == "alt_test"
    assert free_name(folder, "alt_test", {"epsilon": 0.2}) == "alt_test_2"


def test_the_curve_over_epsilon_and_power_are_written(place: Path, conjury: Run) -> None:
    curve = read_table(place / "res" / "tables" / "alt_test__epsilon.parquet")
    assert curve["epsilon"].nunique() == 61
    made = conjury(
        "alt-test", "--results", "res", "--dimension", "clarity", "--draws", 0, "--power", cwd=place
    )
    assert (made.returncode, made.stderr) == (0, "")
    power = read_table(place / "res" / "tables" / "alt_test_clarity_power.parquet")
    assert set(power["instances"]) == {64, 128, 256, 512}
    manifest = json.loads((place / "res" / "manifest.json").read_text(encoding="utf-8"))
    kinds = [one["kind"] for one in manifest["results"] if one["part"] == "alt_test_clarity"]
    assert kinds == ["alt_test", "alt_power"]


def test_estimates_stand_beside_the_true_values_of_the_simulation(place: Path) -> None:
    found = read_table(place / "res" / "tables" / "recovery.parquet")
    assert set(found["quantity"]) == {"expected_rating", "positivity", "raw_correlation"}
    truth = read_table(place / "r.truth.parquet").set_index(
        ["quantity", "judge", "dimension", "response_type"]
    )["value"]
    row = found[(found["quantity"] == "expected_rating") & (found["dimension"] == "clarity")].iloc[0]
    assert row["truth"] == truth["expected_rating", row["judge"], "clarity", row["response_type"]]
    means = read_table(place / "res" / "tables" / "means.parquet")
    assert len(found[found["analysis"] == "means"]) == len(means)


def test_labels_of_a_study_are_fitted(place: Path, conjury: Run) -> None:
    made = conjury("fit", labels_study(place), "--data", "labels.csv", "--draws", 20, "--out", "labelled",
                   cwd=place)  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    manifest = json.loads((place / "labelled" / "manifest.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in manifest["results"]] == ["coverage", "agreement", "alt_test"]
    refused = conjury(
        "raters", "labels.csv", "--where", "judge_kind=human", "--covariate", "colour", cwd=place
    )
    assert refused.returncode == 2
    assert "--covariate goes with ratings" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


def labels_study(place: Path) -> Path:
    """A study of one label, with answers of three people and a model about 40 items."""
    folder = place / "tone"
    folder.mkdir()
    (folder / "study.yaml").write_text(
        """
name: tone
title: Tone of messages
kind: items
question: Which tone has this message?
items: items.csv
response: {form: label, id: tone, labels: [{id: calm, label: Calm}, {id: angry, label: Angry}]}
judges:
  - {id: gpt_4_1, label: GPT-4.1, kind: model}
""",
        encoding="utf-8",
    )
    items = [f"m{number:02d}" for number in range(40)]
    pd.DataFrame({"item_id": items, "text": items}).to_csv(folder / "items.csv", index=False)
    rows = [
        (judge, "model" if judge == "gpt_4_1" else "human", item, ("calm", "angry")[(at * step % 7) % 2])
        for judge, step in (("ann", 1), ("bob", 1), ("cem", 2), ("gpt_4_1", 3))
        for at, item in enumerate(items)
    ]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    table.to_csv(place / "labels.csv", index=False)
    return folder


def test_dimensions_get_names_that_files_may_have() -> None:
    names = file_names(["wit", "Wit/irony", "wit irony", "../up", None])
    assert list(names.values()) == ["wit", "wit_irony", "wit_irony_2", "up", "rating"]


def test_judgments_of_any_file_need_no_study(place: Path, conjury: Run) -> None:
    ratings = read_table(place / "r.parquet")
    plain = ratings[ratings["dimension"] == "clarity"][["judge_id", "judge_kind", "item_id", "value"]]
    plain.assign(task="clear").to_csv(place / "plain.csv", index=False)
    made = conjury(
        "agreement", "plain.csv", "--where", "task=clear", "--coefficient", "krippendorff", "--draws", 20,
        "--results", "own", cwd=place,
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    assert "krippendorff" in made.stdout
    other = plain.assign(task="clear", value=plain["value"].to_numpy()[::-1])
    other.to_csv(place / "equally_long.csv", index=False)
    held = (place / "own" / "data" / "judgments.parquet").read_bytes()
    refused = conjury("agreement", "equally_long.csv", "--results", "own", cwd=place)
    assert refused.returncode == 2
    assert "contains results on other data" in refused.stderr
    assert (place / "own" / "data" / "judgments.parquet").read_bytes() == held
    again = conjury("alt-test", "--results", "own", "--draws", 0, cwd=place)
    assert (again.returncode, again.stderr) == (0, "")
    manifest = json.loads((place / "own" / "manifest.json").read_text(encoding="utf-8"))
    assert {"agreement_krippendorff", "alt_test"} <= set(manifest["parts"])
    assert "data/judgments.parquet" in manifest["files"]


def test_the_report_shows_every_analysis(place: Path, conjury: Run) -> None:
    made = conjury("report", "oogiri", "--results", "res", cwd=place)
    assert (made.returncode, made.stderr) == (0, "")
    page = (place / "reports" / "oogiri.html").read_text(encoding="utf-8")
    assert "Not shown" not in page
    assert "are simulated" in page
    assert "Over epsilon." in page
    for text in ("Complete order", "Winning rate", "Overall Funniness", "Higher than people", "krippendorff"):
        assert text.casefold() in page.casefold()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["fit", "oogiri", "--data", "r.parquet", "--vcov", "CR2"],
            "--vcov is an option of conjoint studies",
        ),
        (
            ["alt-test", "--results", "res", "--dimension", "funnines"],
            "no such dimension (did you mean 'funniness'?)",
        ),
        (["agreement", "r.parquet", "--where", "colour=red"], "column 'colour' is missing"),
        (["raters", "--results", "nowhere"], "contains no judgments"),
        (["raters", "--results", "res"], "have several dimensions"),
        (["raters", "--results", "res", "--model", "kappa"], "--model kappa: use auto, ordinal"),
        (
            ["raters", "--results", "res", "--model", "dimensions", "--target-accept", "0.9"],
            "--target-accept goes with --model ordinal and --model labels",
        ),
        (["alt-test", "other.csv", "--results", "res"], "contains results on other data"),
        (["fit", "oogiri", "--data", "outside.csv"], "which is not on the scale"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(
    place: Path,
    arguments: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    if not Path("outside.csv").exists():
        ratings = read_table(place / "r.parquet").astype({"value": "int64"})
        ratings.loc[7, "value"] = 9
        ratings.to_csv("outside.csv", index=False)
        pd.DataFrame({"judge_id": ["a"], "judge_kind": ["human"], "item_id": ["x"], "value": [1]}).to_csv(
            "other.csv", index=False
        )
    monkeypatch.setattr("sys.argv", ["conjury", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert len(told.strip().splitlines()) == 1
