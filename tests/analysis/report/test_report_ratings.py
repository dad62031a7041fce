"""What reports on ratings say and show, from small made-up tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import figure_of
from conjury.analysis.figures.raters import alt_of, further_figures
from conjury.analysis.figures.raters.naming import Names
from conjury.analysis.raters import Result
from conjury.analysis.recovery.ratings import recovery, recovery_summary
from conjury.analysis.report import RatingsReport
from conjury.analysis.report.cells import intervals
from conjury.analysis.report.exhibits import ratings as rating_sections
from conjury.analysis.report.exhibits.rating_layouts import lay_out

LABELS = {
    "features": {"dimension": "Dimension"},
    "levels": {"dimension": {"fun": "Overall fun"}},
    "judges": {"gpt_4_1": "GPT-4.1"},
}


def biases(**settings: Any) -> Result:
    frame = pd.DataFrame(
        {
            "dimension": ["fun", "fun"],
            "judge": ["gpt_4_1", "other_model"],
            "bias": "positivity",
            "quantity": "difference",
            "estimate": [0.4, 0.1],
            "lower": [0.2, 0.0],
            "upper": [0.6, 0.2],
        }
    )
    return Result(frame, "biases", settings={"by": [], **settings})


def means(types: bool = True) -> Result:
    rows = [
        (dimension, group, kind, 2.0, 1.5, 2.5, 0.5)
        for dimension in ("wit", "fun", "tact")
        for group in ("human", "gpt_4_1")
        for kind in ("high", "low")
    ]
    columns = ["dimension", "group", "response_type", "estimate", "lower", "upper", "sd"]
    by = ["response_type"] if types else ["modality", "response_type"]
    return Result(pd.DataFrame(rows, columns=columns), "means", settings={"by": by})


def truth(*rows: tuple[str, str, str, str, float]) -> pd.DataFrame:
    columns = ["quantity", "judge", "dimension", "response_type", "value"]
    return pd.DataFrame(rows, columns=columns).assign(other="")


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({"alpha": 0.05, "cluster": "topic_id"}, "95% intervals, whole topics resampled"),
        ({"alpha": 0.1, "cluster": None}, "90% intervals, items resampled"),
    ],
)
def test_notes_name_the_level_and_what_was_resampled(settings: dict[str, Any], note: str) -> None:
    assert intervals(settings) == note
    shown = lay_out(biases(**settings), "biases", {})[0].as_raw_html()
    assert note in shown


def test_tables_and_figures_use_the_same_words() -> None:
    labels = {("judges", "gpt_4_1"): "GPT-4.1"}
    result = biases(alpha=0.05, cluster=None)
    shown = lay_out(result, "biases", labels)[0].as_raw_html()
    figure = figure_of(result, labels=labels)
    drawn = [axes.get_title(loc="left") for axes in figure.axes]
    assert drawn[0].replace("\n", " ") in shown
    for text in ("GPT-4.1", "Other model"):
        assert text in shown
    assert "_" not in Names(labels).of("judge", "other_model")


def test_a_radar_goes_with_means_by_one_column_on_three_dimensions() -> None:
    assert further_figures(means()) == ["radar"]
    assert further_figures(means(types=False)) == []
    figure = means().plot(part="radar")
    assert figure.axes[0].name == "polar"
    assert alt_of(means(), {}, "radar")


def test_pairs_go_with_agreement_only_where_enough_items_are_shared() -> None:
    pairs = pd.DataFrame(
        {"dimension": "wit", "judge": "ann", "other": ["bob", "gpt"], "judge_kind": "human",
         "other_kind": ["human", "model"], "coefficient": "cohen", "weights": "nominal",
         "estimate": [0.5, 0.2], "n_items": 80}
    )  # fmt: skip

    def result(n_items: int) -> Result:
        return Result(pairs, "agreement", extra={"pairs": pairs.assign(n_items=n_items)})

    assert further_figures(result(80)) == ["pairs"]
    assert further_figures(result(3)) == []
    assert len(result(80).plot(part="pairs").axes) == 2


def test_estimates_meet_the_truth_of_the_same_quantity_judge_and_type() -> None:
    known = truth(
        ("expected_rating", "human", "wit", "high", 2.4),
        ("expected_rating", "human", "wit", "", 9.0),
        ("expected_rating", "gpt_4_1", "wit", "low", 3.0),
        ("mean", "gpt_4_1", "fun", "low", 0.0),
        ("positivity", "gpt_4_1", "fun", "", 0.7),
    )
    made = recovery({"means": means(), "biases": biases()}, known)
    assert made[["analysis", "judge", "response_type", "inside"]].values.tolist() == [
        ["means", "human", "high", True],
        ["means", "gpt_4_1", "low", False],
        ["biases", "gpt_4_1", "", False],
    ]
    assert recovery({"means": means(types=False)}, known).empty


def test_estimates_without_an_interval_are_neither_inside_nor_outside() -> None:
    bare = biases()
    bare.frame[["lower", "upper"]] = np.nan
    made = recovery({"biases": bare}, truth(("positivity", "gpt_4_1", "fun", "", 0.3)))
    assert made["inside"].isna().all()
    summary = recovery_summary(made)
    assert summary[["n_estimates", "n_intervals"]].values.tolist() == [[1, 0]]
    assert summary["mean_error"].item() == pytest.approx(0.1)
    assert summary["share_inside"].isna().all()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of a fit of simulated judgments, and of two further runs on the same data."""
    files = [{"name": "judgments", "file": "r.csv", "sha256": "ab" * 32, "rows": 8}]

    def part(name: str, at: str, command: str) -> dict[str, Any]:
        made = {"name": name, "title": name, "kind": "biases", "settings": {}, "further": []}
        return {
            "created": f"2026-01-01T0{at}:00:00+00:00",
            "command": command,
            "data": files,
            "results": [made],
        }

    manifest = {
        **part("biases", "1", "conjury fit jokes"),
        "conjury": "0", "files": [], "simulated": True, "labels": LABELS, "title": "Jokes", "study": "jokes",
        "agreement": part("agreement", "2", "conjury agreement"),
        "alt_test_fun": part("alt_test_fun", "3", "conjury alt-test --dimension fun"),
    }  # fmt: skip
    (tmp_path / "tables").mkdir()
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    known = truth(("positivity", "gpt_4_1", "fun", "", 0.7), ("positivity", "other_model", "fun", "", 0.1))
    recovery({"biases": biases()}, known).to_parquet(tmp_path / "tables" / "recovery.parquet")
    return tmp_path


def test_all_commands_are_listed_in_order_and_each_file_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = RatingsReport(folder)
    report.commands()
    page = capsys.readouterr().out
    places = [page.index(name) for name in ("conjury fit", "conjury agreement", "conjury alt-test")]
    assert places == sorted(places)
    report.data_and_versions()
    assert capsys.readouterr().out.count("abababababababab") == 1


def test_the_truth_is_summed_up_by_quantity_and_judge(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    RatingsReport(folder).truth()
    page = capsys.readouterr().out
    assert "Higher than people 50%" in page
    assert "GPT-4.1" in page
    assert "gpt_4_1" not in page


def test_what_print_says_of_itself_is_told_with_labels(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RatingsReport(folder).checks()
    page = capsys.readouterr().out
    assert "whole ratings of 399 topics" in page.casefold()
    assert "GPT-4.1" in page
    assert "gpt_4_1" not in page


def test_models_meet_the_truth_only_where_both_are_the_same_quantity() -> None:
    known = truth(
        ("latent_correlation", "gpt_4_1", "fun", "", 0.6),
        ("dimension_correlation", "human", "wit", "", 0.5),
    )
    known.loc[1, "other"] = "fun"
    bounds = {"estimate": 0.55, "lower": 0.4, "upper": 0.7}
    rows = pd.DataFrame([
        {"group": group, "quantity": quantity, **bounds}
        for group in ("human", "gpt_4_1")
        for quantity in ("latent_correlation", "latent_correlation_rating")
    ])  # fmt: skip
    rater = Result(rows, "rater_model", settings={"dimension": "fun"})
    pairs = pd.DataFrame([
        {"group": "human", "level": level, "dimension": "wit", "other_dimension": "fun",
         "quantity": "correlation", **bounds}
        for level in ("between", "within", "total")
    ])  # fmt: skip
    dimensions = Result(pairs, "dimension_model", settings={"covariates": []})
    made = recovery({"raters_fun": rater, "dimensions": dimensions}, known)
    assert made[["analysis", "judge", "dimension", "truth"]].values.tolist() == [
        ["raters_fun", "gpt_4_1", "fun", 0.6],
        ["dimensions", "human", "wit and fun", 0.5],
    ]
    adjusted = Result(pairs, "dimension_model", settings={"covariates": ["response_type"]})
    assert recovery({"dimensions": adjusted}, known).empty


def test_tables_without_a_figure_are_led_to_in_a_sentence_for_one_and_for_several(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = RatingsReport(folder)
    monkeypatch.setattr(report, "result", lambda name: Result(biases().frame, "shares_of_nothing"))
    two = lay_out(biases(alpha=0.05), "biases", {}) * 2
    for tables, places in ((two[:1], "@tbl-biases."), (two[:2], "@tbl-biases and @tbl-biases-2.")):
        monkeypatch.setattr(rating_sections, "lay_out", lambda *_, made=tables: made)
        assert rating_sections.section(report, "biases").startswith(f"The numbers are in {places}")
