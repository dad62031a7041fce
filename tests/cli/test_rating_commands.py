"""Ratings from the command line: simulated, fitted, tested, reported; priors, link, scale of models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import cases
from made_up.ratings import LABELLED_STUDY, ratings_by_few_people, write_rated_study

import conjury.analysis.raters as raters
from conjury.analysis.pipeline.fitting import unused_result_name
from conjury.analysis.pipeline.results_folder import ResultsFolder
from conjury.analysis.raters import ModelFit
from conjury.analysis.raters.models.model_fit import Prior, override_priors
from conjury.cli.commands.judges.raters import ModelAssumptions, file_names
from conjury.inference.errors import InputError
from conjury.inference.tables import read_table

Told = Callable[..., str]

ANALYSES = ["coverage", "means", "means_crossed", "distributions", "gaps_response_type", "gaps_modality"]
ANALYSES += ["correlations", "lines", "dimension_correlations", "tiers", "biases", "agreement", "alt_test"]
COLUMNS = ["judge_id", "judge_kind", "item_id", "value"]


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, done: Told) -> Path:
    """Simulated ratings of 32 topics, fitted with few draws."""
    folder = tmp_path_factory.mktemp("rated")
    done("simulate oogiri --topics 32 --people 32 --out r.parquet", cwd=folder)
    done("fit oogiri --data r.parquet --draws 20 --out res", cwd=folder)
    return folder


@pytest.mark.slow
def test_every_analysis_of_the_study_is_in_the_results_with_true_values(place: Path) -> None:
    tables, made = place / "res" / "tables", manifest(place / "res")
    assert [one["name"] for one in made["results"]] == ANALYSES
    assert all(len(read_table(tables / f"{name}.parquet")) > 0 for name in ANALYSES)
    assert made["simulated"] is True
    assert set(made["files"]) >= {"data/judgments.parquet", "data/items.parquet", "tables/truth.parquet"}
    assert not (tables / "published_means.parquet").exists()

    ratings, means = read_table(place / "r.parquet"), read_table(tables / "means.parquet")
    people = ratings[(ratings["judge_kind"] == "human") & (ratings["dimension"] == "funniness")]
    high = people[people["item_id"].str.endswith("_high")].astype({"value": float})
    row = means.query("dimension == 'funniness' and group == 'human' and response_type == 'high'")
    assert row["estimate"].item() == pytest.approx(high.groupby("item_id")["value"].mean().mean())
    assert read_table(tables / "alt_test__epsilon.parquet")["epsilon"].nunique() == 61

    found, keys = read_table(tables / "recovery.parquet"), ["quantity", "judge", "dimension", "response_type"]
    assert set(found["quantity"]) == {"expected_rating", "positivity", "raw_correlation"}
    truth = read_table(place / "r.truth.parquet").set_index(keys)["value"]
    first = found[(found["quantity"] == "expected_rating") & (found["dimension"] == "clarity")].iloc[0]
    assert first["truth"] == truth["expected_rating", first["judge"], "clarity", first["response_type"]]
    assert len(found[found["analysis"] == "means"]) == len(means)


def test_the_smallest_epsilon_is_printed_so_that_a_model_passes_with_it(tmp_path: Path, done: Told) -> None:
    ratings = {name: [(k * step) % 5 for k in range(60)] for name, step in zip("abc", (1, 1, 6), strict=True)}
    ratings["gpt"] = [k % 5 + (k % 7 == 0) for k in range(60)]
    pd.DataFrame({"item": range(60), **ratings}).to_csv(tmp_path / "r.csv", index=False)
    test = "alt-test r.csv --raters a,b,c --models gpt --draws 0 --results"
    (row,) = [line.split() for line in done(f"{test} one", cwd=tmp_path).splitlines() if line[:4] == "neg_"]
    assert row[4] == "no"
    assert " yes " in done(f"{test} two --epsilon {row[5]}", cwd=tmp_path)


@pytest.mark.slow
def test_further_results_join_those_of_the_fit_and_all_are_reported(place: Path, done: Told) -> None:
    told = done("alt-test --results res --dimension funniness --draws 0 --model gpt_4_1", cwd=place)
    assert "winning" in told
    name, tables = "alt_test_funniness_gpt_4_1", place / "res" / "tables"
    (added,) = (one for one in manifest(place / "res")["results"] if one["part"] == name)
    assert added["settings"]["epsilon"] == 0.1
    assert "(Overall Funniness, GPT-4.1)" in added["title"]
    assert read_table(tables / f"{name}.parquet")["model"].tolist() == ["gpt_4_1"]
    assert len(read_table(tables / "alt_test.parquet")) == 18
    done("alt-test --results res --dimension clarity --draws 0 --simulate-power", cwd=place)
    assert set(read_table(tables / "alt_test_clarity_power.parquet")["instances"]) == {64, 128, 256, 512}
    results = manifest(place / "res")["results"]
    kinds = [one["kind"] for one in results if one["part"] == "alt_test_clarity"]
    assert kinds == ["alt_test", "alt_power"]
    assert sum(one["part"] == "fit" for one in results) == len(ANALYSES)
    done("report oogiri --results res", cwd=place)
    names = ("oogiri.html", "oogiri-supplement.html")
    page = "".join((place / "reports" / name).read_text(encoding="utf-8") for name in names)
    assert "Not shown" not in page
    assert "are simulated" in page
    assert "Over epsilon." in page
    for text in ("Complete order", "Winning rate", "Overall Funniness", "Higher than people", "krippendorff"):
        assert text.casefold() in page.casefold()


def test_a_run_by_other_settings_leaves_the_earlier_one_as_it_is(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)

    def hold(part: str) -> None:
        entry = {"name": "alt_test", "kind": "alt_test", "settings": {"epsilon": 0.1}, "part": part}
        (tmp_path / "manifest.json").write_text(json.dumps({"format": 2, "results": [entry]}))

    hold("fit")
    assert unused_result_name(folder, "alt_test", {"epsilon": 0.1}) == "alt_test_2"
    assert unused_result_name(folder, "agreement", {}) == "agreement"
    hold("alt_test")
    assert unused_result_name(folder, "alt_test", {"epsilon": 0.1}) == "alt_test"
    assert unused_result_name(folder, "alt_test", {"epsilon": 0.2}) == "alt_test_2"


def test_dimensions_get_names_that_files_may_have() -> None:
    names = file_names(["wit", "Wit/irony", "wit irony", "../up", None])
    assert list(names.values()) == ["wit", "wit_irony", "wit_irony_2", "up", "rating"]


@pytest.mark.long
def test_labels_of_a_study_are_fitted(tmp_path: Path, done: Told, refused: Told) -> None:
    """Answers of five people about 40 of 60 items, and of a model about all."""
    table = ratings_by_few_people(labelled=40, labels=True, dimensions=("tone",))
    write_rated_study(tmp_path, table, study=LABELLED_STUDY)
    done("fit study.yaml --data judgments.csv --draws 20 --out labelled", cwd=tmp_path, figures=())
    names = [one["name"] for one in manifest(tmp_path / "labelled")["results"]]
    assert names == ["coverage", "agreement", "alt_test"]
    design = manifest(tmp_path / "labelled")["design"]
    assert "Each of 40 items has 5 ratings by people (5 in all); " in design
    told = refused("raters judgments.csv --where judge_kind=human --covariate colour")
    assert "--covariate applies to models of ratings" in told


@pytest.mark.long
def test_judgments_of_any_file_need_no_study(done: Told, refused: Told, tmp_path: Path) -> None:
    plain = ratings_by_few_people(labelled=60)[COLUMNS]
    plain.loc[plain["judge_id"] == "person_0", "value"] = 3
    plain.assign(task="clear").to_csv("plain.csv", index=False)
    own = "--draws 20 --results own"
    told = done(f"agreement plain.csv --where task=clear --coefficient krippendorff {own}", cwd=tmp_path)
    assert "krippendorff" in told
    plain.assign(task="clear", value=plain["value"].to_numpy()[::-1]).to_csv("as_long.csv", index=False)
    held = Path("own/data/judgments.parquet").read_bytes()
    assert "contains results on other data" in refused("agreement as_long.csv --results own")
    assert Path("own/data/judgments.parquet").read_bytes() == held
    done("alt-test --results own --draws 0", cwd=tmp_path)
    made = manifest(tmp_path / "own")
    assert {"agreement_krippendorff", "alt_test"} <= set(made["parts"])
    assert "data/judgments.parquet" in made["files"]
    done("report raters --results own", cwd=tmp_path)
    page = (tmp_path / "reports" / "raters.html").read_text(encoding="utf-8")
    texts = (
        f"from {len(plain)} judgments,",
        "person_0 gave all items the same",
        "\N{GREEK SMALL LETTER ALPHA}, quadratic weights. ",
    )
    assert all(text in page for text in (*texts, "with epsilon 0.1"))


# ---- priors, link and scale: read, refused, handed on, recorded ----


def test_priors_link_and_scale_are_read() -> None:
    assuming = ModelAssumptions(prior=["severity_sd=0.5", "bias = 0, 0.3"], link="probit")
    given = assuming.read(("1", "2", "3"))
    priors = {"severity_sd": (0.5,), "bias": (0.0, 0.3)}
    assert given.given(link=True, scale=True) == {"priors": priors, "link": "probit", "scale": (1, 2, 3)}
    assert ModelAssumptions().read().given(link=False, scale=False) == {}
    for assumptions in (ModelAssumptions(link="probit").read(), ModelAssumptions().read(("1", "2"))):
        with pytest.raises(InputError, match="omit"):
            assumptions.given(link=False, scale=False)


@pytest.mark.parametrize(("given", "sentence"), cases(__file__, "assumptions"))
def test_what_cannot_be_read_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ModelAssumptions(**given).read()


def test_the_model_gets_what_was_assumed_and_the_manifest_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: Told, refused: Told
) -> None:
    asked: dict[str, Any] = {}

    def model(judgments: pd.DataFrame, **options: Any) -> ModelFit:
        asked.update(options)
        default = {"severity_sd": Prior("half_normal", (1.0,), "SD of severities")}
        priors = override_priors(default, options.get("priors"))
        return ModelFit(pd.DataFrame({"group": ["human"], "estimate": [0.5]}), "made_up", priors=priors)

    rows = [(judge, "human", item, value) for judge in "ab" for item, value in (("x", 1), ("y", 3))]
    pd.DataFrame(rows, columns=COLUMNS).to_csv("j.csv", index=False)
    told = refused("raters j.csv --prior sevrity_sd=0.5", prints=True)
    assert "no prior 'sevrity_sd' (did you mean 'severity_sd'?)" in told
    monkeypatch.setattr(raters, "rater_model", model)
    monkeypatch.setattr(ModelFit, "save", lambda self, path: path)
    ran("raters j.csv --prior severity_sd=0.5 --link probit --levels 1,2,3 --target-accept 0.95")
    assert (asked["link"], asked["scale"]) == ("probit", (1.0, 2.0, 3.0))
    assert asked["target_accept"] == 0.95
    settings = manifest(tmp_path / "results")["results"][0]["settings"]
    assert settings["priors"] == {"severity_sd": "SD of severities: half-normal with sd 0.5"}
    assert (settings["priors_changed"], settings["scale"]) == ({"severity_sd": [0.5]}, [1.0, 2.0, 3.0])
