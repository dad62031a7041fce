"""Figures of ratings, of models of raters and of predictive checks: what is drawn where."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from drawn import legend, points, row_labels, shaded, titles
from made_up import rating_results as ratings
from made_up.figures import MODELS, STRATA, example
from matplotlib.figure import Figure

from conjury.analysis.figures import alt, draw, parts
from conjury.analysis.figures.labels import ColumnNames
from conjury.analysis.figures.raters.agreement_figures import compared_in_words
from conjury.analysis.figures.raters.rater_model_figures import MOST_PEOPLE, predicted_shares
from conjury.analysis.figures.theme import LIGHT
from conjury.analysis.raters.models.model_checks import sentence_on_fit
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def result(name: str, **columns: Any) -> Any:
    """The made-up result, with changed columns."""
    made = example(name).result
    return replace(made, frame=made.frame.assign(**columns)) if columns else made


def rows(figure: Figure) -> list[str]:
    return row_labels(figure.axes[0])


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_map_contains_people_below_and_the_model_above_the_diagonal() -> None:
    made = result("dimension_correlations")
    image = shaded(draw(made, above=["gemini"]).axes[0], 1.0)
    frame = made.frame.set_index(["group", "dimension", "other"])["estimate"]
    assert image[1, 0] == pytest.approx(frame["human", "novelty", "empathy"])
    assert image[0, 1] == pytest.approx(frame["gemini", "novelty", "empathy"])
    assert np.isnan(image.diagonal()).all()


def test_judges_without_estimates_are_not_described_and_all_items_are_the_first_row() -> None:
    known = result("correlations").frame["judge"] != "gemini"
    frame = result("correlations").frame
    gap = result("correlations", **{name: frame[name].where(known) for name in frame.columns[-4:]})
    assert "gemini" not in alt(gap)
    assert rows(draw(gap))[0] == "All items"


@pytest.mark.parametrize(
    ("made", "options", "message"),
    [
        (result("means"), {"dimensions": ["noveltie"]}, r"no dimension 'noveltie' \(did you mean 'novelty'"),
        (result("biases"), {"quantities": ["owner"]}, "no quantity 'owner'"),
        (result("agreement"), {"coefficients": ["icc1"]}, "no coefficient 'icc1'"),
        (result("dimension_model"), {"level": "all"}, "no level 'all'"),
        (
            replace(result("means"), frame=result("means").frame.drop(columns="response_type")),
            {"part": "radar"},
            "not by 0",
        ),
        (result("means", dimension="novelty"), {"part": "radar"}, "three dimensions"),
        (result("agreement"), {"part": "pairs", "least": 50}, "no pair of raters shares 50 items"),
        (replace(result("agreement"), extra={}), {"part": "pairs"}, "no table of pairs"),
        (result("alt_test"), {"show": "annotators"}, "The result contains 2 models"),
        (result("alt_test"), {"show": "annotators", "model": "gpt"}, "no model 'gpt'"),
        (result("alt_test"), {"show": "people"}, "show is 'people'"),
        (result("alt_test"), {"part": "epsilon"}, "no curve over epsilon"),
    ],
)
def test_what_the_result_lacks_is_refused(made: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(made, **options)


def test_agreement_without_limits_mentions_none_and_raters_with_themselves_are_named() -> None:
    bare = result("agreement", lower=np.nan, upper=np.nan)
    assert draw(bare, coefficients=["gwet"]).get_supxlabel() == "Gwet's AC, ordinal weights"
    frame = pd.DataFrame({"among": ["human, again", "human", "gpt"], "against": None})
    words = ["People, each with themselves", "People among themselves", "gpt, repeated"]
    assert compared_in_words(frame, ColumnNames(None)) == words


@pytest.mark.parametrize("kind", ["agreement", "agreement_pairs"])
def test_a_nominal_dimension_is_drawn_next_to_ordinal_ones_each_with_its_weights(kind: str) -> None:
    made = result("agreement")
    frame = made.frame if kind == "agreement" else made.extra["pairs"]
    nominal = frame[(frame["dimension"] == "novelty") & (frame["weights"] == "ordinal")]
    both = pd.concat([frame, nominal.assign(dimension="form", weights="nominal")])
    mixed = Result(both, kind, settings=made.settings)
    assert {"Novelty, ordinal weights", "Form, exact agreement"} <= set(titles(draw(mixed)))
    assert "Form, exact agreement: " in alt(mixed)
    assert "weights" not in draw(mixed).get_supxlabel()
    shown = draw(mixed, weights="ordinal")
    assert not [text for text in titles(shown) if "Form" in text or "exact" in text]
    assert "without ordinal weights, not drawn: Form" in shown.get_supxlabel().replace("\n", " ")


@pytest.mark.long
def test_pairs_of_few_raters_have_numbers_and_gaps_are_explained(tmp_path) -> None:
    made = result("agreement")
    pairs = made.extra["pairs"]
    gap = pairs.assign(n_items=np.where(pairs["judge"] == "person_000", 3, 40))
    assert "fewer than 10 shared items" in draw(Result(gap, "agreement_pairs")).get_supxlabel()
    assert len(texts(draw(Result(pairs.assign(n_items=10), "agreement_pairs")))) == 4 * 3
    few = replace(made, extra={"pairs": pairs.assign(n_items=3)})
    assert (parts(made), parts(few)) == (["pairs"], [])
    one = made.frame.query("dimension == 'novelty'")
    for table, kind in ((one, "agreement"), (pairs, "agreement_pairs")):  # read back from text
        table.assign(dimension="").to_csv(tmp_path / "table.csv", index=False)
        assert titles(draw(Result(pd.read_csv(tmp_path / "table.csv"), kind))) == []
    every = pd.DataFrame(combinations([f"p{k}" for k in range(30)], 2), columns=["judge", "other"])
    like = {name: pairs[name].iloc[0] for name in ("dimension", "coefficient", "weights", "n_items")}
    many = every.assign(**like, judge_kind="human", other_kind="human", estimate=0.4)
    axes, _ = draw(Result(many, "agreement_pairs")).axes
    assert (len(axes.get_yticklabels()), list(axes.texts)) == (30, [])


def test_grey_cells_are_explained_only_where_one_is_drawn() -> None:
    people, models = [f"p{k}" for k in range(14)], ["gpt", "claude"]
    every = pd.DataFrame(combinations([*people, *models], 2), columns=["judge", "other"])
    like = result("agreement").extra["pairs"].iloc[0][["dimension", "coefficient", "weights"]].to_dict()
    kinds = {
        f"{name}_kind": np.where(every[name].isin(people), "human", "model") for name in ("judge", "other")
    }
    both = (kinds["judge_kind"] == "human") & (kinds["other_kind"] == "human")  # no two people share items
    pairs = every.assign(**like, **kinds, estimate=0.4, n_items=np.where(both, 0, 40))
    pairs = pairs[["dimension", *pairs.columns.drop("dimension")]]
    figure = draw(Result(pairs, "agreement_pairs"))
    assert len(figure.axes[0].get_xticklabels()) == len(models)
    assert figure.get_supxlabel() == ""
    pairs.loc[(pairs["judge"] == "p3") & (pairs["other"] == "gpt"), "n_items"] = 3
    assert "fewer than 10 shared items" in draw(Result(pairs, "agreement_pairs")).get_supxlabel()


def pairs_of(raters: list[str], without: int = 0) -> Result:
    """Agreement of all pairs of raters, of whom the first pairs of people share no item."""
    frame = pd.DataFrame(combinations(raters, 2), columns=["judge", "other"])
    kinds = {f"{one}_kind": np.where(frame[one].str.startswith("person"), "human", "model") for one in frame}
    of_people = (kinds["judge_kind"] == "human") & (kinds["other_kind"] == "human")
    frame = frame.assign(**kinds, coefficient="cohen", weights="ordinal")
    frame["n_items"] = np.where(of_people & (np.cumsum(of_people) <= without), 0, 40)
    frame.insert(0, "dimension", "novelty")
    return Result(frame.assign(estimate=0.4), "agreement_pairs")


@pytest.mark.long
@pytest.mark.parametrize(("without", "n_columns"), [(27, 13), (28, 2)])
def test_models_alone_are_columns_where_more_than_half_of_the_pairs_of_people_share_nothing(
    without: int, n_columns: int
) -> None:
    raters = [f"person_{k}" for k in range(11)] + ["gpt", "pal"]  # 55 pairs of people
    axes = draw(pairs_of(raters, without)).axes[0]
    assert (len(axes.get_xticks()), len(axes.get_yticks())) == (n_columns, 13)


def test_models_that_could_not_be_tested_are_named() -> None:
    only = result("alt_test", winning_rate=np.nan)
    assert "no test" in texts(draw(only))
    assert "no test." in alt(only)


@pytest.mark.parametrize(("n_people", "n_columns"), [(10, 1), (11, 2)])
def test_annotators_have_two_columns_of_panels_where_one_is_higher_than_a_page(
    n_people: int, n_columns: int
) -> None:
    made = result("alt_test")
    one = made.extra["annotators"].query("model == 'gpt_4_1'").head(1)
    names = pd.DataFrame({"annotator": [f"p{k}" for k in range(n_people)]})
    scales = pd.DataFrame({"dimension": list("abcd")})
    table = one.drop(columns=["dimension", "annotator"]).merge(scales, how="cross").merge(names, how="cross")
    figure = draw(replace(made, extra=made.extra | {"annotators": table}), show="annotators")
    places = {round(axes.get_position().x0, 6) for axes in figure.axes}
    assert (len(figure.axes), len(places)) == (4, n_columns)


def test_curves_over_epsilon_are_steps() -> None:
    steps = [line.get_drawstyle() for line in draw(result("epsilon_curve")).axes[0].get_lines()]
    assert steps.count("steps-post") == len(MODELS)


def test_of_many_people_only_some_are_shown_with_all_models() -> None:
    made = result("rater_model")
    judges = made.extra["judges"]
    person = judges[judges["group"] == "human"].head(2)
    further = (person.assign(judge=f"q{k}", estimate=1.0 + k) for k in range(60))
    many = pd.concat([judges, *further], ignore_index=True)
    figure = draw(replace(made, extra={"judges": many}), part="judges")
    assert len(figure.axes[0].get_yticks()) == MOST_PEOPLE + len(MODELS)
    severity = judges[(judges["group"] == "human") & (judges["quantity"] == "severity_points")]
    least = severity.loc[severity["estimate"].idxmin(), "judge"]
    assert {ColumnNames(None).of("judge", name) for name in (least, "q59")} <= set(rows(figure))


def test_matrices_of_the_labels_of_one_group_have_limits() -> None:
    assert any("\N{EN DASH}" in text for text in texts(draw(result("label_model"), groups=["human"])))


def test_shares_outside_of_what_a_model_predicts_are_counted() -> None:
    made = result("rater_model")
    shares = made.extra["frequencies"].assign(observed=0.99)
    off = replace(made, extra={"frequencies": shares})
    assert f"{len(shares)} of {len(shares)} observed shares are outside" in alt(off, part="check")
    table = pd.DataFrame({"group": ["a"], "dimension": pd.array([pd.NA], dtype="string"), "observed": [0.9],
                          "lower": [0.1], "upper": [0.3]})  # fmt: skip
    assert sentence_on_fit(table, "shares").endswith(": a.")


def test_shares_of_prior_and_posterior_are_in_one_row() -> None:
    shares, wide = ratings.shares(), ratings.shares(wide=0.3)
    made = ratings.rater_model(frequencies=shares, prior_frequencies=wide)
    found = predicted_shares(made)
    assert len(found) == 10
    assert found["category"].tolist()[:2] == ["0", "1"]
    ratio = (found["prior_upper"] - found["prior_lower"]) / (found["upper"] - found["lower"])
    assert ratio.tolist() == pytest.approx([10] * 10)
    assert predicted_shares(ratings.rater_model(frequencies=shares))["prior_lower"].isna().all()
    assert predicted_shares(ratings.rater_model()).empty
    assert parts(made) == ["check"]
    for theme in ("light", "dark"):
        figure = draw(made, part="check", theme=theme, labels=ratings.LABELS)
        predicted = ["Predicted by the fitted model", "Predicted by the priors alone"]
        assert legend(figure) == ["Observed", *predicted]
        assert titles(figure)[1] == "GPT-4.1"


def test_checks_of_labels_dimensions_and_choices_have_the_same_layout() -> None:
    labels = ratings.shares().rename(columns={"group": "judge", "category": "label"}).assign(label="no")
    found = predicted_shares(Result(labels, "label_model", extra={"check": labels}))
    assert set(found["group"]) == {"human", "gpt_4_1"}
    table = ratings.shares().rename(columns={"category": "value"}).assign(statistic="share", dimension="fun")
    other = table.head(1).assign(statistic="ratings", value=np.nan)
    check = pd.concat([table, other, table.assign(dimension="wit")])
    made = Result(check, "dimension_model", extra={"check": check})
    assert predicted_shares(made)["dimension"].value_counts().to_dict() == {"fun": 10, "wit": 10}
    statistics = {
        "statistic": ["share", "share", "SD between raters"],
        "feature": ["tone", "position", "tone"],
    }
    levels = {"level": ["very=loud", "A", "very=loud"], "observed": [0.9, 0.5, 0.1]}
    check = pd.DataFrame(statistics | levels).assign(expected=0.5, lower=0.4, upper=0.6)
    prior = check.assign(lower=0.1, upper=0.95)
    made = Result(check, "choice_model", extra={"check": check, "prior_check": prior})
    figure = draw(made, part="check", labels={("tone", "very=loud"): "Very loud!"})
    assert rows(figure) == ["Tone: Very loud!", "Position: A"]
    assert predicted_shares(made)["prior_upper"].tolist() == [0.95, 0.95]
    text = alt(made, None, "check")
    assert "1 of 2 observed shares are outside" in text
    assert "(Tone: Very=loud: 0.90)" in text


def test_estimates_are_drawn_against_the_truth_by_kind_on_equal_axes() -> None:
    made = Result(ratings.recovered(), "recovery")
    figure = draw(made, labels=ratings.LABELS)
    assert titles(figure) == ["Mean rating", "Higher than people"]
    axes = figure.axes[0]
    lines = [line for line in axes.lines if line.get_marker() != "None"]
    hollow = [line for line in lines if line.get_markerfacecolor() != line.get_color()]
    assert sum(len(np.atleast_1d(line.get_xdata())) for line in hollow) == 1
    assert (axes.get_xlim(), axes.get_aspect()) == (axes.get_ylim(), 1)
    text = alt(made, ratings.LABELS)
    assert "Mean rating: 1 of 2 intervals contain" in text
    assert "Higher than people: 0 of 0 intervals contain" in text


def test_people_and_models_have_a_colour_each_where_estimates_of_many_judges_are_compared() -> None:
    judges = ["human", *(f"model_{k}" for k in range(8))]
    table = pd.DataFrame({"quantity": "accuracy", "judge": judges, "truth": 0.6, "estimate": 0.5})
    table = table.assign(lower=0.4, upper=0.7, inside=True)
    figure = draw(Result(table, "recovery"))
    assert legend(figure) == ["People", "Models"]
    lines = [line for line in figure.axes[0].lines if line.get_marker() != "None"]
    counts = {LIGHT.color(place): 0 for place in (0, 1)}
    for line in lines:
        counts[line.get_color()] += len(np.atleast_1d(line.get_xdata()))
    assert counts == {LIGHT.color(0): 1, LIGHT.color(1): 8}


@pytest.mark.parametrize(("statistic", "levels", "label"), cases(__file__, "axes_of_corrected_ratings"))
def test_the_axis_of_corrected_ratings_says_what_is_estimated(statistic, levels, label) -> None:
    frame = result("prediction_powered_items").frame
    table = pd.concat([frame.assign(statistic=statistic, level=level) for level in levels])
    text = draw(Result(table, "prediction_powered_items")).get_supxlabel()
    assert text.startswith(f"{label} (")


def test_many_strata_are_drawn_where_there_are_no_rows_of_all_items() -> None:
    frame = result("prediction_powered_items").frame
    table = pd.concat([frame.assign(topic=f"topic {number}") for number in range(25)])
    figure = draw(Result(table, "prediction_powered_items", settings={"by": ["topic"]}))
    assert sorted(rows(figure)) == sorted(f"Topic {number}" for number in range(25))


def test_of_many_plans_twelve_are_drawn_from_the_first_to_the_last() -> None:
    plans = pd.DataFrame({"prompt": range(1, 31), "repeats": 1, "phi": np.arange(1, 31) / 100})
    plans = plans.assign(judge="gpt", cheapest=False, lower=plans["phi"] - 0.01, upper=plans["phi"] + 0.01)
    drawn = points(
        *draw(Result(plans, "decision_study", settings={"facets": ["prompt"], "alpha": 0.05})).axes
    )
    assert (len(drawn), drawn[0], drawn[-1]) == (12, 0.01, 0.3)
    assert set(np.diff(drawn).round(2)) == {0.02, 0.03}


@pytest.mark.long
def test_distributions_pool_strata() -> None:
    frame = result("distributions").frame
    strata = pd.concat([frame.assign(response_type=name) for name in STRATA])
    columns = ["dimension", "group", "response_type", "value", "estimate", "n_ratings"]
    one, pooled = (
        [bar.get_height() for bar in draw(Result(table, "distributions")).axes[0].patches]
        for table in (frame, strata[columns])
    )
    assert one == pytest.approx(pooled)
