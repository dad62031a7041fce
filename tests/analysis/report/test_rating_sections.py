"""Parts of reports on ratings: priors, predictive checks, two answers, printed numbers, power, the truth."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import figure_of
from conjury.analysis.figures.raters import alt_of, further_figures
from conjury.analysis.figures.raters.naming import Names
from conjury.analysis.figures.raters.predictive import predicted_shares
from conjury.analysis.pipeline.run import Named, tables_of
from conjury.analysis.raters import Result, alt_test, correlations, means, read_ratings
from conjury.analysis.raters.models.checks import fit_in_words
from conjury.analysis.raters.models.priors import Prior
from conjury.analysis.raters.replacement.epsilon_curve import epsilons, with_curve
from conjury.analysis.raters.replacement.panel import panel_of
from conjury.analysis.raters.replacement.power_of_panel import at_hand, cut_correlation, panel_power
from conjury.analysis.report import RatingsReport
from conjury.analysis.report.captions import CAPTIONS, METHODS, caption
from conjury.analysis.report.cells import in_words
from conjury.analysis.report.exhibits import benchmark as benchmark_sections
from conjury.analysis.report.exhibits.rater_models import label_model_tables, rater_model_tables
from conjury.analysis.report.exhibits.rater_predictions import (
    assumptions,
    predictive_check,
    prior_table,
    told,
)
from conjury.analysis.report.exhibits.rating_agreement import power_tables
from conjury.analysis.report.exhibits.rating_published import beside_table
from conjury.analysis.report.exhibits.ratings import FURTHER, LEADS, _verdict, method
from conjury.analysis.report.exhibits.replacement import answers_of, beside
from conjury.analysis.report.markup import to_html
from conjury.analysis.report.tables import NO_BREAK
from conjury.inference.errors import InputError

LABELS = {("judges", "gpt_4_1"): "GPT-4.1", ("dimension", "fun"): "Overall fun"}


def shares(wide: float = 0.03) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"group": group, "category": float(k), "observed": 0.2 + 0.01 * k, "expected": 0.22,
             "lower": 0.22 - wide, "upper": 0.22 + wide}
            for group in ("human", "gpt_4_1") for k in range(5)
        ]
    )  # fmt: skip


def fitted(**extra: pd.DataFrame) -> Result:
    """Tables like those of a fitted model of raters, with numbers of no fit."""
    frame = pd.DataFrame(
        {
            "group": ["human", "gpt_4_1", "gpt_4_1"],
            "judge_kind": ["human", "model", "model"],
            "quantity": ["correlation", "closer_than_human", "better_than_human"],
            "estimate": [0.6, 0.4, 0.3],
            "lower": [0.5, 0.3, 0.1],
            "upper": [0.7, 0.45, 0.6],
        }
    )
    priors = pd.DataFrame(
        {
            "prior": ["severity_sd", "bias"],
            "meaning": ["SD of people's severities in a panel", "a model's bias"],
            "distribution": ["half-normal with sd 0.5", "normal with mean 0 and sd 0.6"],
        }
    )
    settings = {"dimension": "fun", "alpha": 0.05, "priors_changed": {"severity_sd": [0.5]}}
    return Result(frame, "rater_model", settings=settings, extra={"priors": priors, **extra})


@pytest.fixture
def at_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Figures of reports are written where they run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_priors_are_told_with_their_numbers_and_what_was_changed() -> None:
    shown = prior_table(fitted()).as_raw_html()
    for text in ("Half-normal with sd 0.5 (changed)", "Normal with mean 0 and sd 0.6<", "severity_sd"):
        assert text in shown
    assert "@tbl-raters-fun-priors" in assumptions(fitted(), "raters_fun", "Raters.")
    assert assumptions(Result(fitted().frame, "rater_model"), "raters_fun", "Raters.") == ""


def test_shares_of_prior_and_posterior_stand_in_one_row() -> None:
    made = predicted_shares(fitted(frequencies=shares(), prior_frequencies=shares(wide=0.3)))
    assert len(made) == 10
    assert made["category"].tolist()[:2] == ["0", "1"]
    assert (
        ((made["prior_upper"] - made["prior_lower"]) / (made["upper"] - made["lower"])).round(6).eq(10).all()
    )
    alone = predicted_shares(fitted(frequencies=shares()))
    assert alone["prior_lower"].isna().all()
    assert predicted_shares(fitted()).empty


def test_checks_of_labels_and_dimensions_come_in_the_same_layout() -> None:
    labels = shares().rename(columns={"group": "judge", "category": "label"}).assign(label="no")
    made = predicted_shares(Result(labels, "label_model", extra={"check": labels}))
    assert set(made["group"]) == {"human", "gpt_4_1"}
    table = shares().rename(columns={"category": "value"}).assign(statistic="share", dimension="fun")
    other = table.head(1).assign(statistic="ratings", value=np.nan)
    check = pd.concat([table, other, table.assign(dimension="wit")])
    result = Result(check, "dimension_model", extra={"check": check})
    made = predicted_shares(result)
    assert made.groupby("dimension", sort=False).size().to_dict() == {"fun": 10, "wit": 10}
    titles = [axes.get_title(loc="left") for axes in figure_of(result, part="check", labels=LABELS).axes]
    assert "GPT-4.1, Overall fun" in [text.replace("\n", " ") for text in titles]


def test_the_check_says_how_many_shares_the_model_makes(at_place: Path) -> None:
    result = fitted(frequencies=shares(), prior_frequencies=shares(wide=0.3))
    said = told(predicted_shares(result), 0.05)
    assert said.startswith("Of 10 observed shares, 10 lie in what the fitted model makes in 95%")
    assert "10.0 times as wide" in said
    page = predictive_check(result, "raters_fun", "Raters.", LABELS)
    for text in ("@fig-raters-fun-check", "Prior predictive", "GPT-4.1"):
        assert text in page
    assert "gpt_4_1" not in page
    off = fitted(frequencies=shares().assign(observed=0.5))
    assert "10 of 10 observed shares lie outside" in alt_of(off, LABELS, "check")


def test_several_dimensions_have_a_table_of_what_the_priors_make(at_place: Path) -> None:
    table = shares().rename(columns={"category": "value"}).assign(statistic="share")
    check = pd.concat([table.assign(dimension=name) for name in ("fun", "wit")])
    prior = check.assign(lower=0.011, upper=0.987)
    result = Result(check, "dimension_model", extra={"check": check, "prior_check": prior})
    page = predictive_check(result, "dims", "Dimensions.", LABELS)
    assert "@tbl-dims-check and @tbl-dims-check-2" in page
    assert "0.99]" in page
    for text in (
        "made from the priors alone",
        "that the fitted model makes",
        "in what its priors alone make",
    ):
        assert text in page
    alone = predictive_check(replace(result, extra={"check": check}), "dims", "Dimensions.", LABELS)
    assert "priors alone" not in alone
    assert "0.99]" not in alone


def test_labels_have_what_the_priors_make_beside_what_the_fitted_model_makes(at_place: Path) -> None:
    labels = shares().rename(columns={"group": "judge", "category": "label"})
    labels["label"] = ["no", "yes", "dull", "odd", "funny"] * 2
    prior = labels.assign(lower=0.011, upper=0.987)
    result = Result(labels, "label_model", extra={"check": labels, "prior_check": prior})
    page = predictive_check(result, "labels", "Labels.", LABELS)
    for text in ("Prior predictive", "Posterior predictive", "0.987]"):
        assert text in page


def test_checks_of_choices_are_drawn_by_level() -> None:
    check = pd.DataFrame(
        {"statistic": ["share", "share", "SD between raters"], "feature": ["tone", "position", "tone"],
         "level": ["very_loud", "A", "very_loud"], "observed": [0.9, 0.5, 0.1], "expected": 0.5, "lower": 0.4,
         "upper": 0.6}
    )  # fmt: skip
    prior = check.assign(lower=0.1, upper=0.95)
    result = Result(check, "choice_model", extra={"check": check, "prior_check": prior})
    assert further_figures(result) == ["check"]
    (axes,) = figure_of(result, part="check", labels={("tone", "very_loud"): "Very loud!"}).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["Tone: Very loud!", "Position: A"]
    assert predicted_shares(result)["prior_upper"].tolist() == [0.95, 0.95]
    assert "1 of 2 observed shares lie outside" in alt_of(result, None, "check")
    assert "(Tone: Very loud: 0.90)" in alt_of(result, None, "check")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_observed_shares_prior_and_posterior_are_drawn(theme: str) -> None:
    result = fitted(frequencies=shares(), prior_frequencies=shares(wide=0.3))
    assert further_figures(result) == ["check"]
    figure = figure_of(result, part="check", theme=theme, labels=LABELS)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["Observed", "Made by the fitted model", "Made by the priors alone"]
    assert figure.axes[1].get_title(loc="left") == "GPT-4.1"


def test_names_without_a_value_do_not_stop_the_words_of_a_check() -> None:
    table = pd.DataFrame({"group": ["a"], "dimension": pd.array([pd.NA], dtype="string"), "observed": [0.9],
                          "lower": [0.1], "upper": [0.3]})  # fmt: skip
    assert fit_in_words(table, "shares").endswith(": a.")


def with_rates(**more: Any) -> pd.DataFrame:
    columns = {
        "dimension": "fun", "scoring": "neg_rmse", "model": ["gpt_4_1", "other"], "epsilon": 0.1,
        "winning_rate": [0.2, 0.6], "winning_rate_lower": [0.0, 0.4], "winning_rate_upper": [0.4, 0.8],
        "advantage_probability": [0.4, 0.7], "advantage_probability_lower": [0.3, 0.6],
        "advantage_probability_upper": [0.5, 0.8], "passes": [False, True], "smallest_epsilon": [0.35, 0.05],
        "n_annotators": 4,
    }  # fmt: skip
    return pd.DataFrame({**columns, **more})


def test_both_answers_keep_the_intervals_of_the_posterior() -> None:
    both = beside(with_rates(), answers_of(fitted()))
    assert both["model"].unique().tolist() == ["gpt_4_1"]
    row = both[both["quantity"] == "closer_than_human"].iloc[0]
    assert row[["estimate", "lower", "upper"]].tolist() == [0.4, 0.3, 0.45]
    drawn = Result(both, "both_answers")
    assert len(figure_of(drawn, labels=LABELS).axes) == 4
    assert "P(closer on an item) 0.40 [0.30, 0.45]" in alt_of(drawn, LABELS)
    assert beside(with_rates(dimension="wit"), answers_of(fitted())).empty


def test_labels_answer_with_accuracy_beside_a_person() -> None:
    table = pd.DataFrame({"model": ["gpt_4_1"], "group": ["human"], "estimate": [0.1], "lower": [0.0],
                          "upper": [0.2]})  # fmt: skip
    result = Result(table, "label_model", settings={"dimension": None}, extra={"replacement": table})
    assert answers_of(result)["quantity"].tolist() == ["accuracy_difference"]
    assert answers_of(Result(table, "label_model")).empty


def write(place: Path, manifest: dict[str, Any], **tables: pd.DataFrame) -> RatingsReport:
    (place / "tables").mkdir()
    for name, table in tables.items():
        table.to_parquet(place / "tables" / f"{name}.parquet")
    whole = {"conjury": "0", "files": [], "title": "Jokes", "study": "jokes",
             "labels": {"judges": {"gpt_4_1": "GPT-4.1"}}, **manifest}  # fmt: skip
    (place / "manifest.json").write_text(json.dumps(whole), encoding="utf-8")
    return RatingsReport(place)


def recorded(name: str, result: Result) -> dict[str, Any]:
    return {"name": name, "title": name, "kind": result.kind, "settings": dict(result.settings),
            "further": list(result.extra)}  # fmt: skip


def test_the_report_shows_both_answers_with_intervals(
    at_place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = Result(with_rates(), "alt_test", settings={"epsilon": 0.1})
    manifest = {"results": [recorded("alt_test", test), recorded("raters_fun", fitted())]}
    report = write(
        at_place, manifest, alt_test=test.frame, raters_fun=fitted().frame,
        raters_fun__priors=fitted().extra["priors"],
    )  # fmt: skip
    report.both_answers()
    page = capsys.readouterr().out.replace(NO_BREAK, " ")
    for text in (
        "0.40 [0.30, 0.45]",
        "0.30 [0.10, 0.60]",
        "0.20 [0.00, 0.40]",
        "a random person, 1 behind",
        "Epsilon 0.1",
    ):
        assert text in page


def published() -> pd.DataFrame:
    return pd.DataFrame(
        {"table": [1, 4, 1], "dimension": "fun", "group": ["human", "gpt_4_1", "human"],
         "modality": ["overall", "overall", "text"], "response_type": "high", "estimate": [2.5, 3.0, 2.0],
         "printed": [2.4, 3.2, 2.2], "difference": [0.1, -0.2, -0.2]}
    )  # fmt: skip


def test_printed_numbers_stand_beside_ours_with_the_difference() -> None:
    shown = beside_table(published(), Names(LABELS)).as_raw_html()
    for text in ("GPT-4.1", "Overall fun", "2.400", "2.500", "0.100", "\N{MINUS SIGN}0.200", "Gap"):
        assert text in shown


@pytest.mark.parametrize("simulated", [True, False])
def test_published_numbers_are_set_beside_real_judgments_only(
    simulated: bool, at_place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = {"simulated": simulated, "results": [recorded("raters_fun", Result(fitted().frame, "x"))]}
    write(at_place, manifest, published_means=published()).published()
    page = capsys.readouterr().out
    assert ("3 printed numbers" in page) is not simulated
    assert ("The folder has the other 1." in page) is not simulated
    assert ("are simulated and are not compared with published numbers." in page) is simulated


def test_ids_of_tables_are_unique_where_two_results_are_of_one_kind(
    at_place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.DataFrame(
        [("ann", "human", f"i{k}", float(k % 4), "wit", "ab"[k % 2]) for k in range(12)]
        + [("gpt", "model", f"i{k}", float(k % 3), "wit", "ab"[k % 2]) for k in range(12)],
        columns=["judge_id", "judge_kind", "item_id", "value", "dimension", "kind"],
    )
    results = {"means": means(table, draws=9), "means_kind": means(table, by="kind", draws=9)}
    results |= {"r": correlations(table, draws=9), "r_kind": correlations(table, by="kind", draws=9)}
    tables = {name: part for key, one in results.items() for name, part in tables_of(Named(key, key, one)).items()}
    report = write(at_place, {"results": [recorded(*each) for each in results.items()]}, **tables)
    report.show("means", "correlations")
    shown = capsys.readouterr().out
    (at_place / "references.bib").write_text("", encoding="utf-8")
    page = to_html(shown, at_place, "references.bib")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len([name for name in ids if name.startswith("gt-")]) >= 8
    assert len(ids) == len(set(ids))
    assert "Brackets" not in shown


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    """Ratings of 60 items by four people and a model that agree."""
    rng = np.random.default_rng(1)
    quality = rng.normal(2, 1, 60)
    rows = [
        (judge, kind, item, float(np.clip(np.round(value + rng.normal(0, 0.6)), 0, 4)))
        for judge, kind in (*((name, "human") for name in "abcd"), ("gpt_4_1", "model"))
        for item, value in enumerate(quality)
    ]
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])


def test_the_panel_at_hand_is_measured(panel: pd.DataFrame) -> None:
    ratings = read_ratings(panel)
    found = at_hand(panel_of(ratings, ["gpt_4_1"]), len(ratings.categories), ratings.numeric)
    assert (found.kind, found.annotators, found.per_item, found.instances) == ("ratings", 4, 4, 60)
    assert found.agreement == pytest.approx(1 / 1.36, abs=0.1)


def test_cut_values_correlate_as_simulated_ones_do() -> None:
    from scipy.special import ndtri

    cut_at = np.array([0.1, 0.3, 0.4, 0.2])
    made = np.random.default_rng(2).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 100_000)
    cut = np.searchsorted(ndtri(np.cumsum(cut_at)[:-1]), made)
    found = cut_correlation(np.array([0.6]), cut_at).item()
    assert found == pytest.approx(np.corrcoef(cut.T)[0, 1], abs=0.01)


def test_power_of_a_panel_grows_with_items_and_spares_models_behind(panel: pd.DataFrame) -> None:
    made = panel_power(panel, epsilon=0.2, simulations=100)
    assert sorted(made.frame["instances"].unique()) == [15, 30, 60, 120]
    best = made.frame[made.frame["model_agreement"] == made.frame["model_agreement"].max()]
    assert best["pass_rate"].iloc[-1] > best["pass_rate"].iloc[0]
    behind = made.frame[made.frame["scenario"] == "at the margin"]
    assert (behind["pass_rate"] <= 0.2).all()
    shown = power_tables(made, Names(LABELS))[0].as_raw_html()
    for text in (
        "As good as a person",
        "Knows what people agree on",
        "Behind people by epsilon",
        "120 items",
    ):
        assert shown.count(text) == 1


def test_power_is_refused_where_people_do_not_agree(panel: pd.DataFrame) -> None:
    flat = panel.assign(value=[k % 2 for k in range(len(panel))])
    flat.loc[flat["judge_id"].isin(["a", "c"]), "value"] = 1 - flat["value"]
    with pytest.raises(InputError, match="no better than by chance"):
        panel_power(flat)


def test_the_curve_reaches_where_models_begin_to_pass(panel: pd.DataFrame) -> None:
    found = with_curve(alt_test(panel, draws=0))
    assert set(found.extra["epsilon"].columns) >= {"epsilon", "winning_rate", "passes"}
    assert "epsilon" in further_figures(found)
    assert figure_of(found, part="epsilon").axes[0].get_xlim()[1] >= 0.3
    assert epsilons(Result(with_rates(), "alt_test"))[-1] == pytest.approx(0.6)


def test_estimates_are_drawn_against_the_truth_by_kind() -> None:
    frame = pd.DataFrame(
        {"analysis": "means", "quantity": ["expected_rating", "expected_rating", "positivity"],
         "judge": ["human", "gpt_4_1", "gpt_4_1"], "dimension": "fun", "response_type": "",
         "truth": [2.0, 2.5, 0.5], "estimate": [2.1, 3.0, 0.4], "lower": [1.9, 2.8, np.nan],
         "upper": [2.3, 3.2, np.nan], "inside": pd.array([True, False, pd.NA], dtype="boolean")}
    )  # fmt: skip
    result = Result(frame, "recovery")
    figure = figure_of(result, labels=LABELS)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Mean rating", "Higher than people"]
    points = [line for line in figure.axes[0].lines if line.get_marker() != "None"]
    hollow = [line for line in points if line.get_markerfacecolor() != line.get_color()]
    assert sum(len(np.atleast_1d(line.get_xdata())) for line in hollow) == 1
    assert "Mean rating: 1 of 2 intervals hold" in alt_of(result, LABELS)
    assert "Higher than people: 0 of 0 intervals hold" in alt_of(result, LABELS)


def test_the_observed_share_of_equal_ratings_follows_the_expected_one() -> None:
    frame = pd.DataFrame(
        {"group": "human", "quantity": ["same_rating", "distance"], "estimate": [0.38, 0.5],
         "lower": [0.36, 0.4], "upper": [0.41, 0.6], "observed": [0.493, np.nan]}
    )  # fmt: skip
    (table,) = rater_model_tables(Result(frame, "rater_model"), Names({}))
    rows = re.findall(r"<td[^>]*>([^<]*)</td>", table.as_raw_html())
    assert rows[2:4] == ["The same: observed share of equal ratings", "0.49"]
    assert len(rows) == 6


def test_where_ratings_sit_at_the_end_of_the_scale_their_correlation_leads() -> None:
    quantities = ["latent_correlation_rating", "correlation"]
    frame = pd.DataFrame(
        {"group": ["human"] * 2 + ["gpt"] * 2, "quantity": quantities * 2, "estimate": 0.5, "lower": 0.4,
         "upper": 0.6}
    )  # fmt: skip
    result = Result(frame, "rater_model", settings={"at_the_end": ["gpt"]})
    html = rater_model_tables(result, Names({}))[0].as_raw_html().replace(NO_BREAK, " ")
    assert html.index("Correlation of ratings with the consensus") < html.index("Latent correlation")
    assert html.count("[0.40, 0.60]\N{DAGGER}") == 1
    assert "Not identified" in html


def test_the_label_model_is_laid_out_by_people_and_models() -> None:
    rows = [
        ("prevalence", "", "", "yes"), ("prevalence", "", "", "no"), ("accuracy", "human", "ann", ""),
        ("accuracy", "gpt_4_1", "gpt_4_1", ""), ("accuracy of a fresh person", "human", "", ""),
        ("agreement of two fresh people", "human", "", ""),
        ("agreement with a fresh person", "human", "gpt_4_1", ""),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["quantity", "group", "judge", "label"]).assign(
        estimate=np.linspace(0.3, 0.9, 7), lower=0.2, upper=0.95, n_items=9, n_ratings=20
    )
    found = pd.DataFrame({"model": ["gpt_4_1"], "group": "human", "estimate": 0.1, "lower": 0.0,
                          "upper": 0.2, "probability_better": 0.97})  # fmt: skip
    made = label_model_tables(Result(frame, "label_model", extra={"replacement": found}), Names(LABELS))
    pages = [table.as_raw_html().replace(NO_BREAK, " ") for table in made]
    cells = [re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", html) for html in pages]
    assert cells[0] == [
        "Quantity", "People", "GPT-4.1",
        "Accuracy", "0.70 [0.20, 0.95]", "0.60 [0.20, 0.95]",
        "Agreement with a person", "0.80 [0.20, 0.95]", "0.90 [0.20, 0.95]",
    ]  # fmt: skip
    assert cells[1][:4] == ["Label", "Share of items", "Yes", "0.30 [0.20, 0.95]"]
    assert cells[2][0:2] == ["Model", "Accuracy less that of a person"]
    assert "P 0.97" in cells[2][3]


def test_numbers_of_priors_are_rounded_with_a_true_minus() -> None:
    priors = pd.DataFrame({"prior": ["wrong"], "meaning": ["a logit"],
                           "distribution": [Prior("normal", (-1.791759, 1.0)).in_words()]})  # fmt: skip
    shown = prior_table(Result(pd.DataFrame(), "label_model", extra={"priors": priors})).as_raw_html()
    assert "Normal with mean \N{MINUS SIGN}1.79 and sd 1" in shown


def test_a_failed_check_is_a_warning_and_spells_the_option_as_it_is_typed(tmp_path: Path) -> None:
    (tmp_path / "empty.bib").touch()
    sentence = "9 draws of gpt_4_1 diverged; sample again with `--target-accept 0.95`."
    failed = _verdict({"verdict": [sentence], "passed": False}, LABELS)
    assert failed.startswith("::: {.callout-warning title=")
    assert "`--target-accept 0.95`" in failed
    assert "GPT-4.1" in failed
    page = to_html(failed, tmp_path, "empty.bib")
    assert "callout-warning" in page
    assert "<code>--target-accept 0.95</code>" in page
    passed = _verdict({"verdict": ["No draw diverged."], "passed": True}, LABELS)
    assert passed.startswith("::: {.callout-note title=")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpt_4_1 has p_holm of 1.", "GPT-4.1 has p holm of 1."),
        ("at human discrimination_sd; it", "at human discrimination sd; it"),
        ("column 'topic_id' of my_file.csv", "column 'topic_id' of my_file.csv"),
        ("in runs/my_study/design", "in runs/my_study/design"),
    ],
)
def test_ids_become_words_and_files_keep_their_names(text: str, said: str) -> None:
    assert in_words(text, LABELS) == said


def test_methods_name_columns_as_code_and_rules_in_words() -> None:
    settings = {"cluster": "topic_id", "draws": 2000, "scoring": "neg_rmse", "multiplicity": "by",
                "scale": [1.0, 2.0]}  # fmt: skip
    told = method({"kind": "alt_test", "settings": {"draws": 5}})
    assert told.startswith("The alternative annotator test: a one-sided paired t test for each annotator")
    assert told.endswith("5 draws.")
    assert method({"kind": "unknown", "settings": {}}) == ""
    said = method({"settings": settings})
    assert said.startswith("Clusters of items: `topic_id`, 2,000 draws")
    for text in ("Root mean squared error", "Benjamini-Yekutieli", "scale: 1, 2"):
        assert text in said


def test_notes_that_several_results_share_are_told_once_with_labels(at_place: Path) -> None:
    found = recorded("a", Result(fitted().frame, "x"))
    shared = "Intervals resample items; gpt_4_1 too."
    results = [{**found, "name": name, "title": f"Result {name}.", "notes": [shared]} for name in "abcde"]
    results[0]["notes"].append("Alone.")
    notes = write(at_place, {"results": results, "notes": ["Of the run."]}).notes().splitlines()
    assert notes == [
        "- Of the run.",
        "- Intervals resample items; GPT-4.1 too. (Result a; Result b; Result c; and 2 more)",
        "- Alone. (Result a)",
    ]


def test_every_kind_of_figure_has_a_caption_that_says_what_is_drawn() -> None:
    kinds = {*LEADS, *benchmark_sections.LEADS, *FURTHER, *benchmark_sections.FURTHER} - {"coverage"}
    assert kinds <= set(CAPTIONS)
    for kind in kinds:
        told = caption("Title.", kind, {"alpha": 0.1, "draws": 200, "cluster": "topic_id"})
        assert "{" not in told
        assert len(told) > len("Title.")
        if "interval" in told and kind != "recovery":
            assert "90%" in told
        assert "interval" not in caption("Title.", kind, {"draws": 0}) or "drawn" not in CAPTIONS[kind]
    assert {*LEADS, *benchmark_sections.LEADS} <= set(METHODS)
    told = caption("Means.", "means", {"alpha": 0.1, "draws": 200, "cluster": "topic_id"})
    assert told.endswith("lines: 90% intervals with bootstrap standard errors, whole topics resampled.")
