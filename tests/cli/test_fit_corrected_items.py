"""``conjury fit --correct ppi`` on ratings and labels: what it writes, prints and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import cases
from made_up.ratings import CLASSES, LABELLED_STUDY, items_in_strata, ratings_by_few_people, write_rated_study
from manifests import note_texts

from conjury.analysis.raters import means, prediction_powered
from conjury.analysis.report import Report

pytestmark = pytest.mark.long

Told = Callable[..., str]
FIT = "fit study.yaml --data judgments.csv --draws 0"


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory, done: Told) -> Path:
    """Five people who rated 18 of 60 items, and a model that rated all, fitted."""
    table = ratings_by_few_people(labelled=18, dimensions=("warmth", "wit"))
    folder = write_rated_study(tmp_path_factory.mktemp("rated"), table)
    printed = done(FIT, "--correct ppi --out results", cwd=folder, figures=())
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_mean_ratings_are_those_of_means_by_the_first_stratum_and_of_all_items(rated: Path) -> None:
    table = ratings_by_few_people(labelled=18, dimensions=("warmth", "wit"))
    options = {"by": "stratum", "overall": True, "scale": range(1, 6)}
    made = means(table, items_in_strata(), correct="ppi", **options).frame  # type: ignore[arg-type]
    found = pd.read_parquet(rated / "results" / "tables" / "means_corrected.parquet")
    assert set(found["stratum"]) == {"overall", "high", "mid_level", "low"}
    keys = ["dimension", "stratum", "source"]
    both = found.astype(dict.fromkeys(keys, str)).merge(made.astype(dict.fromkeys(keys, str)), on=keys)
    assert len(both) == len(found) == len(made) == 24
    for name in ("estimate", "std_error", "lower", "upper", "gain"):
        np.testing.assert_allclose(both[f"{name}_x"], both[f"{name}_y"], rtol=1e-9, atol=1e-12)
    entry = json.loads((rated / "results" / "manifest.json").read_text(encoding="utf-8"))["results"][0]
    assert (entry["name"], entry["title"]) == (
        "means_corrected", "Mean ratings by kind: people, corrected by models",
    )  # fmt: skip


def test_the_terminal_and_reports_have_one_sentence_on_the_gain(
    rated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = (rated / "printed.txt").read_text(encoding="utf-8")
    line = next(one for one in printed.splitlines() if "means_corrected" in one)
    sentence = line.partition("rows. ")[2]
    assert sentence.startswith("With the answers of GPT-4.1, 18 labelled items are as precise as ")
    assert "the median gain of 2 estimates is " in sentence
    for about in ("items", "corrected"):
        report = Report(rated / "results", about)
        assert sentence in report.opening().replace("\\", "")
        report.show("prediction_powered_items")
        assert "#tbl-means-corrected-gains" in capsys.readouterr().out
    assert "minus that on people's items" in report.methods()


def test_six_items_are_enough(tmp_path: Path, done: Told) -> None:
    folder = write_rated_study(tmp_path, ratings_by_few_people(6, 3), 6)
    printed = done(FIT, "--correct ppi --human human --model gpt_4_1", cwd=folder, figures=())
    assert "With the answers of GPT-4.1, 3 labelled items are as precise as 3: the gain is 1.00, " in printed


@pytest.mark.parametrize(("kept", "sentence"), cases(__file__, "judgments_that_lack"))
def test_judgments_that_lack_people_models_or_common_items_are_refused(
    tmp_path: Path, refused: Told, kept: str, sentence: str
) -> None:
    folder = write_rated_study(tmp_path / "few", ratings_by_few_people(labelled=18).query(kept))
    assert sentence in refused(FIT, "--correct ppi --out no", cwd=folder, prints=True, writes=True)
    assert not (folder / "no").exists()


def test_shares_and_scores_of_labels_are_corrected(tmp_path: Path, done: Told) -> None:
    table = ratings_by_few_people(labels=True, dimensions=("tone",), models=("gpt_4_1", "gemini"))
    folder = write_rated_study(tmp_path, table, study=LABELLED_STUDY)
    printed = done(FIT, "--correct ppi --model gemini", cwd=folder, figures=())
    shares, scores = (
        pd.read_parquet(folder / "results" / "tables" / f"{name}_corrected.parquet")
        for name in ("shares", "scores")
    )
    made = prediction_powered(table, statistic="share", model="gemini").frame
    assert list(dict.fromkeys(shares["level"])) == list(CLASSES)
    for name in CLASSES:
        pair = [one[(one["level"] == name) & (one["source"] == "corrected")] for one in (shares, made)]
        np.testing.assert_allclose(pair[0]["estimate"], pair[1]["estimate"], rtol=1e-9)
    assert set(scores["judge"]) == {"gpt_4_1"}
    assert set(scores["source"]) == {"human only", "corrected", "gemini only"}
    assert {"accuracy", "macro_f1", "mcc"} <= set(scores["metric"])
    assert "scores_corrected: 21 rows. With the answers of Gemini, 12 labelled items " in printed


@pytest.mark.slow
def test_gold_labels_of_few_items_count_as_those_of_people(tmp_path: Path, done: Told) -> None:
    table = ratings_by_few_people(labels=True, dimensions=("tone",), models=("gpt_4_1", "gemini"))
    gold = table[table["judge_id"] == "person_0"].rename(columns={"dimension": "label_set", "value": "label"})
    folder = write_rated_study(tmp_path, table[table["judge_kind"] == "model"], study=LABELLED_STUDY)
    gold[["item_id", "label_set", "label"]].to_csv(folder / "gold.csv", index=False)
    done(FIT, "--gold gold.csv --correct ppi", cwd=folder, figures=())
    found = pd.read_parquet(folder / "results" / "tables" / "scores_corrected.parquet")
    own = found[(found["judge"] == "gemini") & (found["metric"] == "accuracy")].set_index("source")
    labels = gold.set_index("item_id")["label"]
    given = table[table["judge_id"] == "gemini"].set_index("item_id")["value"]
    assert own.loc["human only", "estimate"] == pytest.approx((given[labels.index] == labels).mean())
    assert own.loc["corrected", "n_labelled"] == len(labels)
    assert np.isfinite(own.loc["corrected", "weight_gpt_4_1"])


@pytest.mark.slow
def test_a_silent_model_is_excluded_unless_it_is_named(tmp_path: Path, done: Told, refused: Told) -> None:
    table = ratings_by_few_people(labelled=18, dimensions=("warmth",), models=("gpt_4_1", "gemini"))
    silent = table["judge_id"] == "gemini"
    table = table.assign(value=table["value"].mask(silent), status=np.where(silent, "refused", "ok"))
    folder = write_rated_study(tmp_path / "silent", table)
    done(FIT, "--correct ppi --out all", cwd=folder, figures=())
    results = json.loads((folder / "all" / "manifest.json").read_text(encoding="utf-8"))["results"]
    assert results[0]["settings"]["model"] == ["gpt_4_1"]
    sentence = note_texts(results[0]["notes"])[0]
    assert sentence.startswith("gemini: excluded from the correction, since usable answers")
    assert "'gemini' has no usable answer; name another model." in refused(
        FIT, "--correct ppi --model gemini --out no", cwd=folder, prints=True, writes=True
    )
