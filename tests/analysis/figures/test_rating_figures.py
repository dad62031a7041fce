"""Figures of ratings and of models of raters: what stands where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up_figures import MODELS, RATERS, STRATA, example
from matplotlib.figure import Figure

from conjury.analysis.figures import alt, draw
from conjury.analysis.figures.raters.agreement import compared_in_words
from conjury.analysis.figures.raters.models import MOST_PEOPLE
from conjury.analysis.figures.raters.naming import Names
from conjury.analysis.figures.theme import LIGHT
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def result(name: str) -> Any:
    return example(name).result


def titles(figure: Figure) -> list[str]:
    return [
        axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes if axes.get_title(loc="left")
    ]


def rows(figure: Figure) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in figure.axes[0].get_yticklabels()]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_map_contains_people_below_and_the_model_above_the_diagonal() -> None:
    made = result("dimension_correlations")
    image = np.ma.filled(draw(made, above=["gemini"]).axes[0].images[0].get_array(), np.nan)
    frame = made.frame.set_index(["group", "dimension", "other"])["estimate"]
    assert image[1, 0] == pytest.approx(frame["human", "novelty", "empathy"])
    assert image[0, 1] == pytest.approx(frame["gemini", "novelty", "empathy"])
    assert np.isnan(image.diagonal()).all()


def test_points_stand_at_their_estimates_in_the_colour_of_their_judge() -> None:
    made = result("correlations")
    axes = draw(made, dimensions=["empathy"], coefficient="pearson").axes[0]
    frame = made.frame.query("dimension == 'empathy' and coefficient == 'pearson' and judge == 'gemini'")
    drawn = {line.get_color(): line.get_xdata() for line in axes.lines if line.get_linestyle() == "None"}
    color = LIGHT.color(Names(None).place("gemini", MODELS))
    assert np.asarray(drawn[color], float) == pytest.approx(frame["estimate"].to_numpy(float))


def test_radars_need_three_dimensions_and_one_column() -> None:
    made = result("means")
    assert len(draw(made, part="radar", strata=["high", "low"]).axes) == 2
    assert len(draw(made, part="radar", lines="stratum").axes) == len(RATERS)
    with pytest.raises(InputError, match="not by 0"):
        draw(replace(made, frame=made.frame.drop(columns="response_type")), part="radar")
    with pytest.raises(InputError, match="three dimensions"):
        draw(replace(made, frame=made.frame.query("dimension == 'novelty'")), part="radar")


def test_what_is_not_there_cannot_be_chosen() -> None:
    with pytest.raises(InputError, match=r"no dimension 'noveltie' \(did you mean 'novelty'"):
        draw(result("means"), dimensions=["noveltie"])
    with pytest.raises(InputError, match="no quantity 'owner'"):
        draw(result("biases"), quantities=["owner"])
    with pytest.raises(InputError, match="no coefficient 'icc1'"):
        draw(result("agreement"), coefficients=["icc1"])
    with pytest.raises(InputError, match="no level 'all'"):
        draw(result("dimension_model"), level="all")


def test_a_correlation_that_is_not_defined_leaves_a_gap() -> None:
    made = result("correlations")
    frame = made.frame.assign(**{name: made.frame[name].where(made.frame["judge"] != "gemini")
                                 for name in ("estimate", "lower", "upper")})  # fmt: skip
    assert "gemini" not in alt(replace(made, frame=frame))
    assert rows(draw(replace(made, frame=frame)))[0] == "All items"


def test_agreement_has_dimensions_in_panels_and_comparisons_in_rows() -> None:
    made = result("agreement")
    figure = draw(made, labels={("judges", "gpt_4_1"): "Model one"})
    assert titles(figure) == ["Novelty", "Empathy"]
    assert rows(figure) == ["People among themselves", "Models among themselves", "People with Model one"]
    assert figure.get_supxlabel().endswith("ordinal weights (95% bootstrap intervals by topic)")
    bare = replace(made, frame=made.frame.assign(boot_lower=np.nan, boot_upper=np.nan))
    assert draw(bare, coefficients=["gwet"]).get_supxlabel() == "Gwet's AC, ordinal weights (95% intervals)"


def test_people_compared_with_themselves_are_named() -> None:
    frame = pd.DataFrame({"among": ["human, again", "human", "gpt"], "against": None})
    assert compared_in_words(frame, Names(None)) == [
        "People, each with themselves",
        "People among themselves",
        "gpt, repeated",
    ]


def test_pairs_of_few_raters_have_numbers_and_gaps_are_explained() -> None:
    made = result("agreement")
    figure = draw(made, part="pairs")
    assert len(texts(figure)) == 4 * 3
    assert not figure.get_supxlabel()
    pairs = made.extra["pairs"]
    gap = pairs.assign(n_items=np.where(pairs["judge"] == "person_000", 3, 40))
    assert "fewer than 10 shared items" in draw(Result(gap, "agreement_pairs")).get_supxlabel()
    with pytest.raises(InputError, match="no pair of raters shares 50 items"):
        draw(made, part="pairs", least=50)
    with pytest.raises(InputError, match="no table of pairs"):
        draw(replace(made, extra={}), part="pairs")


def test_thirty_raters_fit_on_a_map_without_numbers() -> None:
    names = [f"p{k}" for k in range(30)]
    rows = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    pairs = pd.DataFrame(rows, columns=["judge", "other"]).assign(
        dimension="wit", judge_kind="human", other_kind="human", coefficient="cohen", weights="nominal",
        estimate=0.4, n_items=20,
    )  # fmt: skip
    axes, _ = draw(Result(pairs[["dimension", *pairs.columns.drop("dimension")]], "agreement_pairs")).axes
    assert len(axes.get_yticklabels()) == 30
    assert not axes.texts


def test_tables_read_back_from_text_are_drawn(tmp_path) -> None:
    made = result("agreement")
    for table, kind in (
        (made.frame.query("dimension == 'novelty'"), "agreement"),
        (made.extra["pairs"], "agreement_pairs"),
    ):
        table.assign(dimension="").to_csv(tmp_path / "table.csv", index=False)
        assert titles(draw(Result(pd.read_csv(tmp_path / "table.csv"), kind))) == []


def test_both_rates_are_drawn_for_each_dimension_and_the_best_model_is_first() -> None:
    made = result("alt_test")
    figure = draw(made)
    assert len(figure.axes) == 4
    means = made.frame.groupby("model")["advantage_probability"].mean()
    assert rows(figure)[0] == Names(None).of("judges", means.idxmax())
    drawn = np.concatenate(
        [line.get_xdata() for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    )
    assert sorted(drawn) == sorted(made.frame.query("dimension == 'novelty'")["winning_rate"])
    only = replace(made, frame=made.frame.assign(winning_rate=np.nan))
    assert "no test" in texts(draw(only))
    assert "no test." in alt(only)


def test_annotators_of_one_model_are_drawn_with_those_excluded() -> None:
    made = result("alt_test")
    figure = draw(made, show="annotators", model="gpt_4_1")
    assert "excluded: 10 items, fewer than 30" in texts(figure)
    assert texts(figure).count("60 items") == 3
    for options, message in (
        ({}, "The result holds 2 models"),
        ({"model": "gpt"}, "no model 'gpt'"),
    ):
        with pytest.raises(InputError, match=message):
            draw(made, show="annotators", **options)
    with pytest.raises(InputError, match="show is 'people'"):
        draw(made, show="people")


def test_curves_over_epsilon_mark_where_a_model_begins_to_pass_and_differ_where_rates_are_equal() -> None:
    made = result("epsilon_curve")
    axes = draw(made).axes[0]
    steps = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]
    assert len({(line.get_linestyle(), line.get_linewidth()) for line in steps}) == len(steps) == len(MODELS)
    marks = [float(line.get_xdata()[0]) for line in axes.lines if len(line.get_xdata()) == 1]
    assert marks == [0.15]
    with pytest.raises(InputError, match="no curve over epsilon"):
        draw(result("alt_test"), part="epsilon")


def test_of_many_people_only_some_are_shown_with_all_models() -> None:
    made = result("rater_model")
    judges = made.extra["judges"]
    person = judges[judges["group"] == "human"].head(2)
    many = pd.concat([judges, *(person.assign(judge=f"q{k}") for k in range(60))], ignore_index=True)
    figure = draw(replace(made, extra={"judges": many}), part="judges")
    assert len(figure.axes[0].get_yticks()) == MOST_PEOPLE + len(MODELS)


def test_matrices_of_labels_contain_probabilities_with_intervals_where_there_is_room() -> None:
    figure = draw(result("label_model"))
    assert titles(figure) == ["People", "Gpt 4 1", "gemini"]
    assert texts(figure).count(".80") == 2
    assert any("\N{EN DASH}" in text for text in texts(draw(result("label_model"), groups=["human"])))
    assert "People: Yes 80%, No 80%." in alt(result("label_model"))


def test_bars_of_certainty_add_up_to_all_items() -> None:
    made = result("label_model")
    (axes,) = draw(made, part="certainty").axes
    items = made.extra["items"]
    assert sum(bar.get_height() for bar in axes.patches) == len(items)
    certain = int((items["probability"] > 0.95).sum())
    assert f"{certain} of {len(items)} items" in alt(made, part="certainty")


def test_part_worths_stand_on_the_cloud_of_single_raters() -> None:
    made = result("choice_model")
    (axes,) = draw(made).axes
    assert len(axes.collections[0].get_offsets()) == len(made.extra["raters"])
    (alone,) = draw(replace(made, extra={})).axes
    assert len(alone.collections) == 1  # the intervals, and no cloud


def test_shares_outside_of_what_a_model_predicts_are_counted() -> None:
    made = result("rater_model")
    shares = made.extra["frequencies"].assign(observed=0.99)
    off = replace(made, extra={"frequencies": shares})
    assert f"{len(shares)} of {len(shares)} observed shares are outside" in alt(off, part="check")
    prior = replace(made, extra={"frequencies": shares, "prior_frequencies": shares})
    assert len(draw(prior, part="check").legends[0].get_texts()) == 3


def test_estimates_of_many_judges_are_coloured_by_kind_on_equal_axes() -> None:
    judges = ["human", *(f"model{k}" for k in range(12))]
    truth = pd.DataFrame(
        {"quantity": "accuracy", "judge": judges, "truth": np.linspace(0.2, 0.6, 13), "estimate": 0.5,
         "lower": 0.1, "upper": 0.9, "inside": True}
    )  # fmt: skip
    figure = draw(Result(truth, "recovery"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["People", "Models"]
    assert figure.axes[0].get_xlim() == figure.axes[0].get_ylim()
    assert figure.axes[0].get_aspect() == 1


def test_distributions_pool_strata() -> None:
    made = result("distributions")
    strata = pd.concat([made.frame.assign(response_type=name) for name in STRATA])
    columns = ["dimension", "group", "response_type", "value", "estimate", "n_ratings"]
    heights = [
        [bar.get_height() for bar in draw(Result(frame, "distributions")).axes[0].patches]
        for frame in (made.frame, strata[columns])
    ]
    assert heights[0] == pytest.approx(heights[1])
